//! Reading JSON that another program wrote: strict and borrowed first, lenient when that fails.
//!
//! The CLIs emit what strict readers choke on: half a surrogate pair, a key twice, invalid UTF-8, a byte-order mark.
//! `Reader::read` parses a line in place; only a line that fails is mended in a buffer and parsed again.

use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// A string field that may be absent, `null` or of another type: then it is empty. Borrows where it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_none<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_any(self)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                while entries
                    .next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?
                    .is_some()
                {}
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// A field of a type that may not be what we expect: then it is the default, and the line around it is still read. The
/// value must be syntactically sound JSON.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
    Ok(parse_text(raw.get()).unwrap_or_default())
}

/// The value of a field that stands right at the beginning of `bytes`, and what follows it: `field` is all that comes
/// before the value, its value a string of small letters. The rest is not looked at and may be no JSON at all. `None`
/// where only a parser can tell.
///
/// The CLIs begin their lines with `{"type":"…"`. To know the type is to know what to parse the line as, so that it is
/// parsed once.
pub fn leading<'a>(bytes: &'a [u8], field: &str) -> Option<(&'a str, &'a [u8])> {
    let value = bytes.strip_prefix(field.as_bytes())?.strip_prefix(b"\"")?;
    let length = value
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_')
        .count();
    let (value, rest) = value.split_at(length);
    Some((std::str::from_utf8(value).ok()?, rest.strip_prefix(b"\"")?))
}

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
}

/// A key twice fails a struct; a map keeps the last of them.
#[cold]
fn merge(line: &[u8], merged: &mut Vec<u8>) -> Result<(), Unreadable> {
    let value: serde_json::Value = parse(line).ok_or(Unreadable)?;
    *merged = serde_json::to_vec(&value).map_err(|_| Unreadable)?;
    Ok(())
}

/// The bytes are checked to be text once, not string by string.
fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    parse_text(std::str::from_utf8(bytes).ok()?)
}

/// The parser of a type is compiled once for all who read it: there are many types, and each is some kilobytes.
#[inline(never)]
fn parse_text<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
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
    while let Some(offset) = memchr::memchr(b'\\', &bytes[position..]) {
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
    fn a_field_of_another_type_is_its_default() {
        assert_eq!(read(br#"{"text":null,"number":"x"}"#), Some((String::new(), 0)));
        assert_eq!(read(br#"{"text":{"a":[1]},"number":{}}"#), Some((String::new(), 0)));
        assert_eq!(read(br#"{"text":7,"number":null}"#), Some(("7".into(), 0)));
    }

    #[test]
    fn a_leading_field_is_read_only_where_it_leads() {
        let line = br#"{"type":"system","subtype":"init","x":1}"#;
        let (kind, rest) = leading(line, r#"{"type":"#).unwrap();
        assert_eq!((kind, leading(rest, r#","subtype":"#).unwrap().0), ("system", "init"));
        for line in [
            &b""[..],
            br#"{"type":"a"#,
            br#"{"type":"a\u0062"}"#,
            br#"{"type":7}"#,
            br#"{ "type":"a"}"#,
        ] {
            assert_eq!(leading(line, r#"{"type":"#), None, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_json_is_unreadable() {
        for line in [&b""[..], b"{", b"hello", b"\\ud83d", b"\"\\", b"\xff\xfe"] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}
