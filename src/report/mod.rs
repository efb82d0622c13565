//! Reporters: events in, bytes for stdout out. They know nothing of processes and write to any buffer; a thread of its
//! own (`spool`) carries the bytes to the reader.

#[cfg_attr(unix, path = "canvas_unix.rs")]
#[cfg_attr(not(unix), path = "canvas_windows.rs")]
mod canvas;
mod diagnostic;
mod json;
mod plain;
mod progress;
mod sanitize;
mod spinner;
mod spool;
mod standard;
mod stream_json;
mod terminal;
mod text;
mod voice;

pub use diagnostic::{choose_color, failure_text, is_colored, tell};
pub use json::Json;
pub use plain::{Audience, Ink, Plain};
pub use progress::{Progress, Silent};
pub use sanitize::{
    Harmless, Sanitized, is_dangerous, line as harmless_line, output as harmless_output, word as harmless_word,
};
pub use spool::{Spool, SpoolError};
pub use stream_json::{StreamJson, Tagged};
pub use terminal::{AnswerPlace, Look, Terminal};
pub use text::{Pace, Surroundings, Text};
pub use voice::Voice;

use crate::event::{Event, EventResult};

/// What every output format is.
pub trait Report {
    /// Something happened. Bytes for stdout are appended to `out`.
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>);

    /// The run is over.
    fn result(&mut self, result: &EventResult, out: &mut Vec<u8>);
}

/// For library callers, who read events through their callback and get the result as a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Report for Discard {
    fn event(&mut self, _event: &Event<'_>, _out: &mut Vec<u8>) {}

    fn result(&mut self, _result: &EventResult, _out: &mut Vec<u8>) {}
}
