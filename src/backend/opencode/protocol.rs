//! The decoder of `opencode run --format json`: its six events, and what only its stderr tells.
//!
//! There is no result event. The answer is the text of the last message, the end is a `step_finish` that asks for
//! nothing more, and a turn that stops at a refused tool ends without a word and with exit code 0. Retries, a broken
//! session and the cause of "Unexpected server error" are told on stderr alone.

mod stderr;

use super::log::StderrLine;
use super::tools;
use super::wire::{ErrorBody, InvalidInput, Line, Part, ToolPart};
use super::{failure, head};
use crate::backend::wire::{Reader, Unreadable};
use crate::backend::{ExitStatus, Output, Protocol, ToolOutcome};
use crate::error::{ErrorKind, Failure};
use crate::event::{StopReason, Usage};
use crate::request::{Conversation, Request};

/// Where the conversation lives, remembered for its next run.
pub const DIRECTORY: &str = "directory";

/// A model whose stream ends without a reason is asked again for ever: this many times in a row are enough.
const BROKEN_STREAMS: u32 = 3;

/// How the error of a call of a tool that is not on offer begins.
const UNAVAILABLE: &str = "Model tried to call unavailable tool";

/// How often OpenCode retries a failed request.
const RETRIES: u32 = 5;

/// Whether the CLI runs under an agent that agentctl defined to limit its rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Limited,
    Unlimited,
}

/// Whether the run has a gate before its tools, and whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    NotNeeded,
    Awaited,
    Standing,
}

pub struct OpenCodeProtocol {
    lines: Reader,
    bodies: Reader,
    rights: Rights,
    gate: Gate,
    /// The session that was asked for.
    resumed: Option<String>,
    /// The model that was asked for; the stream tells none.
    model: Option<String>,
    directory: Option<String>,
    max_retries: Option<u32>,
    /// How the names of the tools of this run's MCP servers begin.
    servers: Vec<String>,
    /// The message that the last `step_start` belongs to.
    message: String,
    text_in_message: TextSoFar,
    tools_in_message: u32,
    /// A refusal that ends the turn.
    rejected: bool,
    last_reason: Option<Reason>,
    broken_streams: u32,
    /// Retries of the current request that were reported.
    attempts: u32,
    /// Failed tries of the current request that stderr told.
    failed_tries: u32,
    /// `step_start`s of the current message after its first.
    repeats: u32,
    /// The directory that the CLI opened first.
    opened: Option<String>,
    /// The cause of an "Unexpected server error", from the logs.
    cause: Option<String>,
    /// The reported failure has its cause in the logs.
    cause_is_logged: bool,
    session_missing: bool,
    /// Another OpenCode was making the database.
    database_taken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSoFar {
    None,
    /// Text that ends with a line break.
    WholeLines,
    OpenLine,
}

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    ToolCalls,
    /// The stream ended without a reason.
    Unknown,
    Length,
    /// An `error` event follows.
    ContentFilter,
    Stop,
}

impl Reason {
    fn read(text: &str) -> Self {
        match text {
            "tool-calls" => Self::ToolCalls,
            "unknown" | "" => Self::Unknown,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            _ => Self::Stop,
        }
    }
}

impl OpenCodeProtocol {
    pub fn new(request: &Request, rights: Rights, gate: Gate) -> Self {
        Self {
            lines: Reader::default(),
            bodies: Reader::default(),
            rights,
            gate,
            resumed: match &request.conversation {
                Conversation::Fresh { .. } => None,
                Conversation::Resume(of) | Conversation::Fork { of, .. } => Some(of.native_id.clone()),
            },
            model: request.model.clone(),
            directory: request.cwd.to_str().map(str::to_owned),
            max_retries: request.patience.max_retries,
            servers: request
                .mcp_servers
                .iter()
                .map(|server| tools::of_server(&server.name))
                .collect(),
            message: String::new(),
            text_in_message: TextSoFar::None,
            tools_in_message: 0,
            rejected: false,
            last_reason: None,
            broken_streams: 0,
            attempts: 0,
            failed_tries: 0,
            repeats: 0,
            opened: None,
            cause: None,
            cause_is_logged: false,
            session_missing: false,
            database_taken: false,
        }
    }

    fn line(&mut self, line: &Line<'_>, bodies: &mut Reader, out: &mut Output<'_>) {
        if let Some(part) = line.part
            && self
                .part(&line.kind, &line.session, part.get().as_bytes(), bodies, out)
                .is_ok()
        {
            return;
        }
        self.session(&line.session, out);
        match (&*line.kind, line.error) {
            ("error", Some(error)) => match bodies.read(error.get().as_bytes()) {
                Ok(error) => self.error(&error, out),
                Err(Unreadable) => out.unknown(),
            },
            ("result", _) => self.older_result(line, out),
            _ => out.unknown(),
        }
    }

