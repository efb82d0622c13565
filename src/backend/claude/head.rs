//! The heads of stream events: most lines are these, and what matters of most of them is a few bytes.
//!
//! Only the API's own layout is known here; some gateways order the fields of an event in another way, and a parser reads
//! those.

use crate::backend::head::Head;

/// What the head of a stream event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// Nothing that anybody wants to know.
    Nothing,
    /// A piece of text of the conversation itself, as a JSON string with its quotes.
    Text(&'a [u8]),
    Thinking(&'a [u8]),
    /// A block of the conversation itself begins.
    BlockStart,
    /// A message of the conversation itself has ended.
    MessageStop,
    /// All of a block of the conversation itself, which may have come in pieces before. The id of its message is a JSON
    /// string too.
    WholeText {
        message: &'a [u8],
        text: &'a [u8],
    },
    WholeThinking {
        message: &'a [u8],
        thinking: &'a [u8],
    },
}

/// Reads the head of `line`; `None` if only a parser can tell what it says.
pub fn scan(line: &[u8]) -> Option<Told<'_>> {
    stream_event(line).or_else(|| whole(line))
}

fn stream_event(line: &[u8]) -> Option<Told<'_>> {
    let (kind, rest) = Head::of(line)?
        .then(r#"{"type":"stream_event","event":{"type":"#)?
        .name()?;
    match kind {
        "content_block_delta" => delta(rest.then(r#","index":"#)?.number()?),
        "content_block_stop" => rest.then(r#","index":"#)?.number()?.then("}").map(|_| Told::Nothing),
        "content_block_start" => {
            let block = rest.then(r#","index":"#)?.number()?.then(r#","content_block":"#)?;
            let rest = block
                .then(r#"{"type":"text","text":""}}"#)
                .or_else(|| block.then(r#"{"type":"thinking","thinking":"","signature":""}}"#))?;
            is_own(rest).map(|()| Told::BlockStart)
        }
        "message_stop" => is_own(rest.then("}")?).map(|()| Told::MessageStop),
        _ => None,
    }
}

fn delta(rest: Head<'_>) -> Option<Told<'_>> {
    let (kind, rest) = rest.then(r#","delta":{"type":"#)?.name()?;
    let (field, rest) = rest.then(",")?.name()?;
    let (piece, rest) = rest.then(":")?.string()?;
    let rest = rest.then("}}")?;
    match (kind, field) {
        ("text_delta", "text") => is_own(rest).map(|()| Told::Text(piece)),
        ("thinking_delta", "thinking") => is_own(rest).map(|()| Told::Thinking(piece)),
        (_, "text" | "thinking") => None,
        _ => Some(Told::Nothing),
    }
}

/// Behind the event: it belongs to the conversation itself and not to a subagent.
fn is_own(rest: Head<'_>) -> Option<()> {
    let (_, rest) = rest.then(r#","session_id":"#)?.string()?;
    rest.then(r#","parent_tool_use_id":null,"uuid":""#).map(drop)
}

/// A message of one block. What comes between the block and the end of the message is of no news once the message is
/// known.
fn whole(line: &[u8]) -> Option<Told<'_>> {
    let (message, rest) = Head::of(line)?
        .then(r#"{"type":"assistant","message":{"id":"#)?
        .string()?;
    let (_, rest) = rest
        .then(r#","type":"message","role":"assistant","model":"#)?
        .string()?;
    let (kind, rest) = rest.then(r#","content":[{"type":"#)?.name()?;
    let (told, rest) = match kind {
        "text" => {
            let (text, rest) = rest.then(r#","text":"#)?.string()?;
            (Told::WholeText { message, text }, rest)
        }
        "thinking" => {
            let (thinking, rest) = rest.then(r#","thinking":"#)?.string()?;
            let (_, rest) = rest.then(r#","signature":"#)?.string()?;
            (Told::WholeThinking { message, thinking }, rest)
        }
        _ => return None,
    };
    rest.then(r#"}],"stop_reason":"#)?;
    ends_as_own(line).then_some(told)
}

/// Whether a message belongs to the conversation itself and was no failure: both would be told behind it.
fn ends_as_own(line: &[u8]) -> bool {
    const ID: usize = 36;
    let end = line.len().checked_sub(ID + r#"","uuid":""}"#.len() + ID);
    let start = |end: usize| end.checked_sub(r#"},"parent_tool_use_id":null,"session_id":""#.len());
    let tail = end.and_then(start).map(|start| &line[start..]);
    let tail = tail.and_then(|tail| {
        Head::of(tail)?
            .then(r#"},"parent_tool_use_id":null,"session_id":"#)?
            .string()
    });
    let tail = tail.and_then(|(_, rest)| rest.then(r#","uuid":"#)?.string());
    tail.is_some_and(|(_, rest)| rest.rest() == b"}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::claude::wire::StreamLine;
    use crate::backend::wire::Reader;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A line as Claude Code writes it around an event of the API.
    fn line(event: &str, parent: &Value) -> String {
        format!(
            r#"{{"type":"stream_event","event":{event},"session_id":"d5c43934","parent_tool_use_id":{parent},"uuid":"5d746959"}}"#
        )
    }

    fn delta_line(kind: &str, field: &str, piece: &str, parent: &Value) -> String {
        let piece = json!(piece);
        let event =
            format!(r#"{{"type":"content_block_delta","index":3,"delta":{{"type":"{kind}","{field}":{piece}}}}}"#);
        line(&event, parent)
    }

    /// What reached the user by the head, and what by the parser: text and thinking.
    fn by_head(line: &[u8]) -> Option<(String, String)> {
        let mut reader = Reader::default();
        let mut piece = |piece| Some(reader.text(piece).ok()?.to_string());
        match scan(line)? {
            Told::Text(text) => Some((piece(text)?, String::new())),
            Told::Thinking(text) => Some((String::new(), piece(text)?)),
            Told::Nothing | Told::BlockStart | Told::MessageStop => Some(Default::default()),
            Told::WholeText { .. } | Told::WholeThinking { .. } => None,
        }
    }

    fn by_parser(line: &[u8]) -> Option<(String, String)> {
        let mut reader = Reader::default();
        let line: StreamLine<'_> = reader.read(line).ok()?;
        let delta = line.event.filter(|_| line.parent_tool_use_id.is_empty())?.delta;
        Some(delta.map_or_else(Default::default, |delta| {
            (delta.text.to_string(), delta.thinking.to_string())
        }))
    }

    #[test]
    fn each_kind_is_known_by_its_head() {
        let own = &Value::Null;
        for (event, told) in [
            (r#"{"type":"message_stop"}"#, Told::MessageStop),
            (r#"{"type":"content_block_stop","index":0}"#, Told::Nothing),
            (
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                Told::BlockStart,
            ),
        ] {
            assert_eq!(scan(line(event, own).as_bytes()), Some(told), "{event}");
        }
        let signature = delta_line("signature_delta", "signature", "sig", own);
        assert_eq!(scan(signature.as_bytes()), Some(Told::Nothing));
    }

    #[test]
    fn what_a_subagent_says_and_other_layouts_are_left_to_the_parser() {
        let subagent = json!("toolu_1");
        let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        for line in [
            delta_line("text_delta", "text", "x", &subagent),
            line(r#"{"type":"message_stop"}"#, &subagent),
            line(block, &subagent),
            line(r#"{"index":0,"type":"content_block_stop"}"#, &Value::Null),
            line(r#"{"type":"message_start","message":{}}"#, &Value::Null),
            delta_line("text_delta", "text", "x", &Value::Null).replace("}},", ",\"text\":\"y\"}},"),
            delta_line("other_delta", "text", "x", &Value::Null),
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }

    /// A message as Claude Code writes it, with this block and this end.
    fn message(block: &str, end: &str) -> String {
        let id = "d5c43934-51e6-45f7-b52e-75afe3cbe846";
        format!(
            r#"{{"type":"assistant","message":{{"id":"msg_1","type":"message","role":"assistant","model":"opus","content":[{block}],"stop_reason":null,"usage":{{"output_tokens":1}}}},"parent_tool_use_id":null,"session_id":"{id}","uuid":"{id}"{end}}}"#
        )
    }

    #[test]
    fn a_message_of_one_block_is_known_by_its_head_and_its_end() {
        let (text, thinking) = (
            r#"{"type":"text","text":"hi"}"#,
            r#"{"type":"thinking","thinking":"hm","signature":"s"}"#,
        );
        let id = &br#""msg_1""#[..];
        let told = Told::WholeText {
            message: id,
            text: br#""hi""#,
        };
        assert_eq!(scan(message(text, "").as_bytes()), Some(told));
        let told = Told::WholeThinking {
            message: id,
            thinking: br#""hm""#,
        };
        assert_eq!(scan(message(thinking, "").as_bytes()), Some(told));
        for line in [
            message(text, r#","error":"server_error""#),
            message(text, "").replace(":null,\"session_id", ":\"toolu_1\",\"session_id"),
            message(&format!("{text},{text}"), ""),
            message(r#"{"type":"text","text":"hi","citations":[]}"#, ""),
            message(r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#, ""),
            message(text, "").replace("msg_1\",", "msg_1\" ,"),
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
        for end in 0..message(text, "").len() {
            assert_eq!(scan(&message(text, "").as_bytes()[..end]), None);
        }
    }

    proptest! {
        #[test]
        fn head_and_parser_agree_on_every_delta(
            kind in "(text|thinking|signature|input_json)_delta",
            field in "text|thinking|signature|partial_json",
            piece in any::<String>(),
            own in any::<bool>(),
        ) {
            let parent = if own { Value::Null } else { json!("toolu_1") };
            let line = delta_line(&kind, &field, &piece, &parent);
            if let Some(told) = by_head(line.as_bytes()) {
                let parsed = by_parser(line.as_bytes());
                prop_assert_eq!(told, parsed.unwrap_or_default());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..300) {
            let _ = scan(&bytes);
            let mut line = delta_line("text_delta", "text", "hello \\ \"", &Value::Null).into_bytes();
            let at = at.min(line.len());
            line.splice(at..at, bytes);
            let _ = scan(&line);
        }
    }
}
