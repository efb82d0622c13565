//! Progress without a display: warnings and the error, one line each, and the trace of `--verbose`.

use super::progress::{Progress, failure_text};
use super::sanitize::{self, Harmless};
use crate::decide::Verbosity;
use crate::event::{Event, EventResult};
use std::io::Write;

/// Who reads the diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A terminal, if only a dumb one: it must have nothing to obey.
    Terminal,
    /// A file or a program, which get every byte as it was.
    Program,
}

/// Writes to stderr (or any writer). Nobody reads it? Then nothing is lost but diagnostics.
pub struct Plain<W> {
    out: W,
    verbosity: Verbosity,
    audience: Audience,
}

impl<W: Write> Plain<W> {
    pub fn new(out: W, verbosity: Verbosity, audience: Audience) -> Self {
        Self {
            out,
            verbosity,
            audience,
        }
    }

    fn line(&mut self, text: &str) {
        let _ = match self.audience {
            Audience::Program => writeln!(self.out, "{text}"),
            Audience::Terminal => writeln!(self.out, "{}", sanitize::text(text, Harmless::Pictured)),
        };
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
            self.line(failure_text(failure).trim_end());
        }
        let _ = self.out.flush();
    }
}
