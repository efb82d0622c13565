//! Progress without a display: warnings and the error, one line each, and the trace of `--verbose`.

use super::diagnostic::{failure_text, painted};
use super::progress::Progress;
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

/// Whether the labels of diagnostics are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Black,
    Colored,
}

/// Writes to stderr (or any writer). Nobody reads it? Then nothing is lost but diagnostics.
pub struct Plain<W> {
    out: W,
    verbosity: Verbosity,
    audience: Audience,
    ink: Ink,
}

impl<W: Write> Plain<W> {
    pub fn new(out: W, verbosity: Verbosity, audience: Audience, ink: Ink) -> Self {
        Self {
            out,
            verbosity,
            audience,
            ink,
        }
    }

    fn harmless(&self, text: &str) -> String {
        match self.audience {
            Audience::Program => text.to_owned(),
            Audience::Terminal => sanitize::text(text, Harmless::Pictured),
        }
    }

    /// A line with a label.
    fn diagnostic(&mut self, text: &str) {
        let text = self.harmless(text);
        let _ = match self.ink {
            Ink::Black => writeln!(self.out, "{text}"),
            Ink::Colored => writeln!(self.out, "{}", painted(&text)),
        };
    }
}

impl<W: Write> Progress for Plain<W> {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::Warning { message }, true) = (event, self.verbosity != Verbosity::Quiet) {
            self.diagnostic(&format!("warning: {message}"));
        }
    }

    fn trace(&mut self, what: &str, line: &str) {
        if self.verbosity == Verbosity::Verbose {
            let text = self.harmless(&format!("{what} {line}"));
            let _ = writeln!(self.out, "{text}");
        }
    }

    fn result(&mut self, result: &EventResult) {
        if let Some(failure) = &result.error {
            self.diagnostic(failure_text(failure).trim_end());
        }
        let _ = self.out.flush();
    }
}
