//! What a run came to: from everything the stream told and how the process ended, one `EventResult` and one exit code.
//!
//! Pure. The exit code of a CLI proves nothing by itself: Gemini exits 0 after a cut stream, Codex after an ignored
//! denial, Pi after a 401. What the stream said decides, and silence is a failure.

use crate::backend::{ExitStatus, Tally};
use crate::error::{ErrorKind, Failure};
use crate::event::{EventResult, Resumed, SCHEMA_VERSION, StopReason};
use crate::exit::Exit;
use crate::request::{Conversation, Persistence};

/// Who ended the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The CLI exited, or had told its end and was helped along.
    ByItself,
    /// Its protocol saw that going on is pointless and recorded why.
    ByProtocol,
    Timeout,
    IdleTimeout,
    TurnLimit,
    /// Retrying without progress for longer than the user allowed.
    RetryLimit,
    Signal(i32),
    /// Nobody reads the output any more.
    OutputClosed,
    /// The output cannot be written (a full disk), told as it is told to people.
    OutputFailed(String),
}

/// Everything that decides a result.
#[derive(Debug)]
pub struct Facts<'a> {
    pub backend: &'a str,
    pub display_name: &'a str,
    pub conversation: &'a Conversation,
    pub persistence: Persistence,
    pub tally: Tally,
    pub ended: Ended,
    pub exit: ExitStatus,
    /// The end of what the CLI wrote to stderr.
    pub stderr_tail: &'a str,
    pub max_turns: Option<u32>,
    pub duration_ms: u64,
}

/// The most characters of stderr in a message.
const STDERR_SHOWN: usize = 500;

const SIGINT: i32 = 2;

/// The result and the exit code.
pub fn settle(facts: Facts<'_>) -> (EventResult, Exit) {
    let failure = failure(&facts);
    let stop_reason = stop_reason(&facts, failure.as_ref());
    let exit = exit(&facts.ended, failure.as_ref(), stop_reason);
    let resumed = resumed(facts.conversation, facts.tally.session_id.as_deref());
    let tally = facts.tally;
    let response_text = response_text(tally.answer, failure.as_ref());
    let mut warnings = tally.warnings;
    warnings.extend(count_warning(
        tally.unknown_events,
        "event{} of a type unknown to agentctl",
        None,
    ));
    warnings.extend(count_warning(
        tally.garbage_lines,
        "line{} of no JSON",
        tally.first_garbage,
    ));
    let result = EventResult {
        schema: SCHEMA_VERSION,
        response_text,
        session_id: tally.session_id.unwrap_or_default(),
        is_error: failure.is_some(),
        backend: facts.backend.to_owned(),
        session: None,
        name: None,
        resumed,
        model: tally.model,
        stop_reason,
        error: failure,
        structured: tally.structured,
        marker_detected: None,
        media: Vec::new(),
        denied_tools: tally.denied,
        // What began while the CLI was being stopped does not count.
        turns: match &facts.ended {
            Ended::TurnLimit => tally.turns.min(facts.max_turns.unwrap_or(u32::MAX)),
            _ => tally.turns,
        },
        tool_calls: tally.tool_calls,
        usage: tally.usage,
        cost_usd: tally.cost_usd,
        duration_ms: facts.duration_ms,
        exit_code: facts.exit.code,
        signal: facts.exit.signal,
        warnings,
    };
    (result, exit)
}

/// A result for a run that never started.
pub fn refused(backend: &str, failure: Failure) -> (EventResult, Exit) {
    let exit = failure.kind.exit();
    let result = EventResult {
        schema: SCHEMA_VERSION,
        response_text: failure.message.clone(),
        session_id: String::new(),
        is_error: true,
        backend: backend.to_owned(),
        session: None,
        name: None,
        resumed: Resumed::Fresh,
        model: None,
        stop_reason: StopReason::Error,
        error: Some(failure),
        structured: None,
        marker_detected: None,
        media: Vec::new(),
        denied_tools: Vec::new(),
        turns: 0,
        tool_calls: 0,
        usage: crate::event::Usage::default(),
        cost_usd: None,
        duration_ms: 0,
        exit_code: None,
        signal: None,
        warnings: Vec::new(),
    };
    (result, exit)
}

/// The conversation as the CLI reported it, not as it was asked for.
pub fn resumed(conversation: &Conversation, reported: Option<&str>) -> Resumed {
    match (conversation, reported) {
        (Conversation::Resume(asked), Some(id)) if id.eq_ignore_ascii_case(&asked.native_id) => Resumed::Resumed,
        (Conversation::Fork { of, .. }, Some(id)) if !id.eq_ignore_ascii_case(&of.native_id) => Resumed::Forked,
        _ => Resumed::Fresh,
    }
}

