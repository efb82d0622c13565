//! What an agent says cannot take over a terminal: control characters are shown, not obeyed. Only for terminals; a pipe
//! gets every byte as it was.

use super::Report;
use crate::event::{Event, EventResult};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;

/// How a dangerous character is made harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harmless {
    /// As a picture of itself.
    Pictured,
    /// As a JSON escape: still the same value.
    Escaped,
}

/// A reporter whose output goes to a terminal.
pub struct Sanitized<R> {
    inner: R,
    harmless: Harmless,
    raw: Vec<u8>,
}

impl<R: Report> Sanitized<R> {
    pub fn new(inner: R, harmless: Harmless) -> Self {
        Self {
            inner,
            harmless,
            raw: Vec::new(),
        }
    }

    fn pass(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(text(&String::from_utf8_lossy(&self.raw), self.harmless).as_bytes());
        self.raw.clear();
    }
}

impl<R: Report> Report for Sanitized<R> {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        self.inner.event(event, &mut self.raw);
        self.pass(out);
    }

    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>) {
        self.inner.result(result, &mut self.raw);
        self.pass(out);
    }
}

/// `text` without anything that a terminal would obey, save newline and tab.
pub fn text(text: &str, harmless: Harmless) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match (is_dangerous(character), harmless) {
            (false, _) => clean.push(character),
            (true, Harmless::Escaped) => clean.push_str(&format!("\\u{:04x}", u32::from(character))),
            // A carriage return before a newline is harmless, and alone it would overwrite what was said.
            (true, Harmless::Pictured) if character == '\r' => {}
            (true, Harmless::Pictured) => clean.push(picture(character)),
        }
    }
    clean
}

/// What a command prints on standard output: harmless if that is a terminal. JSON stays the same value.
pub fn output(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !std::io::stdout().is_terminal() {
        return Cow::Borrowed(bytes);
    }
    let harmless = match bytes.first() {
        Some(b'{' | b'[') => Harmless::Escaped,
        _ => Harmless::Pictured,
    };
    Cow::Owned(text(&String::from_utf8_lossy(bytes), harmless).into_bytes())
}

/// An argument as it can be repeated.
pub fn word(word: &OsStr) -> OsString {
    text(&word.to_string_lossy(), Harmless::Pictured).into()
}

/// One line of text for a person: no line breaks either.
pub fn line(line: &str) -> String {
    text(&line.replace(['\n', '\t'], " "), Harmless::Pictured)
}

/// Controls, and the marks that make text read in another order than it is written. Newline and tab are harmless.
pub fn is_dangerous(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

fn picture(character: char) -> char {
    match u32::from(character) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}31mc\u{202e}d\rover\r\n";
        assert_eq!(
            text(hostile, Harmless::Pictured),
            "a␛[2J␛]0;title␇b\u{fffd}31mc\u{fffd}dover\n"
        );
    }

    #[test]
    fn json_stays_the_same_value() {
        let json = "{\"a\":\"x\u{9b}31m\u{7f}\"}";
        let clean = text(json, Harmless::Escaped);
        let value: serde_json::Value = serde_json::from_str(&clean).unwrap();
        assert_eq!(value["a"], "x\u{9b}31m\u{7f}");
        assert!(!clean.contains('\u{9b}'));
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_gets_through(hostile in any::<String>()) {
            for character in text(&hostile, Harmless::Pictured).chars() {
                prop_assert!(!is_dangerous(character));
            }
        }
    }
}
