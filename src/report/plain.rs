//! Progress without a terminal: warnings and the error, one line each, and the trace of `--verbose`.

use super::progress::{Progress, failure_text};
use crate::decide::Verbosity;
use crate::event::{Event, EventResult};
use std::io::Write;

/// Writes to stderr (or any writer). Nobody reads it? Then nothing is lost but diagnostics.
pub struct Plain<W> {
    out: W,
    verbosity: Verbosity,
}

impl<W: Write> Plain<W> {
    pub fn new(out: W, verbosity: Verbosity) -> Self {
        Self { out, verbosity }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }
}

impl<W: Write> Progress for Plain<W> {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::Warning { message }, true) = (event, self.verbosity != Verbosity::Quiet) {
            self.line(&format!("warning: {message}"));
        }
    }

    fn trace(&mut self, what: &str, line: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.line(&format!("{what} {line}"));
        }
    }

    fn result(&mut self, result: &EventResult) {
        if let Some(failure) = &result.error {
            let _ = self.out.write_all(failure_text(failure).as_bytes());
        }
        let _ = self.out.flush();
    }
}
