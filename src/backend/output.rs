//! What a protocol says: events for the reporters, a tally for the result, commands for the supervisor.

use crate::error::Failure;
use crate::event::{Decision, DeniedTool, Event, StopReason, Usage};
use crate::tool::ToolKind;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Where events go.
pub trait Sink {
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Sink for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// What a protocol wants done to its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Write(Vec<u8>),
    CloseStdin,
    /// The CLI has said all it will say: it should end by itself now, and is ended after a grace if it lingers.
    Finished,
    /// Nothing good will come any more: stop the CLI now. The failure was recorded with `fail`.
    Stop,
}

/// Everything that was learned from a stream, event by event. The result is made from it.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub session_id: Option<String>,
    pub model: Option<String>,
    /// The answer so far: by default the text since the last tool call; `Output::answer` replaces it.
    pub answer: String,
    answer_is_final: bool,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    /// Model responses begun.
    pub turns: u32,
    pub tool_calls: u32,
    pub denied: Vec<DeniedTool>,
    /// A tool was refused and none has succeeded since: the agent was kept from its work.
    pub blocked: bool,
    pub structured: Option<serde_json::Value>,
    /// The stream told that the run came to its proper end.
    pub completed: bool,
    pub failure: Option<Failure>,
    /// The failure came before anything was done, and may be gone when the same command is started again.
    pub never_began: bool,
    pub stop_reason: Option<StopReason>,
    /// Lines that were JSON of a type unknown to us.
    pub unknown_events: u64,
    /// Lines that were no JSON where JSON was due.
    pub garbage_lines: u64,
    /// The first of them, shortened, for the warning.
    pub first_garbage: Option<String>,
    pub retries: u32,
    /// Why the CLI tried again the last time.
    pub retried: Option<Failure>,
    pub warnings: Vec<String>,
    /// What the backend needs to know when this conversation is resumed.
    pub carry: BTreeMap<String, String>,
    tools: Vec<OpenTool>,
}

#[derive(Clone, Debug)]
struct OpenTool {
    id: String,
    name: String,
    kind: ToolKind,
}

/// The most warnings kept for a result; a stream may hold any number.
const WARNINGS_KEPT: usize = 100;

/// The longest text of one event: a huge answer goes out in pieces, so that it is in memory once and not thrice.
const TEXT_PIECE: usize = 256 << 10;

/// What a protocol writes to.
pub struct Output<'a> {
    tally: &'a mut Tally,
    sink: &'a mut dyn Sink,
    commands: &'a mut Vec<Command>,
}

impl<'a> Output<'a> {
    pub fn new(tally: &'a mut Tally, sink: &'a mut dyn Sink, commands: &'a mut Vec<Command>) -> Self {
        Self { tally, sink, commands }
    }

    /// What was learned so far.
    pub fn tally(&self) -> &Tally {
        self.tally
    }

    /// The CLI told its session id (and perhaps its model).
    pub fn session(&mut self, session_id: &str, model: Option<&str>) {
        let news = self.tally.session_id.as_deref() != Some(session_id)
            || (model.is_some() && self.tally.model.as_deref() != model);
        if session_id.is_empty() || !news {
            return;
        }
        self.tally.session_id = Some(session_id.to_owned());
        if let Some(model) = model {
            self.tally.model = Some(model.to_owned());
        }
        self.sink.event(&Event::Session {
            session_id: Cow::Borrowed(session_id),
            session: None,
            model: self.tally.model.as_deref().map(Cow::Borrowed),
        });
    }

    pub fn model(&mut self, model: &str) {
        if self.tally.model.as_deref() != Some(model) {
            self.tally.model = Some(model.to_owned());
        }
    }

    /// A model response begins.
    pub fn turn(&mut self) {
        self.tally.turns = self.tally.turns.saturating_add(1);
    }

    /// The CLI counts turns itself.
    pub fn turns(&mut self, turns: u32) {
        self.tally.turns = turns;
    }

