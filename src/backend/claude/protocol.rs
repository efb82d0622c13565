//! Reads what Claude Code writes: `stream-json` line by line, and the single object or array of its `json` mode.
//!
//! The CLI tells text twice (deltas, then the whole block) and its end once per turn; this is where that becomes one
//! stream of events. What a failure is called is decided in `failure`.

use super::failure;
use super::head;
use super::message::Messages;
use super::newer::{Instructions, Release};
use super::spending::Spending;
use super::wire::{ApiRetry, Header, Init, ModelFallback, PermissionDenied, RateLimitLine, ResultLine, Task};
use crate::backend::head::Head;
use crate::backend::wire::{Reader, Unreadable};
use crate::backend::{Output, Protocol, Tally};
use crate::error::{ErrorKind, Failure};
use crate::event::StopReason;
use crate::request::{Permission, Request};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// Whether the run ends with the first result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundTasks {
    Off,
    /// A result is the last one only when no task is still running beside the conversation.
    Awaited,
}

/// The state of one run.
pub struct ClaudeProtocol {
    reader: Reader,
    messages: Messages,
    /// More than this must not be reported as the CLI's own mode.
    bypass: Bypass,
    background: BackgroundTasks,
    running_tasks: BTreeSet<String>,
    /// The login is an account, whose token the CLI may renew after a refusal.
    account_login: bool,
    limit_resets_at: Option<i64>,
    spending: Spending,
    instructions: Instructions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bypass {
    Asked,
    NotAsked,
}

impl ClaudeProtocol {
    pub fn new(request: &Request, background: BackgroundTasks) -> Self {
        let full = request.permission == Permission::Full && request.allow_tools.is_empty();
        Self {
            reader: Reader::default(),
            messages: Messages::default(),
            bypass: if full { Bypass::Asked } else { Bypass::NotAsked },
            background,
            running_tasks: BTreeSet::new(),
            account_login: false,
            limit_resets_at: None,
            spending: Spending::new(request),
            instructions: Instructions::new(request),
        }
    }

    /// One event, wherever it stood: on a line of its own or in an array.
    fn event(&mut self, reader: &mut Reader, event: &[u8], out: &mut Output<'_>) {
        if let Some(told) = head::scan(event)
            && self.messages.told(told, reader, out).is_ok()
        {
            return;
        }
        // Nearly every line begins with its type. One that cannot be read as that type is looked at more closely.
        if let Some(kind) = Kind::at_the_beginning(event)
            && (kind == Kind::Silent || self.body(kind, reader, event, out).is_ok())
        {
            return;
        }
        let kind = match reader.read::<Header<'_>>(event) {
            Ok(header) => Kind::of(&header.kind, &header.subtype),
            Err(_) => return out.garbage(event),
        };
        if kind != Kind::Silent && self.body(kind, reader, event, out).is_err() {
            out.unknown();
        }
    }

