//! The head of a line: what it is, whose it is, and where its part begins, so that a parser reads the part alone and once.

use crate::backend::head::Head;

/// A line that has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    pub kind: &'a str,
    pub session: &'a str,
    /// The part, if a parser finds one value there and nothing else.
    pub part: &'a [u8],
}

/// Reads the head of `line`; `None` if it is not laid out as OpenCode lays out a line with a part.
pub fn scan(line: &[u8]) -> Option<Told<'_>> {
    let (kind, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
    let rest = rest.then(r#","timestamp":"#)?.number()?;
    let (session, rest) = rest.then(r#","sessionID":"#)?.plain()?;
    let part = rest.then(r#","part":"#)?.last_value()?;
    Some(Told { kind, session, part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencode::wire::{Line, Part};
    use crate::backend::wire::Reader;
    use proptest::prelude::*;
    use serde_json::json;

    fn line(kind: &str, session: &str, text: &str) -> String {
        let (session, text) = (json!(session), json!(text));
        format!(
            r#"{{"type":"{kind}","timestamp":17,"sessionID":{session},"part":{{"id":"prt_1","messageID":"msg_1","type":"text","text":{text}}}}}"#
        )
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        let usual = line("text", "ses_1", "x");
        assert!(scan(usual.as_bytes()).is_some());
        for line in [
            usual.replace("17", "\"17\""),
            usual.replace("\"part\"", "\"error\""),
            usual.replace("ses_1", "ses\\u005f1"),
            usual.replace(
                "{\"type\":\"text\",\"timestamp\":17",
                "{\"timestamp\":17,\"type\":\"text\"",
            ),
            format!(" {usual}"),
            usual[..usual.len() - 3].to_owned(),
        ] {
            assert_eq!(scan(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn what_follows_a_part_is_no_part() {
        let usual = line("text", "ses_1", "x");
        for more in [r#","part":{}"#, r#","error":null"#, "}", " 1"] {
            let line = format!("{}{more}}}", usual.strip_suffix('}').unwrap());
            let mut reader = Reader::default();
            assert!(
                reader.read::<Part<'_>>(scan(line.as_bytes()).unwrap().part).is_err(),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn head_and_parser_agree(kind in "[a-z_]{1,12}", session in any::<String>(), text in any::<String>()) {
            let line = line(&kind, &session, &text);
            let (mut lines, mut parts) = (Reader::default(), Reader::default());
            let parsed = lines.read::<Line<'_>>(line.as_bytes()).unwrap();
            let part = parsed.part.unwrap().get().as_bytes();
            match scan(line.as_bytes()) {
                Some(told) => {
                    prop_assert_eq!((told.kind, told.session, told.part), (&*parsed.kind, &*parsed.session, part));
                    prop_assert_eq!(&*parts.read::<Part<'_>>(told.part).unwrap().text, text);
                }
                // Only what has to be unescaped may keep it from being read.
                None => prop_assert_ne!(json!(session).to_string(), format!("\"{session}\"")),
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let _ = scan(&bytes);
            let mut line = line("text", "ses_1", "x").into_bytes();
            let at = at.min(line.len());
            line.splice(at..at, bytes);
            let _ = scan(&line);
        }
    }
}
