//! The head of a line, byte for byte: enough to know what a line is, without parsing the rest of it.
//!
//! The CLIs write the same few layouts over and over. Where a line is laid out exactly as it always is, a decoder takes
//! what it needs from the head; whatever is laid out otherwise is left to the parser. Nothing here decides what a line
//! means, and nobody may take from a head what the parser would have read in another way.

use crate::{bytes, json_text};

/// A place in a line up to which everything was as expected.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a>(&'a [u8]);

impl<'a> Head<'a> {
    /// The beginning of a line; none of one that was cut: that is no JSON, however sound its head.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        (line.last() == Some(&b'}')).then_some(Self(line))
    }

    /// Behind these bytes, which must come next. Inlined, so that they are compared as a few numbers.
    #[inline(always)]
    pub fn then(self, bytes: &str) -> Option<Self> {
        self.0.strip_prefix(bytes.as_bytes()).map(Self)
    }

    /// A JSON string that is a name: small letters, dots and underscores, so that it is what it looks like.
    pub fn name(self) -> Option<(&'a str, Self)> {
        let bytes = self.0.strip_prefix(b"\"")?;
        let is_plain = |byte: &&u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'.');
        let (name, rest) = bytes.split_at(bytes.iter().take_while(is_plain).count());
        Some((std::str::from_utf8(name).ok()?, Self(rest.strip_prefix(b"\"")?)))
    }

    /// Any JSON string as it stands, with its quotes.
    pub fn string(self) -> Option<(&'a [u8], Self)> {
        self.0.strip_prefix(b"\"")?;
        let mut position = 1;
        loop {
            let found = position + bytes::find(self.0.get(position..)?, |byte| (byte == b'"') | (byte == b'\\'))?;
            if self.0[found] == b'"' {
                let (string, rest) = self.0.split_at(found + 1);
                return Some((string, Self(rest)));
            }
            position = found + 2;
        }
    }

    /// A JSON string that is what it looks like: an id, for instance.
    pub fn plain(self) -> Option<(&'a str, Self)> {
        let (string, rest) = self.string()?;
        Some((json_text::as_it_stands(string)?, rest))
    }

    /// Behind a whole number without a sign.
    pub fn number(self) -> Option<Self> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_sound = digits == 1 || (digits > 1 && self.0[0] != b'0');
        is_sound.then(|| Self(&self.0[digits..]))
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// What is left but for the brace that closes the line: the value of its last field, if a parser finds one value there
    /// and nothing else.
    pub fn last_value(self) -> Option<&'a [u8]> {
        self.0.strip_suffix(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> Head<'_> {
        Head(line.as_bytes())
    }

    #[test]
    fn a_head_is_read_piece_by_piece() {
        let line = r#"{"type":"item.completed","index":12,"text":"a \"b\\","x":1}"#;
        let (name, rest) = Head::of(line.as_bytes())
            .unwrap()
            .then(r#"{"type":"#)
            .unwrap()
            .name()
            .unwrap();
        let (text, rest) = rest
            .then(r#","index":"#)
            .and_then(Head::number)
            .and_then(|rest| rest.then(r#","text":"#)?.string())
            .unwrap();
        assert_eq!(
            (name, text, rest.rest()),
            ("item.completed", &br#""a \"b\\""#[..], &br#","x":1}"#[..])
        );
    }

    #[test]
    fn the_last_value_is_all_but_the_closing_brace() {
        let rest = head(r#"{"part":{"a":"}"}}"#).then(r#"{"part":"#).unwrap();
        assert_eq!(rest.last_value(), Some(&br#"{"a":"}"}"#[..]));
        assert_eq!(head("").last_value(), None);
    }

    #[test]
    fn what_only_a_parser_can_tell_is_left_to_it() {
        assert!(Head::of(br#"{"type":"cut"#).is_none());
        for not_a_name in [r#""a\u0062""#, "7", r#""Upper""#, r#""open"#, ""] {
            assert!(head(not_a_name).name().is_none(), "{not_a_name}");
        }
        for not_a_string in [r#""open"#, r#""open\""#, r#""\"#, "null", ""] {
            assert!(head(not_a_string).string().is_none(), "{not_a_string}");
        }
        assert!(head(r#""a\n""#).plain().is_none());
        for not_a_number in ["-1", "01", "", "x"] {
            assert!(head(not_a_number).number().is_none(), "{not_a_number}");
        }
        assert!(head(r#" {"type":"x"}"#).then(r#"{"type":"#).is_none());
    }
}