    /// Reads an event as what it is. Nothing has happened if it cannot be read.
    fn body(&mut self, kind: Kind, reader: &mut Reader, event: &[u8], out: &mut Output<'_>) -> Result<(), Unreadable> {
        match kind {
            Kind::Stream => reader.read(event).map(|line| self.messages.stream(&line, out)),
            Kind::Assistant => reader.read(event).map(|line| self.messages.assistant(&line, out)),
            Kind::User => reader.read(event).map(|line| self.messages.user(&line, out)),
            Kind::Result => reader.read(event).map(|line| self.result(&line, out)),
            Kind::Init => reader.read(event).map(|line| self.init(line, out)),
            Kind::ApiRetry => reader.read(event).map(|line| self.api_retry(&line, out)),
            Kind::ModelFallback => reader.read(event).map(|line| model_fallback(&line, out)),
            Kind::PermissionDenied => reader
                .read(event)
                .map(|line: PermissionDenied<'_>| self.messages.denied(&line.tool_use_id)),
            Kind::TaskStarted => reader.read(event).map(|line| self.task_started(&line)),
            Kind::TaskEnded => reader.read(event).map(|line| self.task_ended(&line)),
            Kind::RateLimit => reader.read(event).map(|line| self.rate_limit(&line, out)),
            // The type alone does not tell whether the rest is sound.
            Kind::Silent | Kind::Unknown => Err(Unreadable),
        }
    }

    fn init(&mut self, init: Init<'_>, out: &mut Output<'_>) {
        let model = Some(&*init.model).filter(|model| !model.is_empty());
        out.session(&init.session_id, model);
        if let Some(model) = model {
            out.carry(super::CARRIED_MODEL, model);
        }
        let release = Release::of(&init.claude_code_version);
        self.spending.told_by(release);
        self.instructions.told_by(release, out);
        self.account_login = &*init.api_key_source == "none";
        for server in init.mcp_servers.iter().filter(|server| server.status == "failed") {
            out.warning(&format!("MCP server {} did not start", server.name));
        }
        self.messages.offered(init.tools);
        if self.bypass == Bypass::NotAsked && matches!(&*init.permission_mode, "bypassPermissions" | "auto") {
            out.abort(
                Failure::new(
                    ErrorKind::PermissionDenied,
                    format!(
                        "Claude started in mode {}, with more rights than were asked for",
                        &*init.permission_mode
                    ),
                )
                .hint("a managed setting may force it; nothing was run"),
            );
        }
    }

    fn api_retry(&mut self, retry: &ApiRetry<'_>, out: &mut Output<'_>) {
        let reason = match (retry.error_status, &*retry.error) {
            (Some(status), "") => format!("HTTP {status}"),
            (Some(status), error) => format!("HTTP {status} ({error})"),
            (None, "" | "unknown") => "the API cannot be reached".to_owned(),
            (None, error) => error.to_owned(),
        };
        let failure = failure::of_retry(retry.error_status, &retry.error, &reason);
        let delay = retry.retry_delay_ms.filter(|delay| delay.is_finite() && *delay >= 0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "finite and not negative; saturates"
        )]
        out.retry(
            retry.attempt,
            retry.max_retries,
            delay.map(|delay| delay as u64),
            &Failure {
                message: reason,
                ..failure.clone()
            },
        );
        // An account's token may just have expired: the CLI renews it and tries once more.
        let renewing = self.account_login && retry.attempt <= 1;
        if failure.kind == ErrorKind::Auth && !renewing && out.tally().failure.is_none() {
            out.abort(failure);
        }
    }

    fn task_started(&mut self, task: &Task<'_>) {
        if self.background == BackgroundTasks::Awaited {
            self.running_tasks.insert(task.task_id.to_string());
        }
    }

    fn task_ended(&mut self, task: &Task<'_>) {
        self.running_tasks.remove(&*task.task_id);
    }

    fn rate_limit(&mut self, line: &RateLimitLine<'_>, out: &mut Output<'_>) {
        let info = &line.rate_limit_info;
        match &*info.status {
            "rejected" => self.limit_resets_at = info.resets_at,
            "allowed_warning" => {
                let which = match &*info.rate_limit_type {
                    "" => String::new(),
                    kind => format!(" ({kind})"),
                };
                out.warning(&format!("close to the account's rate limit{which}"));
            }
            _ => {}
        }
    }

    fn result(&mut self, result: &ResultLine<'_>, out: &mut Output<'_>) {
        let failure = failure::of_result(result, self.messages.error(), self.limit_resets_at);
        // A conversation that is not there is reported under the id that was asked for.
        if !failure
            .as_ref()
            .is_some_and(|failure| failure.kind == ErrorKind::SessionNotFound)
        {
            out.session(&result.session_id, None);
        }
        self.spending.tell(result, out);
        if out.tally().turns == 0 && !result.is_error {
            out.turns(result.num_turns);
        }
        self.messages.denials(&result.permission_denials, out);
        match failure {
            // We stopped it ourselves: the outcome was known before.
            Some(failure) if failure.kind == ErrorKind::Interrupted && is_settled(out.tally()) => {}
            Some(failure) => {
                if &*result.subtype == "error_max_budget_usd" {
                    out.stop_reason(StopReason::BudgetLimit);
                }
                out.fail(failure);
            }
            None => complete(result, out),
        }
        self.messages.end_turn();
        if self.running_tasks.is_empty() {
            out.close_stdin();
            out.finished();
        }
    }
}

