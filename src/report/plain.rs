//! Progress without a display: warnings and the error, one line each, and the trace of `--verbose`.

use super::diagnostic::{failure_text, painted};
use super::progress::Progress;
use super::sanitize::{self, Harmless};
use super::spool::SpoolError;
use super::voice::Voice;
use crate::decide::Verbosity;
use crate::event::{Event, EventResult};
use std::time::Duration;

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

/// Nobody reads it? Then nothing is lost but diagnostics.
pub struct Plain {
    voice: Voice,
    verbosity: Verbosity,
    audience: Audience,
    ink: Ink,
}

impl Plain {
    pub fn new(voice: Voice, verbosity: Verbosity, audience: Audience, ink: Ink) -> Self {
        Self {
            voice,
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
    fn diagnostic(&self, text: &str) -> String {
        let text = self.harmless(text);
        match self.ink {
            Ink::Black => format!("{text}\n"),
            Ink::Colored => format!("{}\n", painted(&text)),
        }
    }
}

impl Progress for Plain {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::Warning { message }, true) = (event, self.verbosity != Verbosity::Quiet) {
            self.voice.say(self.diagnostic(&format!("warning: {message}")));
        }
    }

    fn trace(&mut self, what: &str, line: &str) {
        if self.verbosity == Verbosity::Verbose {
            let text = self.harmless(&format!("{what} {line}\n"));
            self.voice.say(text);
        }
    }

    fn result(&mut self, result: &EventResult) {
        if let Some(failure) = &result.error {
            self.voice.say_last(self.diagnostic(failure_text(failure).trim_end()));
        }
    }

    fn output_failed(&mut self, error: &SpoolError) {
        self.voice.say_last(self.diagnostic(&format!("error: {error}")));
    }

    fn settle(&self, patience: Duration) {
        self.voice.settle(patience);
    }

    fn finish(&mut self, patience: Option<Duration>) {
        self.voice.finish(patience);
    }
}
