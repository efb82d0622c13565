//! A recorded exchange: what `--record FILE` writes and the mock agent plays. One JSON object a line.
//!
//! A run may need several processes: one to ask again for an answer that fits, one to begin anew where a conversation
//! was not there any more. Each is a part of the recording, from a `recording` line to an `exit` line.

use crate::request::Conversation;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, BufRead, Write};

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Entry<'a> {
    /// Always the first of a part.
    Recording {
        version: u32,
        backend: Cow<'a, str>,
        #[serde(default)]
        conversation: Asked,
    },
    Stdin {
        at_ms: u64,
        #[serde(borrow)]
        line: Bytes<'a>,
    },
    Stdout {
        at_ms: u64,
        #[serde(borrow)]
        line: Bytes<'a>,
    },
    Stderr {
        at_ms: u64,
        #[serde(borrow)]
        line: Bytes<'a>,
    },
    /// Always the last of a part.
    Exit {
        at_ms: u64,
        code: Option<i32>,
        signal: Option<i32>,
    },
}

pub const VERSION: u32 = 1;

/// What the process was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asked {
    /// A new conversation.
    #[default]
    Fresh,
    /// To go on with one, or with a copy of it.
    Known,
}

impl Asked {
    pub fn of(conversation: &Conversation) -> Self {
        match conversation {
            Conversation::Fresh { .. } => Self::Fresh,
            Conversation::Resume(_) | Conversation::Fork { .. } => Self::Known,
        }
    }
}

/// What every part of a recording was asked for, in order.
pub fn parts(recording: impl BufRead) -> io::Result<Vec<Asked>> {
    let mut parts = Vec::new();
    for line in recording.split(b'\n') {
        let line = line?;
        if let Some(Entry::Recording { conversation, .. }) = header(&line) {
            parts.push(conversation);
        }
    }
    Ok(parts)
}

/// The first line of a part; nothing if it is another line.
pub fn header(line: &[u8]) -> Option<Entry<'_>> {
    // Most lines are others, and long.
    if !line.starts_with(br#"{"recording":"#) {
        return None;
    }
    serde_json::from_slice(line).ok()
}

/// A line of any bytes: text where it is text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Raw(Vec<u8>),
}

impl<'a> Bytes<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(Cow::Borrowed(text)),
            Err(_) => Self::Raw(bytes.to_vec()),
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Raw(bytes) => bytes,
        }
    }
}

/// Appends one entry.
pub fn write(entry: &Entry<'_>, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, entry)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_as_they_were() {
        for bytes in [&b"{\"a\":\"b\"}"[..], b"", b"\xff\x00\xfe", "é😀\u{2028}".as_bytes()] {
            let mut line = Vec::new();
            write(
                &Entry::Stdout {
                    at_ms: 7,
                    line: Bytes::of(bytes),
                },
                &mut line,
            )
            .unwrap();
            let entry: Entry<'_> = serde_json::from_slice(&line).unwrap();
            assert!(matches!(entry, Entry::Stdout { at_ms: 7, line } if line.as_bytes() == bytes));
        }
    }
}