impl Protocol for ClaudeProtocol {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        let mut reader = std::mem::take(&mut self.reader);
        match line.first() {
            None => {}
            Some(b'{') => self.event(&mut reader, line, out),
            Some(b'[') => {
                let mut array_reader = Reader::default();
                match array_reader.read::<Vec<&RawValue>>(line) {
                    Ok(events) => {
                        for event in events {
                            self.event(&mut reader, event.get().as_bytes(), out);
                        }
                    }
                    Err(_) => out.garbage(line),
                }
            }
            Some(_) => out.garbage(line),
        }
        self.reader = reader;
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        if is_settled(out.tally()) {
            return;
        }
        if let Some(failure) = failure::of_stderr(&String::from_utf8_lossy(line)) {
            out.fail(failure);
        }
    }
}

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
    Assistant,
    User,
    Result,
    Init,
    ApiRetry,
    ModelFallback,
    PermissionDenied,
    TaskStarted,
    TaskEnded,
    RateLimit,
    /// Known, and of no news to a user.
    Silent,
    Unknown,
}

impl Kind {
    /// The kind of a line that begins with its type, as all of them do.
    fn at_the_beginning(line: &[u8]) -> Option<Self> {
        let (kind, rest) = Head::of(line)?.then(r#"{"type":"#)?.name()?;
        match kind {
            "system" => Some(Self::of_system(rest.then(r#","subtype":"#)?.name()?.0)),
            _ => Some(Self::of(kind, "")),
        }
    }

    fn of(kind: &str, subtype: &str) -> Self {
        match kind {
            "stream_event" => Self::Stream,
            "assistant" => Self::Assistant,
            "user" => Self::User,
            "result" => Self::Result,
            "rate_limit_event" => Self::RateLimit,
            "system" => Self::of_system(subtype),
            "control_request"
            | "control_response"
            | "control_cancel_request"
            | "keep_alive"
            | "tool_progress"
            | "tool_use_summary"
            | "auth_status"
            | "prompt_suggestion" => Self::Silent,
            _ => Self::Unknown,
        }
    }

    fn of_system(subtype: &str) -> Self {
        match subtype {
            "init" => Self::Init,
            "api_retry" => Self::ApiRetry,
            "model_fallback" => Self::ModelFallback,
            "permission_denied" => Self::PermissionDenied,
            "task_started" => Self::TaskStarted,
            "task_notification" => Self::TaskEnded,
            "status"
            | "thinking_tokens"
            | "task_updated"
            | "task_progress"
            | "hook_started"
            | "hook_progress"
            | "hook_response"
            | "compact_boundary"
            | "microcompact_boundary"
            | "session_state_changed"
            | "files_persisted"
            | "ui_invalidate"
            | "local_command_output" => Self::Silent,
            _ => Self::Unknown,
        }
    }
}

fn is_settled(tally: &Tally) -> bool {
    tally.completed || tally.failure.is_some()
}

fn model_fallback(fallback: &ModelFallback<'_>, out: &mut Output<'_>) {
    if !fallback.fallback_model.is_empty() {
        out.model(&fallback.fallback_model);
    }
    if fallback.content.is_empty() {
        out.warning(&format!(
            "fell back from {} to {}",
            &*fallback.original_model, &*fallback.fallback_model
        ));
    } else {
        out.warning(&fallback.content);
    }
}

fn complete(result: &ResultLine<'_>, out: &mut Output<'_>) {
    if !result.result.is_empty() {
        out.answer(&result.result);
    }
    if let Some(value) = result.structured_output
        && let Ok(value) = serde_json::from_str(value.get())
    {
        out.structured(value);
    }
    if &*result.stop_reason == "max_tokens" {
        out.stop_reason(StopReason::Length);
    }
    out.complete();
}