/// The failure of a conversation that was asked for and is not there.
pub fn session_not_found(display_name: &str, native_id: &str) -> Failure {
    Failure::new(
        ErrorKind::SessionNotFound,
        format!("{display_name} has no session {native_id}, or not in this directory"),
    )
    .hint("see `agentctl sessions list`; `--or-new` starts a new conversation instead")
}

fn failure(facts: &Facts<'_>) -> Option<Failure> {
    let failure = judged(facts)?;
    Some(match (failure.kind, &failure.hint) {
        (ErrorKind::TurnLimit, Some(hint)) => {
            let hint = resumable(facts, hint);
            failure.hint(hint)
        }
        _ => failure,
    })
}

fn judged(facts: &Facts<'_>) -> Option<Failure> {
    let tally = &facts.tally;
    if !tally.completed {
        return Some(unfinished(facts));
    }
    if let Some(failure) = &tally.failure {
        return Some(failure.clone());
    }
    if let Conversation::Resume(asked) = facts.conversation
        && resumed(facts.conversation, tally.session_id.as_deref()) == Resumed::Fresh
        && tally.session_id.is_some()
    {
        return Some(session_not_found(facts.display_name, &asked.native_id));
    }
    if tally.blocked {
        let names = tally.denied.iter().map(|tool| tool.name.as_str());
        let names = names.collect::<std::collections::BTreeSet<_>>();
        let were = if names.len() == 1 { "was" } else { "were" };
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Some(
            Failure::new(
                ErrorKind::PermissionDenied,
                format!("blocked by permissions: {names} {were} refused"),
            )
            .hint("a higher `--permission` level, a longer list of `--allow-tool` or a shorter one of `--deny-tool` lets it do more"),
        );
    }
    if tally.answer.trim().is_empty() && tally.structured.is_none() {
        let message = format!("{} ended without an answer", facts.display_name);
        return Some(Failure::new(ErrorKind::Agent, message));
    }
    None
}

/// Why a run without a proper end has none.
fn unfinished(facts: &Facts<'_>) -> Failure {
    match &facts.ended {
        Ended::Timeout => Failure::new(ErrorKind::Timeout, "Query timed out")
            .hint(resumable(facts, "a longer `--timeout` gives it more time")),
        Ended::IdleTimeout => Failure::new(ErrorKind::IdleTimeout, "Query timed out")
            .hint(resumable(facts, "nothing was written for the whole `--idle-timeout`")),
        Ended::TurnLimit => turn_limit(facts),
        Ended::Signal(signal) => {
            let failure = Failure::new(
                ErrorKind::Interrupted,
                format!("interrupted by {}", signal_name(*signal)),
            );
            match facts.tally.session_id {
                Some(_) => failure.hint("the conversation can be resumed"),
                None => failure,
            }
        }
        Ended::OutputClosed => Failure::new(ErrorKind::Interrupted, "the reader of the output went away"),
        Ended::OutputFailed(message) => Failure::new(ErrorKind::Crashed, message.clone()),
        Ended::RetryLimit => gave_up(facts),
        Ended::ByItself | Ended::ByProtocol => match &facts.tally.failure {
            Some(failure) => failure.clone(),
            None => died(facts.display_name, facts.exit, facts.stderr_tail),
        },
    }
}

/// As people know it. The numbers of these are the same everywhere.
fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        SIGINT => "SIGINT".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

/// The CLI would have tried again. What it then says of its end is only that it was stopped.
fn gave_up(facts: &Facts<'_>) -> Failure {
    let kept = format!("{} kept retrying without progress", facts.display_name);
    let failure = match &facts.tally.retried {
        Some(failure) => Failure {
            message: format!("{kept}: {}", failure.message),
            ..failure.clone()
        },
        None => Failure::new(ErrorKind::Network, kept),
    };
    match (failure.kind, &failure.hint) {
        // No patience helps who is not let in.
        (ErrorKind::Auth, Some(_)) => failure,
        _ => failure.hint("`--retry-for` and `--max-retries` set the patience"),
    }
}

/// Only a conversation that is kept, and whose id is known, can go on.
fn resumable(facts: &Facts<'_>, hint: &str) -> String {
    match (facts.persistence, &facts.tally.session_id) {
        (Persistence::Keep, Some(_)) => format!("{hint}; the conversation can be resumed"),
        _ => hint.to_owned(),
    }
}

/// The turn limit of a CLI that has none of its own.
fn turn_limit(facts: &Facts<'_>) -> Failure {
    let message = match facts.max_turns {
        Some(limit) => format!("stopped after {limit} turns"),
        None => "stopped at the turn limit".to_owned(),
    };
    Failure::new(ErrorKind::TurnLimit, message).hint("`--max-turns` sets the limit")
}

