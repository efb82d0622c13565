//! The last part of a stream, in bounded memory.

use crate::bytes;

/// Keeps the end of what was pushed.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    front: Front,
}

#[derive(Debug, PartialEq, Eq)]
enum Front {
    Whole,
    Cut,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            front: Front::Whole,
        }
    }

    pub(super) fn push(&mut self, line: &[u8]) {
        if line.len() > self.limit {
            self.bytes.clear();
            self.front = Front::Cut;
        }
        let line = &line[line.len().saturating_sub(self.limit)..];
        // Trimming at twice the limit makes the moves rare.
        if self.bytes.len() + line.len() > 2 * self.limit {
            self.trim();
        }
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    fn trim(&mut self) {
        let excess = self.bytes.len().saturating_sub(self.limit);
        if excess > 0 {
            self.front = if self.bytes[excess - 1] == b'\n' {
                Front::Whole
            } else {
                Front::Cut
            };
        }
        self.bytes.drain(..excess);
    }

    /// The last lines as text; a line that was cut at its front is left out if another one follows.
    pub(super) fn text(mut self) -> String {
        self.trim();
        let mut text = self.bytes.as_slice();
        if self.front == Front::Cut
            && let Some(newline) = bytes::find(text, |byte| byte == b'\n')
            && newline + 1 < text.len()
        {
            text = &text[newline + 1..];
        }
        String::from_utf8_lossy(text).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_and_it_begins_with_a_whole_line() {
        let mut tail = Tail::new(10);
        for line in ["first", "second", "third", "4th"] {
            tail.push(line.as_bytes());
        }
        assert_eq!(tail.text(), "third\n4th");
    }

    #[test]
    fn a_single_endless_line_keeps_its_end() {
        let mut tail = Tail::new(8);
        tail.push(b"0123456789abcdef");
        assert_eq!(tail.text(), "9abcdef");
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let mut tail = Tail::new(100);
        tail.push(b"\xff\xfe\0 error");
        assert!(tail.text().ends_with("error"));
    }
}
