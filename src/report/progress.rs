//! What a person sees on stderr while an agent works. Reporters write answers; this writes everything else.

use crate::event::{Event, EventResult};

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