    pub fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.tally.answer_is_final {
            self.tally.answer_is_final = false;
            self.tally.answer.clear();
        }
        self.tally.answer.push_str(text);
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.floor_char_boundary(TEXT_PIECE));
            self.sink.event(&Event::Text {
                text: Cow::Borrowed(piece),
            });
            rest = later;
        }
    }

    /// The text said so far is no longer part of the answer (a tool call follows, or a failed try is repeated).
    pub fn restart_answer(&mut self) {
        self.tally.answer.clear();
        self.tally.answer_is_final = false;
    }

    /// The whole answer, as the CLI told it at its end. It replaces what was gathered from `text`; events are not
    /// repeated.
    pub fn answer(&mut self, text: &str) {
        self.tally.answer.clear();
        self.tally.answer.push_str(text);
        self.tally.answer_is_final = true;
    }

    pub fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.sink.event(&Event::Thinking {
                text: Cow::Borrowed(text),
            });
        }
    }

    pub fn tool_start(&mut self, id: &str, name: &str, kind: ToolKind, input: Option<&RawValue>) {
        self.restart_answer();
        self.tally.tool_calls = self.tally.tool_calls.saturating_add(1);
        self.tally.tools.push(OpenTool {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
        });
        self.sink.event(&Event::ToolStart {
            id: Cow::Borrowed(id),
            name: Cow::Borrowed(name),
            kind,
            input: input.map(Cow::Borrowed),
        });
    }

    /// Whether this call was started and has not ended.
    pub fn tool_is_open(&self, id: &str) -> bool {
        self.tally.tools.iter().any(|tool| tool.id == id)
    }

    /// How many calls were started and have not ended.
    pub fn open_tools(&self) -> usize {
        self.tally.tools.len()
    }

    /// A tool call ended. A denied one is remembered for the result.
    pub fn tool_end(&mut self, id: &str, end: ToolOutcome, output: Option<&str>) {
        let position = self.tally.tools.iter().position(|tool| tool.id == id);
        let (name, kind) = match position {
            Some(position) => {
                let tool = self.tally.tools.remove(position);
                (tool.name, tool.kind)
            }
            None => (String::new(), ToolKind::Other),
        };
        match end {
            ToolOutcome::Denied => self.remember_denied(&name, kind, output),
            ToolOutcome::Succeeded => self.tally.blocked = false,
            ToolOutcome::Failed => {}
        }
        self.sink.event(&Event::ToolEnd {
            id: Cow::Borrowed(id),
            name: Cow::Owned(name),
            kind,
            ok: end == ToolOutcome::Succeeded,
            denied: end == ToolOutcome::Denied,
            output: output.map(Cow::Borrowed),
        });
    }

    /// The CLI is gone: calls that never ended, end here.
    pub fn end_open_tools(&mut self) {
        while let Some(tool) = self.tally.tools.first() {
            let id = tool.id.clone();
            self.tool_end(&id, ToolOutcome::Failed, None);
        }
    }

    /// A refusal that the CLI tells outside of a tool's own events. It is remembered for the result once.
    pub fn denied(&mut self, name: &str, kind: ToolKind, reason: Option<&str>) {
        self.remember_denied(name, kind, reason);
        self.sink.event(&Event::Permission {
            tool: Cow::Borrowed(name),
            kind,
            decision: Decision::Denied,
            reason: reason.map(Cow::Borrowed),
        });
    }

    fn remember_denied(&mut self, name: &str, kind: ToolKind, reason: Option<&str>) {
        self.tally.blocked = true;
        let denied = DeniedTool {
            name: name.to_owned(),
            kind,
            reason: reason.map(shorten),
        };
        if self.tally.denied.len() < WARNINGS_KEPT && !self.tally.denied.contains(&denied) {
            self.tally.denied.push(denied);
        }
    }

    /// Tokens used so far in this run, all in all.
    pub fn usage(&mut self, usage: Usage) {
        self.spent(usage, None);
    }

    /// Tokens used so far in this run, and what they cost. A cost that is not told leaves the one that is known.
    pub fn spent(&mut self, usage: Usage, cost_usd: Option<f64>) {
        let usage = usage.totalled();
        let cost_usd = cost_usd.or(self.tally.cost_usd);
        let known = (self.tally.usage, self.tally.cost_usd.unwrap_or(0.0));
        self.tally.usage = usage;
        self.tally.cost_usd = cost_usd;
        if known != (usage, cost_usd.unwrap_or(0.0)) {
            self.sink.event(&Event::Usage { usage, cost_usd });
        }
    }

    /// Tokens used by one more model call, and what that one cost.
    pub fn add_spent(&mut self, usage: Usage, cost_usd: Option<f64>) {
        let cost_usd = cost_usd.map(|cost| self.tally.cost_usd.unwrap_or(0.0) + cost);
        self.spent(self.tally.usage.plus(usage), cost_usd);
    }

    /// The CLI tries again by itself, because of this failure.
    pub fn retry(&mut self, attempt: u32, max_attempts: Option<u32>, delay_ms: Option<u64>, failure: &Failure) {
        self.tally.retries = self.tally.retries.saturating_add(1);
        self.tally.retried = Some(failure.clone());
        self.sink.event(&Event::Retry {
            attempt,
            max_attempts,
            delay_ms,
            reason: Cow::Borrowed(&failure.message),
        });
    }

    pub fn warning(&mut self, message: &str) {
        if self.tally.warnings.len() < WARNINGS_KEPT {
            self.tally.warnings.push(message.to_owned());
        }
        self.sink.event(&Event::Warning {
            message: Cow::Borrowed(message),
        });
    }

    pub fn structured(&mut self, value: serde_json::Value) {
        self.tally.structured = Some(value);
    }

    pub fn stop_reason(&mut self, reason: StopReason) {
        self.tally.stop_reason = Some(reason);
    }

    /// A line of JSON whose type we don't know: a newer CLI.
    pub fn unknown(&mut self) {
        self.tally.unknown_events += 1;
    }

    /// A line that is no JSON where JSON was due.
    pub fn garbage(&mut self, line: &[u8]) {
        self.tally.garbage_lines += 1;
        if self.tally.first_garbage.is_none() {
            self.tally.first_garbage = Some(shorten(&String::from_utf8_lossy(&line[..line.len().min(400)])));
        }
    }

    /// Something to remember for the next run of this conversation.
    pub fn carry(&mut self, key: &str, value: impl Into<String>) {
        self.tally.carry.insert(key.to_owned(), value.into());
    }

    /// The run came to its proper end, as far as the stream tells. A failure recorded earlier is taken back: the CLI
    /// got over it.
    pub fn complete(&mut self) {
        self.tally.completed = true;
        self.tally.failure = None;
    }

    /// The run failed. A later `complete` takes it back; a later `fail` replaces it.
    pub fn fail(&mut self, failure: Failure) {
        self.tally.completed = false;
        self.tally.failure = Some(failure);
    }

    /// The CLI gave up before it did anything, because of something that passes: the same command can be started again.
    pub fn never_began(&mut self, failure: Failure) {
        self.fail(failure);
        self.tally.never_began = true;
    }

    /// Bytes for the CLI's standard input.
    pub fn write_stdin(&mut self, bytes: Vec<u8>) {
        self.commands.push(Command::Write(bytes));
    }

    pub fn close_stdin(&mut self) {
        self.commands.push(Command::CloseStdin);
    }

    /// The CLI has said all it will say.
    pub fn finished(&mut self) {
        self.commands.push(Command::Finished);
    }

    /// The run failed and going on is pointless: stop the CLI now.
    pub fn abort(&mut self, failure: Failure) {
        self.fail(failure);
        self.commands.push(Command::Stop);
    }
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Succeeded,
    Failed,
    Denied,
}

/// At most 200 characters of a text that goes into a message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_text_goes_out_in_pieces_that_are_all_of_it() {
        // A character that lies across every border.
        let text = format!("a{}", "ö".repeat(3 * TEXT_PIECE / 2));
        let mut pieces: Vec<String> = Vec::new();
        let mut sink = |event: &Event<'_>| {
            if let Event::Text { text } = event {
                pieces.push(text.clone().into_owned());
            }
        };
        let (mut tally, mut commands) = (Tally::default(), Vec::new());
        Output::new(&mut tally, &mut sink, &mut commands).text(&text);
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= TEXT_PIECE));
        assert!(pieces.concat() == text && tally.answer == text);
    }
}
