//! Reads a declared backend: its dialect's decoder, or plain text, and failures that are told as if they were answers.

use super::{Declaration, TEXT};
use crate::backend::{ExitStatus, Output, Protocol, registry};
use crate::error::{ErrorKind, Failure};
use crate::request::{Conversation, Request};

/// The state of one run.
pub struct DeclaredProtocol {
    dialect: Box<dyn Protocol>,
    error_marker: Option<String>,
    login: String,
}

impl DeclaredProtocol {
    pub fn new(declaration: &Declaration, request: &Request) -> Self {
        let mut of_dialect = request.clone();
        // They are this backend's, and the dialect's own would not know them.
        of_dialect.options.clear();
        let dialect = match registry::find(&declaration.dialect) {
            Some(backend) if declaration.dialect != TEXT => backend.protocol(&of_dialect),
            _ => Box::new(PlainText {
                session: chosen_session(declaration, request),
            }),
        };
        Self {
            dialect,
            error_marker: declaration.error_marker.clone().filter(|marker| !marker.is_empty()),
            login: declaration.login.clone().unwrap_or_default(),
        }
    }

    /// The failure that an answer tells: it begins with the marker, or a broken-off text ends in one.
    fn disguised_failure(&self, answer: &str) -> Option<Failure> {
        let marker = self.error_marker.as_deref()?;
        let answer = answer.trim();
        let start = answer.rfind(marker)?;
        if start > 0 && !answer.ends_with(']') {
            return None;
        }
        let told = &answer[start..];
        let numbers = told.split(|character: char| !character.is_ascii_digit());
        let status = numbers.filter(|number| number.len() == 3).find_map(|number| {
            let status = number.parse::<u16>().ok()?;
            (400..600).contains(&status).then_some(status)
        });
        let kind = status.map_or(ErrorKind::Agent, ErrorKind::from_http_status);
        let failure = Failure::new(kind, told.to_owned());
        Some(match kind {
            ErrorKind::Auth if !self.login.is_empty() => failure.hint(self.login.clone()),
            _ => failure,
        })
    }
}

impl Protocol for DeclaredProtocol {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        self.dialect.stdout(line, out);
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        self.dialect.stderr(line, out);
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        self.dialect.finish(exit, out);
        if out.tally().failure.is_none()
            && let Some(failure) = self.disguised_failure(&out.tally().answer)
        {
            out.fail(failure);
        }
    }
}

/// The id of the conversation, where the stream cannot tell it: the one that the arguments named.
fn chosen_session(declaration: &Declaration, request: &Request) -> Option<String> {
    match &request.conversation {
        Conversation::Fresh { id } => declaration
            .session_args_new
            .iter()
            .flatten()
            .any(|arg| arg.contains("{session}"))
            .then(|| id.to_string()),
        Conversation::Resume(continuation) => Some(continuation.native_id.clone()),
        Conversation::Fork { .. } => None,
    }
}

/// A program whose standard output is the answer.
struct PlainText {
    session: Option<String>,
}

impl PlainText {
    fn begin(&mut self, out: &mut Output<'_>) {
        if let Some(session) = self.session.take() {
            out.session(&session, None);
        }
    }
}

impl Protocol for PlainText {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        self.begin(out);
        if out.tally().turns == 0 {
            out.turn();
        }
        out.text(&format!("{}\n", String::from_utf8_lossy(line)));
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        self.begin(out);
        // A text says nothing about its end, so here the exit code is all there is.
        if exit.code == Some(0) {
            let answer = out.tally().answer.trim_end_matches('\n').to_owned();
            out.answer(&answer);
            out.complete();
        }
    }
}
