//! The lines that a stream is full of, read in Codex' own layout: what was said and thought, and the commands.

use super::wire::Item;
use crate::backend::field::Text;
use crate::backend::head::Head;
use crate::backend::wire::text;
use std::borrow::Cow;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Started,
    Completed,
}

/// Reads `line` into an empty `item` if it is such a one; `None` if only a parser can tell what it says. The item has many
/// fields: handing it around costs more than reading it.
pub fn scan<'a>(line: &'a [u8], item: &mut Item<'a>) -> Option<Told> {
    let (event, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
    let rest = rest.then(r#","item":{"id":"#)?;
    let told = match event {
        "item.started" => Told::Started,
        "item.completed" => Told::Completed,
        _ => return None,
    };
    let (id, rest) = rest.string()?;
    let (kind, rest) = rest.then(r#","type":"#)?.name()?;
    item.id = text(id)?;
    item.kind = Text(Cow::Borrowed(kind));
    let rest = match kind {
        "agent_message" | "reasoning" => said(rest, item)?,
        "command_execution" => command(rest, item)?,
        _ => return None,
    };
    (rest.rest() == b"}}").then_some(told)
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
        let mut item = Item::default();
        scan(line.as_bytes(), &mut item).map(|told| format!("{told:?} {item:?}"))
    }

    fn by_parser(line: &str) -> String {
        let mut reader = Reader::default();
        let line = reader.read::<Line<'_>>(line.as_bytes()).unwrap();
        let told = match &*line.kind {
            "item.started" => Told::Started,
            _ => Told::Completed,
        };
        format!("{told:?} {:?}", line.item.unwrap())
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
            let _ = scan(&bytes, &mut Item::default());
            let mut line = line("completed", "command_execution", &ran("ls", "a", "0")).into_bytes();
            let at = at.min(line.len());
            line.splice(at..at, bytes);
            let _ = scan(&line, &mut Item::default());
        }
    }
}
