//! What Gemini CLI tells on stderr alone: that it tries again, and why it ended without a word on stdout.

use super::failure;
use crate::backend::Output;
use crate::error::{ErrorKind, Failure};
use anstream::adapter::strip_str;

/// Lines kept to explain a silent end.
const TAIL_LINES: usize = 12;
const TAIL_LINE_BYTES: usize = 1000;
const DOCUMENT_CAP: usize = 1 << 20;

/// Lines that every run prints and that explain nothing.
const NOISE: &[&str] = &[
    "Warning: True color",
    "Warning: 256-color",
    "Ripgrep is not available",
    "YOLO mode is enabled",
    "[STARTUP]",
    "Loaded cached credentials",
    "    at ",
];

#[derive(Debug, Default)]
pub struct Stderr {
    tail: std::collections::VecDeque<String>,
    /// The lines between `{` and `}`: with `-o json` a failure is told in such a document.
    document: Vec<u8>,
    in_document: bool,
    /// A retry whose text goes on in the next line.
    unfinished: Option<(u32, String)>,
    limits: Limits,
    no_such_model: bool,
}

/// Whether this run may do less than everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    #[default]
    None,
    Some,
}

impl Stderr {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    pub fn line(&mut self, line: &[u8], out: &mut Output<'_>) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        self.keep_document(text);
        // The CLI goes on without a policy that it cannot read.
        if self.limits == Limits::Some && text.contains("Policy file error in agentctl-") {
            out.abort(
                Failure::new(
                    ErrorKind::PermissionDenied,
                    "Gemini CLI did not take the policy that limits its rights",
                )
                .hint("this version of Gemini CLI may be too new or too old: see `agentctl doctor gemini`"),
            );
        }
        self.no_such_model |= text.contains(" ModelNotFoundError: ");
        if let Some((attempt, mut reason)) = self.unfinished.take() {
            reason.push(' ');
            reason.push_str(text);
            tell_retry(attempt, &reason, out);
        } else if let Some((attempt, rest)) = failed_attempt(text) {
            // A message may hold a line break before the words that say what comes next.
            if rest.contains("Retrying") || rest.contains("Max attempts") {
                tell_retry(attempt, rest, out);
            } else {
                self.unfinished = Some((attempt, cut(rest).to_owned()));
            }
        }
        if !text.is_empty() && !NOISE.iter().any(|noise| text.starts_with(noise)) {
            if self.tail.len() == TAIL_LINES {
                self.tail.pop_front();
            }
            self.tail.push_back(strip_str(cut(text)).to_string());
        }
    }

    /// The last lines that may say something.
    pub fn tail(&self) -> String {
        self.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Whether the API knows no such model. The stream quotes its message alone, and the exit code is 1.
    pub fn no_such_model(&self) -> bool {
        self.no_such_model
    }

    pub fn take_document(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.document)
    }

    fn keep_document(&mut self, text: &str) {
        if text == "{" || text == "[ERROR] {" {
            self.in_document = true;
            self.document.clear();
            self.document.push(b'{');
            return;
        }
        if self.in_document && self.document.len() + text.len() < DOCUMENT_CAP {
            self.document.extend_from_slice(text.as_bytes());
            self.document.push(b'\n');
            self.in_document = text != "}";
        }
    }
}

/// `Attempt 3 failed…`: the number and the rest.
fn failed_attempt(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.strip_prefix("Attempt ")?.split_once(" failed")?;
    Some((number.parse().ok()?, rest))
}

/// `rest` is what follows `Attempt N failed`, in one of three forms: ` with status 500. Retrying with backoff... ERROR`,
/// `. Retrying with backoff... ERROR`, `: MESSAGE. Retrying after 6000ms...`.
fn tell_retry(attempt: u32, rest: &str, out: &mut Output<'_>) {
    let status = rest
        .strip_prefix(" with status ")
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
        .and_then(|digits| digits.parse::<u16>().ok());
    let (before, after) = rest.split_once("Retrying").unwrap_or((rest, ""));
    let reason = match after.split_once("... ") {
        Some((_, error)) if !error.is_empty() => error,
        _ => before,
    };
    let failure = reason_of(reason);
    if status.is_some_and(|status| matches!(status, 401 | 403)) || failure.kind == ErrorKind::Auth {
        out.abort(Failure::new(ErrorKind::Auth, failure.message).hint(failure::LOGIN_HINT));
    } else if !after.is_empty() {
        out.retry(attempt, None, delay_ms(after), &failure);
    }
}

/// The readable part of an error as node prints it.
fn reason_of(text: &str) -> Failure {
    let text = text.trim_matches([':', '.', ' ']);
    let text = text.strip_prefix("_ApiError: ").unwrap_or(text);
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    failure::from_message(cut(text))
}

/// ` after 6000ms...`
fn delay_ms(text: &str) -> Option<u64> {
    text.strip_prefix(" after ")?.split_once("ms")?.0.parse().ok()
}

/// At most a line's worth of text, cut between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TAIL_LINE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Command, Tally};
    use crate::event::Event;

    fn read(lines: &[&str]) -> (Vec<String>, Tally, Vec<Command>) {
        let (mut events, mut tally, mut commands) = (Vec::new(), Tally::default(), Vec::new());
        let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap_or_default());
        let mut stderr = Stderr::default();
        for line in lines {
            stderr.line(line.as_bytes(), &mut Output::new(&mut tally, &mut sink, &mut commands));
        }
        (events, tally, commands)
    }

    #[test]
    fn each_form_of_a_retry_is_told() {
        let (events, ..) = read(&[
            r#"Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {"error":{"code":500,"message":"mock"}}"#,
            "Attempt 2 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request",
            "Attempt 3 failed: You exceeded your quota.",
            "Suggested retry after 3s.. Retrying after 6000ms...",
            "Attempt 4 failed: gone. Max attempts reached",
        ]);
        assert_eq!(
            events,
            [
                r#"{"type":"retry","attempt":1,"reason":"mock"}"#,
                r#"{"type":"retry","attempt":2,"reason":"exception TypeError: fetch failed sending request"}"#,
                r#"{"type":"retry","attempt":3,"delayMs":6000,"reason":"You exceeded your quota. Suggested retry after 3s"}"#,
            ]
        );
    }

    #[test]
    fn a_refused_key_stops_the_run_instead_of_being_tried_again() {
        let (_, tally, commands) = read(&["Attempt 1 failed with status 401. Retrying with backoff... Error: no"]);
        assert_eq!(commands, [Command::Stop]);
        assert_eq!(tally.failure.map(|failure| failure.kind), Some(ErrorKind::Auth));
    }

    #[test]
    fn a_policy_that_the_cli_cannot_read_stops_a_limited_run() {
        let (mut tally, mut commands) = (Tally::default(), Vec::new());
        let mut sink = |_: &Event<'_>| {};
        let line = b"[ADMIN] Policy file error in agentctl-deny.toml:";
        Stderr::new(Limits::None).line(line, &mut Output::new(&mut tally, &mut sink, &mut commands));
        assert_eq!(commands, []);
        Stderr::new(Limits::Some).line(line, &mut Output::new(&mut tally, &mut sink, &mut commands));
        assert_eq!(commands, [Command::Stop]);
    }
}
