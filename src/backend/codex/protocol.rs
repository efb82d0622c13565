//! Reads `codex exec --json`: NDJSON on stdout, refusals, telemetry and startup errors on stderr.
//!
//! There are no deltas: a message comes whole. A run is one turn of Codex and may be many model calls; each of them is
//! a turn for us (see `turns`).

mod stderr;

use super::head::{self, Told};
use super::tools::{self, Mcp};
use super::turns::Turns;
use super::wire::{Block, Header, Item, Line, TokenUsage};
use super::{failure, item};
use crate::backend::wire::Reader;
use crate::backend::{ExitStatus, Output, Protocol};
use crate::error::{ErrorKind, Failure};
use crate::event::Usage;
use crate::outcome;
use crate::request::{Conversation, Permission, Request, System};
use crate::tool::ToolKind;
use std::collections::VecDeque;

/// The keys of what is remembered for a resume.
pub const CARRIED_USAGE: &str = "usage";
pub const CARRIED_SYSTEM: &str = "system";

/// Settings without which a run would have more rights than asked for.
const SAFETY_SETTINGS: &[&str] = &["`projects", "`sandbox_workspace_write", "`web_search"];

/// The most lines of stderr kept for the message about a CLI that died.
const STDERR_LINES: usize = 20;

pub struct Codex {
    reader: Reader,
    state: State,
}

#[derive(Default)]
struct State {
    /// The level whose sandbox should hold the run.
    level: Permission,
    /// Servers that were given for this run; `None` if there must be none at all.
    mcp_servers: Option<usize>,
    max_retries: Option<u32>,
    wants_json: bool,
    system: Option<String>,
    /// What the thread had used before this run; `None` if nobody knows.
    used_before: Option<Usage>,
    /// The thread's own conversation in the telemetry; others are its subagents.
    conversation: Option<String>,
    logged: Usage,
    logged_by_subagents: Usage,
    turns: Turns,
    spoke: bool,
    last_message: String,
    /// The last error that Codex did not get over yet.
    trouble: Option<String>,
    startup: Option<Failure>,
    sandbox_warned: bool,
    stderr: VecDeque<String>,
    settled: bool,
}

impl Codex {
    pub fn new(request: &Request) -> Self {
        let used_before = match &request.conversation {
            Conversation::Fresh { .. } => Some(Usage::default()),
            Conversation::Resume(thread) | Conversation::Fork { of: thread, .. } => thread
                .carried
                .get(CARRIED_USAGE)
                .and_then(|usage| serde_json::from_str(usage).ok()),
        };
        let (level, mcp) = match tools::offer(request) {
            Ok(offer) => (offer.level, offer.mcp),
            Err(_) => (request.permission, Mcp::Offered),
        };
        Self {
            reader: Reader::default(),
            state: State {
                level,
                mcp_servers: (mcp == Mcp::Offered).then_some(request.mcp_servers.len()),
                max_retries: request.patience.max_retries,
                wants_json: request.schema.is_some(),
                system: system_prompt(request),
                used_before,
                ..State::default()
            },
        }
    }
}

impl Protocol for Codex {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Self { reader, state } = self;
        let mut item = Item::default();
        match head::scan(line, &mut item) {
            Some(Told::Started) => return state.started(Some(&item), out),
            Some(Told::Completed) => return state.completed(Some(&item), out),
            None => {}
        }
        if let Ok(line) = reader.read::<Line<'_>>(line) {
            return state.line(&line, out);
        }
        match reader.read::<Header<'_>>(line) {
            Ok(_) => out.unknown(),
            Err(_) => out.garbage(line),
        }
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        let line = String::from_utf8_lossy(line);
        self.state.log(line.trim_end(), out);
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        self.state.finish(exit, out);
    }
}

impl State {
    fn line(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        match &*line.kind {
            "thread.started" => {
                out.session(&line.thread_id, None);
                if let Some(system) = &self.system {
                    out.carry(CARRIED_SYSTEM, system.clone());
                }
            }
            "turn.started" => self.turns.started(out),
            "item.started" => self.started(line.item.as_deref(), out),
            "item.updated" => {}
            "item.completed" => self.completed(line.item.as_deref(), out),
            "error" => self.error(&line.message, out),
            "turn.completed" => self.turn_completed(line.usage, out),
            "turn.failed" => {
                let message = line.error.as_ref().map_or("", |error| &*error.message);
                self.settled = true;
                out.fail(failure::of_turn(message));
                out.finished();
            }
            "message" => self.older_message(line, out),
            _ => out.unknown(),
        }
    }

    fn started(&mut self, item: Option<&Item<'_>>, out: &mut Output<'_>) {
        let Some(item) = item else { return out.unknown() };
        self.progress(out);
        match item::tool(item) {
            Some(tool) => out.tool_start(&item.id, &tool.name, tool.kind, item::input(item).as_deref()),
            None => out.unknown(),
        }
    }

    fn completed(&mut self, item: Option<&Item<'_>>, out: &mut Output<'_>) {
        let Some(item) = item else { return out.unknown() };
        match &*item.kind {
            "error" => return self.warned(&item.message, out),
            "agent_message" => {
                self.progress(out);
                return self.said(&item.text, out);
            }
            "reasoning" => {
                self.progress(out);
                return out.thinking(&item.text);
            }
            _ => {}
        }
        let Some(tool) = item::tool(item) else {
            return out.unknown();
        };
        if !out.tool_is_open(&item.id) {
            self.progress(out);
            out.tool_start(&item.id, &tool.name, tool.kind, item::input(item).as_deref());
        }
        let ended = item::end(item, self.level);
        if ended.sandbox_unavailable && !self.sandbox_warned {
            self.sandbox_warned = true;
            out.warning(&format!(
                "Codex' sandbox does not work here, so none of its commands can run ({}): allow user namespaces, \
                 or use `--permission full` inside a container of your own",
                item.aggregated_output.trim()
            ));
        }
        out.tool_end(&item.id, ended.outcome, ended.output.as_deref());
        // The model's own web search goes on within one response.
        if tool.kind != ToolKind::Fetch {
            self.turns.item_completed(out.open_tools());
        }
    }