/// A process that failed without saying more.
pub fn died(display_name: &str, exit: ExitStatus, stderr: &str) -> Failure {
    // Some CLIs colour their errors even when nobody sees it.
    let stderr = anstream::adapter::strip_str(stderr).to_string();
    let stderr = stderr.trim();
    let said = match stderr.char_indices().nth(STDERR_SHOWN) {
        Some((end, _)) => &stderr[..end],
        None if stderr.is_empty() => "unknown error",
        None => stderr,
    };
    match (exit.code, exit.signal) {
        (Some(0), _) => Failure::new(
            ErrorKind::Protocol,
            format!("{display_name} CLI error (exit 0): {said}"),
        )
        .hint("it exited without telling a result; `agentctl doctor` checks its version"),
        (Some(code), _) => Failure::new(
            ErrorKind::Crashed,
            format!("{display_name} CLI error (exit {code}): {said}"),
        ),
        (None, Some(signal)) => Failure::new(
            ErrorKind::Crashed,
            format!("{display_name} CLI error (exit {}): {said}", 128 + signal),
        )
        .hint(format!("the CLI was ended by {}", signal_name(signal))),
        (None, None) => Failure::new(
            ErrorKind::Crashed,
            format!("{display_name} CLI error (exit unknown): {said}"),
        ),
    }
}

fn stop_reason(facts: &Facts<'_>, failure: Option<&Failure>) -> StopReason {
    match failure.map(|failure| failure.kind) {
        None => facts.tally.stop_reason.unwrap_or(StopReason::Completed),
        Some(ErrorKind::TurnLimit) => match facts.tally.stop_reason {
            Some(StopReason::BudgetLimit) => StopReason::BudgetLimit,
            _ => StopReason::TurnLimit,
        },
        Some(ErrorKind::PermissionDenied) => StopReason::PermissionDenied,
        Some(ErrorKind::Timeout | ErrorKind::IdleTimeout) => StopReason::Timeout,
        Some(ErrorKind::Interrupted) => StopReason::Interrupted,
        Some(_) => StopReason::Error,
    }
}

fn exit(ended: &Ended, failure: Option<&Failure>, stop_reason: StopReason) -> Exit {
    match failure {
        None => Exit::Success,
        Some(_) if stop_reason == StopReason::BudgetLimit => Exit::Limit,
        Some(failure) if failure.kind == ErrorKind::Interrupted => match ended {
            Ended::Signal(SIGINT) => Exit::Interrupted,
            Ended::Signal(_) => Exit::Terminated,
            _ => Exit::Interrupted,
        },
        Some(failure) => failure.kind.exit(),
    }
}

/// The answer; where there is none, what went wrong. A timeout and a silent death always say so.
fn response_text(answer: String, failure: Option<&Failure>) -> String {
    match failure {
        None => answer,
        Some(failure)
            if matches!(
                failure.kind,
                ErrorKind::Timeout | ErrorKind::IdleTimeout | ErrorKind::Crashed
            ) =>
        {
            failure.message.clone()
        }
        Some(failure) if answer.trim().is_empty() => failure.message.clone(),
        Some(_) => answer,
    }
}

/// `what` has `{}` where a plural s goes.
fn count_warning(count: u64, what: &str, example: Option<String>) -> Option<String> {
    let what = what.replace("{}", if count == 1 { "" } else { "s" });
    match (count, example) {
        (0, _) => None,
        (_, None) => Some(format!("{count} {what} in the output")),
        (_, Some(example)) => Some(format!("{count} {what} in the output, the first: {example}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Output;
    use crate::event::Event;

    #[test]
    fn who_is_not_let_in_is_told_how_to_log_in_however_often_the_cli_tried() {
        for (kind, wanted) in [(ErrorKind::Auth, "log in"), (ErrorKind::Overloaded, "--retry-for")] {
            let retried = Failure::new(kind, "401").hint("log in");
            let (mut tally, mut commands) = (Tally::default(), Vec::new());
            Output::new(&mut tally, &mut |_: &Event<'_>| {}, &mut commands).retry(1, None, None, &retried);
            let (result, _) = settle(Facts {
                backend: "codex",
                display_name: "Codex",
                conversation: &Conversation::Fresh { id: uuid::Uuid::nil() },
                persistence: Persistence::Keep,
                tally,
                ended: Ended::RetryLimit,
                exit: ExitStatus::default(),
                stderr_tail: "",
                max_turns: None,
                duration_ms: 0,
            });
            let hint = result.error.and_then(|error| error.hint).unwrap_or_default();
            assert!(hint.contains(wanted), "{kind:?}: {hint}");
        }
    }
}
