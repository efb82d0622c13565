//! What eats a CLI's output and may want something done to the CLI: the seam between supervision and protocols.

use crate::backend::Command;
use std::time::Instant;

/// Which of the CLI's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Called by the loop, which waits for it: a driver must not block.
pub trait Driver {
    /// The CLI is being started, and says nothing for a while.
    fn started(&mut self) {}

    /// One line of the CLI's stdout, without its newline. Any bytes.
    fn stdout(&mut self, line: &[u8]);

    /// One line of the CLI's stderr.
    fn stderr(&mut self, _line: &[u8]) {}

    /// A line beyond the cap was dropped.
    fn dropped(&mut self, _stream: Stream, _bytes: u64) {}

    /// So many bytes arrived, whether or not they end a line.
    fn received(&mut self, _stream: Stream, _bytes: usize) {}

    /// All complete lines of one read were handed over: the time to pass results on.
    fn batch_end(&mut self) {}

    /// We are about to be stopped, as by Ctrl-Z: the terminal will be somebody else's.
    fn suspending(&mut self) {}

    /// We were continued.
    fn resumed(&mut self) {}

    /// What should be done to the CLI; asked for after everything that happens.
    fn take_commands(&mut self) -> Vec<Command> {
        Vec::new()
    }

    /// When `tick` should be called at the latest.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    /// The time that `wake_at` told may have come (or another timer of the run).
    fn tick(&mut self, _now: Instant) {}
}
