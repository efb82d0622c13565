//! The lines that a stream is full of, read in Codex' own layout: what was said and thought, and the commands.

use super::wire::Item;
use crate::backend::field::Text;
use crate::backend::head::Head;
use crate::backend::wire::text;
use std::borrow::Cow;

/// An item, and what became of it.
#[derive(Debug)]
pub enum Told<'a> {
    Started(Item<'a>),
    Completed(Item<'a>),
}

/// Reads `line` if it is such an item; `None` if only a parser can tell what it says.
pub fn scan(line: &[u8]) -> Option<Told<'_>> {
    let (event, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
    let rest = rest.then(r#","item":{"id":"#)?;
    match event {
        "item.started" => item(rest).map(Told::Started),
        "item.completed" => item(rest).map(Told::Completed),
        _ => None,
    }
}

/// An item behind the name of its id, up to the end of the line.
fn item(rest: Head<'_>) -> Option<Item<'_>> {
    let (id, rest) = rest.string()?;
    let (kind, rest) = rest.then(r#","type":"#)?.name()?;
    // Filled in place: it has many fields, and moving them costs more than reading these.
    let mut item = Item {
        id: text(id)?,
        kind: Text(Cow::Borrowed(kind)),
        ..Item::default()
    };
    let rest = match kind {
        "agent_message" | "reasoning" => said(rest, &mut item)?,
        "command_execution" => command(rest, &mut item)?,
        _ => return None,
    };
    (rest.rest() == b"}}").then_some(item)
}

fn said<'a>(rest: Head<'a>, item: &mut Item<'a>) -> Option<Head<'a>> {
    let (said, rest) = rest.then(r#","text":"#)?.string()?;
    item.text = text(said)?;
    Some(rest)
}

fn command<'a>(rest: Head<'a>, item: &mut Item<'a>) -> Option<Head<'a>> {
    let (command, rest) = rest.then(r#","command":"#)?.string()?;
    item.command = text(command)?;
    let (output, rest) = rest.then(r#","aggregated_output":"#)?.string()?;
    item.aggregated_output = text(output)?;
    let rest = rest.then(r#","exit_code":"#)?;
    let rest = rest.number().or_else(|| rest.then("null"))?;
    let (status, rest) = rest.then(r#","status":"#)?.name()?;
    item.status = Text(Cow::Borrowed(status));
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::codex::wire::Line;
    use crate::backend::wire::Reader;
    use proptest::prelude::*;
    use serde_json::json;

    fn line(event: &str, kind: &str, body: &str) -> String {
        format!(r#"{{"type":"item.{event}","item":{{"id":"item_1","type":"{kind}",{body}}}}}"#)
    }

    fn said(text: &str) -> String {
        format!(r#""text":{}"#, json!(text))
    }

    fn ran(command: &str, output: &str, exit: &str) -> String {
        let (command, output) = (json!(command), json!(output));
        format!(r#""command":{command},"aggregated_output":{output},"exit_code":{exit},"status":"failed""#)
    }

    /// What became of an item and everything about it, by the head and by the parser.
    fn by_head(line: &str) -> Option<String> {
        scan(line.as_bytes()).map(|told| format!("{told:?}"))
    }

    fn by_parser(line: &str) -> String {
        let mut reader = Reader::default();
        let line = reader.read::<Line<'_>>(line.as_bytes()).unwrap();
        let item = *line.item.unwrap();
        match &*line.kind {
            "item.started" => format!("{:?}", Told::Started(item)),
            _ => format!("{:?}", Told::Completed(item)),
        }
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        let message = line("completed", "agent_message", &said("x"));
        let command = line("completed", "command_execution", &ran("ls", "a", "0"));
        for line in [
            line("completed", "error", &said("x")),
            message.replace("completed", "updated"),
            message.replace("}}", ",\"text\":\"y\"}}"),
            message.replace("}}", "},\"more\":1}"),
            message.replace("\"x\"", "\"\\ud83d\""),
            message.replace("\"x\"", "\"a\tb\""),
            format!(" {message}"),
            command.replace("\"failed\"", "null"),
            command.replace("\"exit_code\":0,", ""),
            command.replace("\"exit_code\":0", "\"exit_code\":-1"),
        ] {
            assert_eq!(by_head(&line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn head_and_parser_agree_on_what_was_said(kind in "agent_message|reasoning", text in any::<String>()) {
            let line = line("completed", &kind, &said(&text));
            prop_assert_eq!(by_head(&line).unwrap(), by_parser(&line));
        }

        #[test]
        fn head_and_parser_agree_on_commands(
            event in "started|completed",
            command in any::<String>(),
            output in any::<String>(),
            exit in "null|[1-9][0-9]{0,3}",
        ) {
            let line = line(&event, "command_execution", &ran(&command, &output, &exit));
            prop_assert_eq!(by_head(&line).unwrap(), by_parser(&line));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let _ = scan(&bytes);
            let mut line = line("completed", "command_execution", &ran("ls", "a", "0")).into_bytes();
            let at = at.min(line.len());
            line.splice(at..at, bytes);
            let _ = scan(&line);
        }
    }
}
