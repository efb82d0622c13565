//! Reading JSON that another program wrote: strict and borrowed first, lenient when that fails.
//!
//! The CLIs emit what strict readers choke on: half a surrogate pair, a key twice, invalid UTF-8, a byte-order mark.
//! `Reader::read` parses a line in place; only a line that fails is mended in a buffer and parsed again.

use super::field::Text;
use crate::{bytes, json_text};
use serde::Deserialize;
use std::borrow::Cow;

/// Reads lines of JSON. Keeps the buffers that mended lines borrow from.
#[derive(Debug, Default)]
pub struct Reader {
    mended: Vec<u8>,
    merged: Vec<u8>,
}

/// The line is no JSON of the asked-for shape, even when read leniently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Reader {
    /// The value that `line` holds.
    pub fn read<'a, T: Deserialize<'a>>(&'a mut self, line: &'a [u8]) -> Result<T, Unreadable> {
        if let Some(value) = parse(line) {
            return Ok(value);
        }
        mend(line, &mut self.mended);
        if let Some(value) = parse(&self.mended) {
            return Ok(value);
        }
        merge(&self.mended, &mut self.merged)?;
        parse(&self.merged).ok_or(Unreadable)
    }

    /// What a JSON string says, which stands there with its quotes.
    pub fn text<'a>(&'a mut self, string: &'a [u8]) -> Result<Text<'a>, Unreadable> {
        match text(string) {
            Some(text) => Ok(text),
            None => self.read(string),
        }
    }
}

/// What a JSON string says, which stands there with its quotes; nothing if it has to be mended first.
pub fn text(string: &[u8]) -> Option<Text<'_>> {
    match json_text::as_it_stands(string) {
        Some(text) => Some(Text(Cow::Borrowed(text))),
        None => parse(string),
    }
}

/// A key twice fails a struct; a map keeps the last of them.
#[cold]
fn merge(line: &[u8], merged: &mut Vec<u8>) -> Result<(), Unreadable> {
    let value: serde_json::Value = parse(line).ok_or(Unreadable)?;
    *merged = serde_json::to_vec(&value).map_err(|_| Unreadable)?;
    Ok(())
}

/// What a strict reader makes of it. The bytes are checked to be text once, not string by string.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    parse_text(std::str::from_utf8(bytes).ok()?)
}

/// The parser of a type is compiled once for all who read it: there are many types, and each is some kilobytes.
#[inline(never)]
pub(super) fn parse_text<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Copies `line` into `mended` as JSON that a strict reader takes: valid UTF-8, no byte-order mark, no lone surrogate.
#[cold]
fn mend(line: &[u8], mended: &mut Vec<u8>) {
    mended.clear();
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let bytes = text.as_bytes();
    let mut position = 0;
    while let Some(offset) = bytes::find(&bytes[position..], |byte| byte == b'\\') {
        let backslash = position + offset;
        mended.extend_from_slice(&bytes[position..backslash]);
        position = match (surrogate(bytes, backslash), surrogate(bytes, backslash + 6)) {
            (Some(Surrogate::High), Some(Surrogate::Low)) => {
                mended.extend_from_slice(&bytes[backslash..backslash + 12]);
                backslash + 12
            }
            (Some(_), _) => {
                mended.extend_from_slice(b"\\ufffd");
                backslash + 6
            }
            (None, _) => {
                // The escaped character goes along, so that an escaped backslash never looks like the start of one.
                let end = (backslash + 2).min(bytes.len());
                mended.extend_from_slice(&bytes[backslash..end]);
                end
            }
        };
    }
    mended.extend_from_slice(&bytes[position..]);
}

#[derive(Clone, Copy)]
enum Surrogate {
    High,
    Low,
}

/// The surrogate that the escape at `position` stands for.
fn surrogate(bytes: &[u8], position: usize) -> Option<Surrogate> {
    let digits = bytes.get(position..position + 6)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match unit {
        0xd800..=0xdbff => Some(Surrogate::High),
        0xdc00..=0xdfff => Some(Surrogate::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::field::lenient;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Line<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        #[serde(deserialize_with = "lenient")]
        number: u32,
    }

    fn read(line: &[u8]) -> Option<(String, u32)> {
        let mut reader = Reader::default();
        let line: Line<'_> = reader.read(line).ok()?;
        Some((line.text.to_string(), line.number))
    }

    #[test]
    fn a_plain_line_is_borrowed() {
        let mut reader = Reader::default();
        let line: Line<'_> = reader.read(br#"{"text":"hi","number":3}"#).unwrap();
        assert!(matches!(line.text.0, Cow::Borrowed("hi")));
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        assert_eq!(
            read(br#"{"text":"a\ud83db","number":1}"#),
            Some(("a\u{fffd}b".into(), 1))
        );
        assert_eq!(read(br#"{"text":"\ude00","number":1}"#), Some(("\u{fffd}".into(), 1)));
        assert_eq!(
            read(br#"{"text":"\ud83d\ude00 \ud83d"}"#),
            Some(("😀 \u{fffd}".into(), 0))
        );
    }

    #[test]
    fn an_escaped_backslash_before_u_is_left_alone() {
        assert_eq!(
            read(br#"{"text":"\\ud83d \ud83d"}"#),
            Some(("\\ud83d \u{fffd}".into(), 0))
        );
    }

    #[test]
    fn a_key_twice_keeps_the_last() {
        assert_eq!(read(br#"{"text":"a","text":"b"}"#), Some(("b".into(), 0)));
    }

    #[test]
    fn invalid_utf8_and_a_byte_order_mark_are_read_around() {
        assert_eq!(
            read(b"\xef\xbb\xbf{\"text\":\"a\xffb\"}"),
            Some(("a\u{fffd}b".into(), 0))
        );
    }

    #[test]
    fn what_is_no_json_is_unreadable() {
        for line in [&b""[..], b"{", b"hello", b"\\ud83d", b"\"\\", b"\xff\xfe"] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}
