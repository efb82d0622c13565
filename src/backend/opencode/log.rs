//! The lines that OpenCode writes to stderr: log records of `--print-logs`, and sentences for people. Reads them; draws
//! no conclusions.

use anstream::adapter::strip_str;
use std::borrow::Cow;

/// What one line of stderr is.
#[derive(Debug, PartialEq, Eq)]
pub enum StderrLine<'a> {
    Record(Record<'a>),
    /// A sentence, without its colours.
    Said(String),
}

impl<'a> StderrLine<'a> {
    pub fn read(line: &'a str) -> Self {
        if line.starts_with("timestamp=") {
            Self::Record(Record(line))
        } else {
            Self::Said(strip_str(line).to_string().trim().to_owned())
        }
    }
}

/// `timestamp=… level=ERROR run=… message="stream error" key=value …`
#[derive(Debug, PartialEq, Eq)]
pub struct Record<'a>(&'a str);

impl<'a> Record<'a> {
    /// The first value of this key.
    pub fn get(&self, key: &str) -> Option<Cow<'a, str>> {
        Fields(self.0)
            .find(|(name, _)| *name == key)
            .map(|(_, value)| unquoted(value))
    }

    pub fn is(&self, key: &str, value: &str) -> bool {
        self.get(key).is_some_and(|found| found == value)
    }
}

/// The `key=value` pairs; a value may be quoted.
struct Fields<'a>(&'a str);

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches(' ');
        let (key, value) = rest.split_once('=')?;
        let end = if value.starts_with('"') {
            end_of_quoted(value)
        } else {
            value.find(' ').unwrap_or(value.len())
        };
        let (value, rest) = value.split_at(end);
        self.0 = rest;
        Some((key, value))
    }
}

/// Where a text that begins with a quote ends: after its closing quote.
fn end_of_quoted(text: &str) -> usize {
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return position + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn unquoted(value: &str) -> Cow<'_, str> {
    if !value.starts_with('"') {
        return Cow::Borrowed(value);
    }
    match serde_json::from_str::<String>(value) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(value.trim_matches('"')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: &str) -> Record<'_> {
        match StderrLine::read(line) {
            StderrLine::Record(record) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let record = record(
            r#"timestamp=2026-11-18T00:57:34Z level=ERROR message="stream error" path="" error.error="Error: \"a\\\" = b\n(429)" mode=primary"#,
        );
        assert_eq!(record.get("level").as_deref(), Some("ERROR"));
        assert_eq!(record.get("message").as_deref(), Some("stream error"));
        assert_eq!(record.get("path").as_deref(), Some(""));
        assert_eq!(record.get("error.error").as_deref(), Some("Error: \"a\\\" = b\n(429)"));
        assert!(record.is("mode", "primary"));
        assert_eq!(record.get("absent"), None);
    }

    #[test]
    fn a_sentence_loses_its_colours() {
        assert_eq!(
            StderrLine::read("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found"),
            StderrLine::Said("Error: Session not found".to_owned())
        );
    }

    #[test]
    fn broken_records_and_escapes_are_read_as_far_as_they_go() {
        for line in [
            "timestamp=",
            "timestamp=a message=\"open",
            "timestamp=a message=\"\\",
            "timestamp==",
        ] {
            assert_ne!(record(line).get("message").as_deref(), Some("closed"));
        }
        for line in ["\u{1b}", "\u{1b}[", "\u{1b}[31", "a\u{1b}é"] {
            StderrLine::read(line);
        }
    }
}
