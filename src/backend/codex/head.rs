//! The head of a line that says something: its text is all there is to it.

use crate::backend::head::Head;

/// What the model said or thought, as a JSON string with its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    Message(&'a [u8]),
    Reasoning(&'a [u8]),
}

/// Reads `line` if it is a completed message or thought in Codex' own layout.
pub fn scan(line: &[u8]) -> Option<Told<'_>> {
    let (_, rest) = Head::of(line)?
        .then(r#"{"type":"item.completed","item":{"id":"#)?
        .string()?;
    let (kind, rest) = rest.then(r#","type":"#)?.name()?;
    let (text, rest) = rest.then(r#","text":"#)?.string()?;
    (rest.rest() == b"}}").then_some(())?;
    match kind {
        "agent_message" => Some(Told::Message(text)),
        "reasoning" => Some(Told::Reasoning(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::codex::wire::Line;
    use crate::backend::field::Text;
    use crate::backend::wire::Reader;
    use proptest::prelude::*;
    use serde_json::json;

    fn line(kind: &str, text: &str) -> String {
        let text = json!(text);
        format!(r#"{{"type":"item.completed","item":{{"id":"item_1","type":"{kind}","text":{text}}}}}"#)
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for line in [
            line("error", "x"),
            line("agent_message", "x").replace("completed", "started"),
            line("agent_message", "x").replace("}}", ",\"text\":\"y\"}}"),
            line("agent_message", "x").replace("}}", "},\"more\":1}"),
            format!(" {}", line("agent_message", "x")),
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn head_and_parser_agree_on_what_was_said(kind in "agent_message|reasoning", text in any::<String>()) {
            let line = line(&kind, &text);
            let mut reader = Reader::default();
            let told = match scan(line.as_bytes()).unwrap() {
                Told::Message(text) => ("agent_message", reader.read::<Text<'_>>(text).unwrap().to_string()),
                Told::Reasoning(text) => ("reasoning", reader.read::<Text<'_>>(text).unwrap().to_string()),
            };
            let mut reader = Reader::default();
            let parsed = reader.read::<Line<'_>>(line.as_bytes()).unwrap().item.unwrap();
            prop_assert_eq!(told, (&*parsed.kind, parsed.text.to_string()));
        }
    }
}
