//! What a person sees on stderr while an agent works. Reporters write answers; this writes everything else.

use super::SpoolError;
use crate::event::{Event, EventResult};
use std::time::Duration;

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

    /// The end of the answer is about to be written, here or for somebody who may show it here.
    fn make_room(&mut self) {}

    /// The run is about to be stopped (Ctrl-Z), and the terminal goes back to the shell.
    fn suspending(&mut self) {}

    /// It goes on.
    fn resumed(&mut self) {}

    /// The run is over.
    fn result(&mut self, _result: &EventResult) {}

    /// The answer did not get out.
    fn output_failed(&mut self, _error: &SpoolError) {}

    /// Waits a moment until everything that was said can be read, so that what the answer adds comes after it.
    fn settle(&self, _patience: Duration) {}

    /// Nothing will be said any more: waits until everything can be read, or the patience is over.
    fn finish(&mut self, _patience: Option<Duration>) {}
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