    /// A line of type `kind` that has a part. Nothing has happened if it cannot be read.
    fn part(
        &mut self,
        kind: &str,
        session: &str,
        part: &[u8],
        bodies: &mut Reader,
        out: &mut Output<'_>,
    ) -> Result<(), Unreadable> {
        let then = match kind {
            "tool_use" => {
                let part = bodies.read(part)?;
                self.session(session, out);
                self.tool_use(&part, out);
                return Ok(());
            }
            "step_start" => Self::step_start,
            "text" => Self::text,
            "reasoning" => Self::reasoning,
            "step_finish" => Self::step_finish,
            _ => return Err(Unreadable),
        };
        let part = bodies.read(part)?;
        self.session(session, out);
        then(self, &part, out);
        Ok(())
    }

    fn session(&mut self, id: &str, out: &mut Output<'_>) {
        if id.is_empty() {
            return;
        }
        out.session(id, self.model.as_deref());
        if let Some(directory) = self.directory.take() {
            out.carry(DIRECTORY, directory);
        }
    }

    fn step_start(&mut self, part: &Part<'_>, out: &mut Output<'_>) {
        // The same message begins again when its stream broke and is retried.
        let again = !self.message.is_empty() && self.message == *part.message;
        out.restart_answer();
        self.text_in_message = TextSoFar::None;
        self.tools_in_message = 0;
        if again {
            self.repeats = self.repeats.saturating_add(1);
            if self.repeats > self.attempts {
                self.attempts = self.repeats;
                let failure = Failure::new(ErrorKind::Network, "the model's stream broke off");
                out.retry(self.attempts, Some(RETRIES), None, &failure);
            }
            return;
        }
        out.turn();
        self.message.clear();
        self.message.push_str(&part.message);
        self.rejected = false;
        self.repeats = 0;
    }

    fn text(&mut self, part: &Part<'_>, out: &mut Output<'_>) {
        if part.text.is_empty() {
            return;
        }
        // Every event is a whole block of text.
        if self.text_in_message == TextSoFar::OpenLine {
            out.text("\n");
        }
        out.text(&part.text);
        self.text_in_message = if part.text.ends_with('\n') {
            TextSoFar::WholeLines
        } else {
            TextSoFar::OpenLine
        };
    }

    #[expect(
        clippy::unused_self,
        reason = "one of the readers of parts, which are all called alike"
    )]
    fn reasoning(&mut self, part: &Part<'_>, out: &mut Output<'_>) {
        out.thinking(&part.text);
    }

    fn tool_use(&mut self, part: &ToolPart<'_>, out: &mut Output<'_>) {
        self.tools_in_message = self.tools_in_message.saturating_add(1);
        self.text_in_message = TextSoFar::None;
        let state = &part.state;
        let input = state.input.filter(|_| part.tool.0 == "invalid");
        if let Some(invalid) = input.and_then(|input| serde_json::from_str::<InvalidInput<'_>>(input.get()).ok()) {
            out.tool_start(&part.call, &invalid.tool, tools::kind(&invalid.tool), None);
            let outcome = self.unavailable(&invalid.tool, &invalid.error);
            out.tool_end(&part.call, outcome, Some(&invalid.error));
            return;
        }
        out.tool_start(&part.call, &part.tool, tools::kind(&part.tool), state.input);
        let (outcome, output) = match &*state.status {
            "completed" if state.exit().is_some_and(|code| code != 0) => (ToolOutcome::Failed, &state.output),
            "completed" => (ToolOutcome::Succeeded, &state.output),
            _ if is_rejection(&state.error) => {
                self.rejected = true;
                (ToolOutcome::Denied, &state.error)
            }
            _ if is_denial(&state.error) => (ToolOutcome::Denied, &state.error),
            // Where everything is denied, so is the tool that stands in for those that are not offered.
            _ if state.error.starts_with(UNAVAILABLE) => (self.unavailable(&part.tool, &state.error), &state.error),
            _ => (ToolOutcome::Failed, &state.error),
        };
        out.tool_end(&part.call, outcome, Some(output));
    }

    /// What calling a tool that is not on offer comes to. Rights decide which tools are offered, but models also invent
    /// tools, send arguments that are no JSON, or use another name for what they have.
    fn unavailable(&self, tool: &str, error: &str) -> ToolOutcome {
        let Some((_, offered)) = error.split_once("Available tools: ") else {
            return ToolOutcome::Failed;
        };
        let mut offered = offered.trim_end_matches('.').split(", ");
        let denied = match tools::find(tool) {
            Some(tool) => !offered.any(|name| tools::find(name).is_some_and(|other| other.right == tool.right)),
            None => self.servers.iter().any(|prefix| tool.starts_with(prefix)),
        };
        if denied {
            ToolOutcome::Denied
        } else {
            ToolOutcome::Failed
        }
    }

    fn step_finish(&mut self, part: &Part<'_>, out: &mut Output<'_>) {
        let tokens = part.tokens.unwrap_or_default();
        let cache = tokens.cache.unwrap_or_default();
        let usage = Usage {
            input_tokens: tokens.input,
            cache_read_tokens: cache.read,
            cache_write_tokens: cache.write,
            output_tokens: tokens.output.saturating_add(tokens.reasoning),
            reasoning_tokens: tokens.reasoning,
            total_tokens: 0,
        };
        out.add_spent(usage, Some(part.cost));
        self.attempts = 0;
        self.failed_tries = 0;
        self.repeats = 0;
        let reason = Reason::read(&part.reason);
        self.last_reason = Some(reason);
        match reason {
            Reason::Unknown if self.tools_in_message == 0 => {
                self.broken_streams += 1;
                if self.broken_streams == BROKEN_STREAMS {
                    let message = format!("the model's stream broke off {BROKEN_STREAMS} times in a row");
                    out.abort(Failure::new(ErrorKind::Network, message).hint(
                        "OpenCode would repeat the request for ever; check the provider, or the proxy before it",
                    ));
                }
                return;
            }
            Reason::Length => out.stop_reason(StopReason::Length),
            _ => {}
        }
        self.broken_streams = 0;
        // After a tool call the model is asked again, even if it said `stop`.
        if matches!(reason, Reason::Stop | Reason::Length) && self.tools_in_message == 0 {
            out.complete();
            out.finished();
        }
    }

    fn error(&mut self, error: &ErrorBody<'_>, out: &mut Output<'_>) {
        self.cause_is_logged = !error.data.reference.is_empty();
        match self.cause.as_deref().filter(|_| self.cause_is_logged) {
            Some(cause) => out.fail(failure::of_message(cause)),
            None => out.fail(failure::of_event(error)),
        }
        // A conversation that grew too long is compacted, and then goes on.
        if &*error.name != "ContextOverflowError" {
            out.finished();
        }
    }

    fn older_result(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        self.session(&line.older_session, out);
        out.text(&line.text);
        out.complete();
        out.finished();
    }
}

