//! The head of a line: enough to know what it is, without reading the rest.
//!
//! Every `message_update` carries the whole message so far twice, so a stream of n bytes of text is n² bytes of lines.
//! What matters stands in the first few bytes. This scanner reads those and only those; whatever it does not recognize
//! byte for byte it leaves to the full parser. It decides nothing about meaning.

use crate::backend::head::Head;

/// What the head of a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// A line of this type; the body is for the full parser, if it matters at all.
    Line(&'a str),
    /// A `message_update` with this event type, and its `delta` as a JSON string with its quotes, where it has one.
    Update { kind: &'a str, delta: Option<&'a [u8]> },
}

/// Reads the head of `line`; `None` if the line is not laid out as Pi lays them out.
pub fn scan(line: &[u8]) -> Option<Told<'_>> {
    let (kind, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
    if kind != "message_update" {
        return Some(Told::Line(kind));
    }
    let (kind, rest) = rest.then(r#","assistantMessageEvent":{"type":"#)?.name()?;
    if !kind.ends_with("_delta") {
        // Starts and ends tell nothing that the deltas and the whole message at the end don't.
        return rest.then(",").map(|_| Told::Update { kind, delta: None });
    }
    let (delta, rest) = rest
        .then(r#","contentIndex":"#)?
        .number()?
        .then(r#","delta":"#)?
        .string()?;
    // Another `delta` or `type` behind this one would win; Pi puts the partial message here.
    rest.then(r#","partial":{"#).map(|_| Told::Update {
        kind,
        delta: Some(delta),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::field::Text;
    use crate::backend::pi::wire::{Header, Update};
    use crate::backend::wire::Reader;
    use proptest::prelude::*;
    use serde_json::json;

    fn update(kind: &str, delta: &str) -> String {
        let message = json!({"role": "assistant", "content": [{"type": "text", "text": delta}], "delta": "not this"});
        format!(
            r#"{{"type":"message_update","assistantMessageEvent":{{"type":{},"contentIndex":0,"delta":{},"partial":{message}}},"message":{message}}}"#,
            json!(kind),
            json!(delta),
        )
    }

    /// The event type and delta by the scanner; `None` where it leaves the line to the parser.
    fn by_head(line: &[u8]) -> Option<(String, String)> {
        match scan(line)? {
            Told::Line(_) => None,
            Told::Update { kind, delta } => {
                let mut reader = Reader::default();
                let delta = delta.map_or(Ok(Text::default()), |delta| reader.text(delta));
                Some((kind.to_owned(), delta.ok()?.to_string()))
            }
        }
    }

    fn by_parser(line: &[u8]) -> Option<(String, String)> {
        let mut reader = Reader::default();
        let update: Update<'_> = reader.read(line).ok()?;
        Some((update.event.kind.to_string(), update.event.delta.to_string()))
    }

    #[test]
    fn a_delta_is_read_from_the_head_alone() {
        let line = update("text_delta", "a \"quoted\" \\ line\n");
        assert_eq!(
            by_head(line.as_bytes()),
            Some(("text_delta".into(), "a \"quoted\" \\ line\n".into()))
        );
    }

    #[test]
    fn half_a_surrogate_pair_in_a_delta_is_mended() {
        let line = update("text_delta", "X").replacen("\"X\"", r#""a\ud83db""#, 1);
        assert_eq!(by_head(line.as_bytes()).unwrap().1, "a\u{fffd}b");
    }

    #[test]
    fn a_line_laid_out_otherwise_is_left_to_the_parser() {
        for line in [
            r#"{"assistantMessageEvent":{"type":"text_delta","delta":"x"},"type":"message_update"}"#,
            r#"{"type":"message_update","message":{},"assistantMessageEvent":{"type":"text_delta","delta":"x"}}"#,
            r#"{"type":"message_update","assistantMessageEvent":{"delta":"x","type":"text_delta"}}"#,
            r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"x"}}"#,
            r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"x","delta":"y"}}"#,
            r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":null,"partial":{}}}"#,
            r#"{ "type":"message_update"}"#,
            r#"{"type":"message_update""#,
            "",
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_line_that_was_cut_anywhere_is_left_to_the_parser_or_read_alike() {
        let line = update("text_delta", "tail }");
        for end in 0..line.len() {
            if let Some((_, delta)) = by_head(&line.as_bytes()[..end]) {
                assert_eq!(delta, "tail }");
            }
        }
    }

    proptest! {
        #[test]
        fn scanner_and_parser_agree_on_every_update(kind in "(text|thinking|toolcall)_delta", delta in any::<String>()) {
            let line = update(&kind, &delta);
            let head = by_head(line.as_bytes());
            prop_assert!(head.is_some());
            prop_assert_eq!(head, by_parser(line.as_bytes()));
        }

        #[test]
        fn scanner_and_parser_agree_on_the_type_of_any_line(kind in "[a-z_]{0,20}", body in any::<String>()) {
            let line = json!({"type": kind, "zz": body}).to_string();
            let mut reader = Reader::default();
            let header: Header<'_> = reader.read(line.as_bytes()).unwrap();
            if let Some(Told::Line(head)) = scan(line.as_bytes()) {
                prop_assert_eq!(head, &*header.kind);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let _ = scan(&bytes);
            let mut line = update("text_delta", "hello \\ \"").into_bytes();
            let at = at.min(line.len());
            line.splice(at..at, bytes);
            let _ = scan(&line);
        }
    }
}