    /// A warning; but one about a setting of ours that holds the agent back, and that this Codex does not know, ends the
    /// run.
    fn warned(&mut self, message: &str, out: &mut Output<'_>) {
        let ignored = message
            .split_once("session-flags:")
            .filter(|_| message.contains("is ignoring"))
            .map_or("", |(_, settings)| settings);
        if SAFETY_SETTINGS.iter().any(|setting| ignored.contains(setting)) {
            return self.forbid(
                &format!("this version of Codex cannot be held to what was asked: {message}"),
                "`agentctl doctor codex` tells which versions are supported",
                out,
            );
        }
        out.warning(message);
    }

    /// Something came from the model: it got over its trouble, and if the tools were done this is its next response.
    fn progress(&mut self, out: &mut Output<'_>) {
        self.trouble = None;
        self.turns.item_begun(out);
    }

    /// The last message of a run is its answer; those before it are commentary.
    fn said(&mut self, text: &str, out: &mut Output<'_>) {
        if self.spoke {
            out.text("\n\n");
        }
        out.restart_answer();
        out.text(text);
        self.spoke = self.spoke || !text.is_empty();
        if self.wants_json {
            self.last_message.clear();
            self.last_message.push_str(text);
        }
    }

    fn error(&mut self, message: &str, out: &mut Output<'_>) {
        let Some(reconnecting) = message.strip_prefix("Reconnecting... ") else {
            self.trouble = Some(message.to_owned());
            return;
        };
        let (count, reason) = reconnecting.split_once(" (").unwrap_or((reconnecting, ""));
        let reason = reason.strip_suffix(')').unwrap_or(reason);
        let (attempt, most) = count.split_once('/').unwrap_or((count, ""));
        let attempt = attempt.parse().unwrap_or(out.tally().retries.saturating_add(1));
        let reason = if reason.is_empty() { reconnecting } else { reason };
        let failure = failure::of_turn(reason);
        let told = Failure {
            message: reason.to_owned(),
            ..failure.clone()
        };
        out.retry(attempt, most.parse().ok(), None, &told);
        // Trying again with the same key is pointless, and Codex would do it for several seconds.
        let enough = self.max_retries.is_some_and(|most| out.tally().retries > most);
        if enough || failure.kind == ErrorKind::Auth {
            self.settled = true;
            return out.abort(failure);
        }
        self.trouble = Some(reason.to_owned());
    }

    fn turn_completed(&mut self, usage: Option<TokenUsage>, out: &mut Output<'_>) {
        if let Some(total) = usage.map(Usage::from) {
            carry_usage(total, out);
            match self.used_before {
                // The log counted this run alone, and knows of subagents too.
                _ if self.logged != Usage::default() => {}
                Some(before) => out.usage(total.minus(before)),
                None => {
                    out.usage(total);
                    out.warning("the token counts are those of the whole conversation: Codex tells no others");
                }
            }
        }
        if let Some(trouble) = self.trouble.take() {
            out.warning(&trouble);
        }
        if self.wants_json
            && let Ok(value) = serde_json::from_str(&self.last_message)
        {
            out.structured(value);
        }
        self.settled = true;
        out.complete();
        out.finished();
    }

    /// `{"type":"message","role":"assistant","content":…,"session_id":…}`: the whole answer of an older CLI.
    fn older_message(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        out.session(&line.session_id, None);
        if &*line.role != "assistant" {
            return;
        }
        self.turns.started(out);
        let content = line.content.map_or("", |content| content.get());
        let mut reader = Reader::default();
        if let Ok(text) = reader.text(content.as_bytes())
            && !text.is_empty()
        {
            self.said(&text, out);
        } else if let Ok(blocks) = Reader::default().read::<Vec<Block<'_>>>(content.as_bytes()) {
            let text: String = blocks.iter().map(|block| &*block.text).collect();
            self.said(&text, out);
        }
        out.complete();
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        // Codex ends without waiting for a command that runs longer than it cares to.
        out.end_open_tools();
        if self.settled || out.tally().completed {
            return;
        }
        if let Some(failure) = self.startup.take() {
            return out.fail(failure);
        }
        if let Some(trouble) = self.trouble.take() {
            return out.fail(failure::of_turn(&trouble));
        }
        // The telemetry is no message for people: what is left of stderr is.
        let said = Vec::from_iter(self.stderr.drain(..)).join("\n");
        out.fail(outcome::died(super::DISPLAY_NAME, exit, &said));
    }
}

/// The system prompt that the thread has after this run: the one given, else the one it had.
fn system_prompt(request: &Request) -> Option<String> {
    let kept = || {
        request
            .conversation
            .continuation()?
            .carried
            .get(CARRIED_SYSTEM)
            .cloned()
    };
    request.system.as_ref().map(System::fingerprint).or_else(kept)
}

fn carry_usage(total: Usage, out: &mut Output<'_>) {
    if let Ok(total) = serde_json::to_string(&total) {
        out.carry(CARRIED_USAGE, total);
    }
}
