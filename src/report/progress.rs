//! What a person sees on stderr while an agent works. Reporters write answers; this writes everything else.

use super::sanitize::{self, Harmless};
use crate::error::Failure;
use crate::event::{Event, EventResult};
use std::io::{IsTerminal, Write};

/// Watches a run for a person.
pub trait Progress {
    /// Something happened.
    fn event(&mut self, _event: &Event<'_>) {}

    /// How many responses the model has begun so far.
    fn turns(&mut self, _turns: u32) {}

    /// A raw line of the CLI, or the command itself, with secrets masked (`--verbose`).
    fn trace(&mut self, _what: &str, _line: &str) {}

    /// Whether the answer is written to the same terminal.
    fn shares_the_terminal(&self) -> bool {
        false
    }

    /// The run is over.
    fn result(&mut self, _result: &EventResult) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// An error for people: what, and what to do next.
pub fn failure_text(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("error: {}\nhint: {hint}\n", failure.message),
        None => format!("error: {}\n", failure.message),
    }
}

/// Writes a diagnostic to stderr, harmless if that is a terminal. Nobody reads it? Then nothing else is lost.
pub fn tell(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = match stderr.is_terminal() {
        true => stderr.write_all(sanitize::text(text, Harmless::Pictured).as_bytes()),
        false => stderr.write_all(text.as_bytes()),
    };
}
