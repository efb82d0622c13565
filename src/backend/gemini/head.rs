//! The lines that a stream is full of, read in Gemini CLI's own layout: pieces of text, calls of tools, and how they ended.

use super::wire::{Message, ToolResult, ToolUse};
use crate::backend::field::Text;
use crate::backend::head::Head;
use crate::backend::wire::{parse, text};
use std::borrow::Cow;

/// The time of a line of this type, and what follows it.
fn timestamp<'a>(line: &'a [u8], kind: &str) -> Option<(&'a [u8], Head<'a>)> {
    let (found, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
    (found == kind).then_some(())?;
    rest.then(r#","timestamp":"#)?.string()
}

/// A piece of the answer; `None` if only a parser can tell what the line says.
pub fn message(line: &[u8]) -> Option<Message<'_>> {
    let (timestamp, rest) = timestamp(line, "message")?;
    let (role, rest) = rest.then(r#","role":"#)?.name()?;
    let (content, rest) = rest.then(r#","content":"#)?.string()?;
    (rest.rest() == br#","delta":true}"#).then_some(())?;
    Some(Message {
        timestamp: text(timestamp)?,
        role: Text(Cow::Borrowed(role)),
        content: text(content)?,
    })
}

/// The same for a call of a tool.
pub fn tool_use(line: &[u8]) -> Option<ToolUse<'_>> {
    let (_, rest) = timestamp(line, "tool_use")?;
    let (name, rest) = rest.then(r#","tool_name":"#)?.string()?;
    let (id, rest) = rest.then(r#","tool_id":"#)?.string()?;
    let parameters = rest.then(r#","parameters":"#)?.last_value()?;
    Some(ToolUse {
        tool_name: text(name)?,
        tool_id: text(id)?,
        parameters: parse(parameters)?,
    })
}

/// The same for the result of one that succeeded.
pub fn tool_result(line: &[u8]) -> Option<ToolResult<'_>> {
    let (_, rest) = timestamp(line, "tool_result")?;
    let (id, rest) = rest.then(r#","tool_id":"#)?.string()?;
    let (output, rest) = rest.then(r#","status":"success","output":"#)?.string()?;
    (rest.rest() == b"}").then_some(())?;
    Some(ToolResult {
        tool_id: text(id)?,
        status: Text(Cow::Borrowed("success")),
        output: text(output)?,
        error: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use std::fmt::Debug;

    fn message_line(role: &str, content: &str) -> String {
        let content = json!(content);
        format!(r#"{{"type":"message","timestamp":"T","role":"{role}","content":{content},"delta":true}}"#)
    }

    fn tool_use_line(name: &str, parameters: &Value) -> String {
        let name = json!(name);
        format!(r#"{{"type":"tool_use","timestamp":"T","tool_name":{name},"tool_id":"x_1","parameters":{parameters}}}"#)
    }

    fn tool_result_line(output: &str) -> String {
        let output = json!(output);
        format!(r#"{{"type":"tool_result","timestamp":"T","tool_id":"x_1","status":"success","output":{output}}}"#)
    }

    /// The same by the parser.
    fn parsed<'a, T: Deserialize<'a> + Debug>(line: &'a str) -> String {
        format!("{:?}", parse::<T>(line.as_bytes()).unwrap())
    }

    fn is_left_to_the_parser(line: &str) -> bool {
        let line = line.as_bytes();
        message(line).is_none() && tool_use(line).is_none() && tool_result(line).is_none()
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        let (piece, call, result) = (
            message_line("assistant", "x"),
            tool_use_line("shell", &json!({})),
            tool_result_line("x"),
        );
        for line in [
            piece.replace(",\"delta\":true", ""),
            piece.replace("true}", "true,\"content\":\"y\"}"),
            piece.replace("\"x\"", "\"\\ud83d\""),
            piece.replace("\"T\"", "17"),
            call.replace("{}", "{}}"),
            call.replace("{}", "{},\"tool_id\":\"y\""),
            result.replace("success", "error"),
            result.replace("\"x\"}", "\"x\",\"error\":{}}"),
            format!(" {piece}"),
            piece.replace("message", "init"),
        ] {
            assert!(is_left_to_the_parser(&line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn head_and_parser_agree(role in "user|assistant", text in any::<String>(), other in any::<String>()) {
            let line = message_line(&role, &text);
            prop_assert_eq!(format!("{:?}", message(line.as_bytes()).unwrap()), parsed::<Message<'_>>(&line));
            let line = tool_use_line(&text, &json!({"a": [other]}));
            prop_assert_eq!(format!("{:?}", tool_use(line.as_bytes()).unwrap()), parsed::<ToolUse<'_>>(&line));
            let line = tool_result_line(&text);
            prop_assert_eq!(format!("{:?}", tool_result(line.as_bytes()).unwrap()), parsed::<ToolResult<'_>>(&line));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            for line in [message_line("assistant", "x"), tool_use_line("x", &json!({})), tool_result_line("x")] {
                let mut line = line.into_bytes();
                let at = at.min(line.len());
                line.splice(at..at, bytes.clone());
                let _ = (message(&line), tool_use(&line), tool_result(&line));
            }
        }
    }
}
