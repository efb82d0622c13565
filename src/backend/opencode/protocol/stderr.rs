//! What only stderr tells: failed tries, the cause of a server error, a session of another directory, an agent that was
//! not taken.

use super::super::log::Record;
use super::super::{failure, gate};
use super::{Gate, OpenCodeProtocol, RETRIES, Rights};
use crate::backend::Output;
use crate::error::{ErrorKind, Failure};

impl OpenCodeProtocol {
    pub(super) fn record(&mut self, record: &Record<'_>, out: &mut Output<'_>) {
        let Some(message) = record.get("message") else { return };
        match &*message {
            "stream error" if is_main_request(record) => self.failed_try(record, out),
            "created" if record.is("parentID", "undefined") => {
                if let Some(id) = record.get("id").filter(|id| id.starts_with("ses_")) {
                    self.session(&id, out);
                }
            }
            "creating instance" => self.opened(record, out),
            "failed" => {
                // Some causes are but the name of a class twice.
                if let Some(error) = record.get("error").filter(|error| !error.starts_with("UnknownError")) {
                    self.cause = Some(readable(&error).to_owned());
                }
            }
            _ => {}
        }
    }

    /// One request to the model failed. OpenCode waits and tries again, if it thinks that this can help.
    fn failed_try(&mut self, record: &Record<'_>, out: &mut Output<'_>) {
        if let Some(id) = record.get("session.id").filter(|id| id.starts_with("ses_")) {
            self.session(&id, out);
        }
        let error = record.get("error.error").unwrap_or_default();
        let failure = failure::of_message(readable(&error));
        self.failed_tries = self.failed_tries.saturating_add(1);
        if failure.kind == ErrorKind::Auth {
            // The first is usually the end, and the `error` event tells it better; a second one means that it retries.
            if self.failed_tries > 1 {
                out.abort(failure);
            }
            return;
        }
        let will_retry = self.failed_tries > 1
            || matches!(
                failure.kind,
                ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::Network
            );
        if !will_retry || self.failed_tries > RETRIES {
            return;
        }
        if self.max_retries.is_some_and(|most| self.failed_tries > most) {
            out.abort(failure);
            return;
        }
        self.attempts = self.failed_tries;
        out.retry(self.attempts, Some(RETRIES), None, &failure);
    }

    /// A session is opened in its own directory. If that is not ours, OpenCode would work there without a word, for
    /// ever: stop it before the model is asked.
    fn opened(&mut self, record: &Record<'_>, out: &mut Output<'_>) {
        let Some(directory) = record.get("directory") else {
            return;
        };
        let Some(id) = &self.resumed else { return };
        match &self.opened {
            None => self.opened = Some(directory.into_owned()),
            Some(opened) if *opened == directory => {}
            Some(opened) => {
                let message = format!("session {id} belongs to {directory}, not to {opened}");
                out.abort(Failure::new(ErrorKind::SessionNotFound, message).hint(format!(
                    "OpenCode continues a session in its own directory only: add `-C {directory}`"
                )));
            }
        }
    }

    pub(super) fn said(&mut self, sentence: &str, out: &mut Output<'_>) {
        if sentence == "Error: Session not found" {
            self.session_missing = true;
        } else if is_collision(sentence) {
            self.database_taken = true;
        } else if sentence == gate::STANDING {
            self.gate = Gate::Standing;
        } else if sentence.ends_with("Falling back to default agent") {
            match self.rights {
                // The default agent may do everything.
                Rights::Limited => out.abort(
                    Failure::new(
                        ErrorKind::PermissionDenied,
                        "OpenCode did not take the agent that limits its rights, and was stopped",
                    )
                    .hint("`agentctl doctor opencode` checks its version"),
                ),
                Rights::Unlimited => out.warning(sentence.trim_start_matches(['!', ' '])),
            }
        }
    }
}

/// OpenCode opens its database before it tells it to wait for others, so several starts at once get in each other's way;
/// in a new home they also find tables and columns that another one has just made.
fn is_collision(sentence: &str) -> bool {
    const MAKING: [&str; 5] = [
        "CREATE TABLE `",
        "CREATE INDEX `",
        "CREATE UNIQUE INDEX `",
        "ALTER TABLE `",
        "DROP TABLE `",
    ];
    let sentence = sentence.trim();
    sentence == "database is locked" || MAKING.iter().any(|words| sentence.starts_with(words))
}

/// A request of the conversation itself: not of a subagent, a title or a summary.
fn is_main_request(record: &Record<'_>) -> bool {
    record.is("mode", "primary")
        && record.is("small", "false")
        && !["title", "summary", "compaction"]
            .iter()
            .any(|agent| record.is("agent", agent))
}

/// An error without the name of its class and without its stack.
fn readable(error: &str) -> &str {
    let line = error.lines().next().unwrap_or_default();
    match line.split_once(": ") {
        Some((class, rest)) if class.ends_with("Error") && !class.contains(' ') && !rest.is_empty() => rest,
        _ => line,
    }
}