impl Protocol for OpenCodeProtocol {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        // Taken out, so that what borrows from them and the rest of the state can be used side by side.
        let mut lines = std::mem::take(&mut self.lines);
        let mut bodies = std::mem::take(&mut self.bodies);
        let told = head::scan(line).map(|told| self.part(told.kind, told.session, told.part, &mut bodies, out));
        if !matches!(told, Some(Ok(()))) {
            match lines.read::<Line<'_>>(line) {
                Ok(line) => self.line(&line, &mut bodies, out),
                Err(Unreadable) => out.garbage(line),
            }
        }
        self.lines = lines;
        self.bodies = bodies;
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        let line = String::from_utf8_lossy(line);
        match StderrLine::read(&line) {
            StderrLine::Record(record) => self.record(&record, out),
            StderrLine::Said(sentence) => self.said(&sentence, out),
        }
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        if self.gate == Gate::Awaited && self.last_reason.is_some() {
            out.warning("OpenCode did not load the plugin that keeps it in the allowed directories, so no file could be read or changed");
        }
        let tally = out.tally();
        if tally.completed {
            return;
        }
        if tally.failure.is_some() {
            if let Some(cause) = self.cause.as_deref().filter(|_| self.cause_is_logged) {
                out.fail(failure::of_message(cause));
            }
            return;
        }
        if self.session_missing {
            let message = match &self.resumed {
                Some(id) => format!("OpenCode has no session {id}"),
                None => "OpenCode found no session".to_owned(),
            };
            out.fail(
                Failure::new(ErrorKind::SessionNotFound, message)
                    .hint("`agentctl sessions list` shows what can be resumed"),
            );
            return;
        }
        if self.database_taken {
            let begun = tally.session_id.is_some() || self.last_reason.is_some();
            match begun {
                true => out.fail(failure::database_taken()),
                false => out.never_began(failure::database_taken()),
            }
            return;
        }
        let ended = match self.last_reason {
            Some(Reason::ToolCalls) => self.rejected,
            Some(Reason::Stop | Reason::Length) => true,
            _ => false,
        };
        if exit.code == Some(0) && ended {
            out.complete();
        }
    }
}

/// Nobody was there to ask: the turn ends here.
fn is_rejection(error: &str) -> bool {
    error.starts_with("The user rejected permission")
}

/// A rule or our gate forbids it: the model is told, and goes on.
fn is_denial(error: &str) -> bool {
    error.starts_with("The user has specified a rule which prevents") || error.starts_with(tools::DENIED)
}
