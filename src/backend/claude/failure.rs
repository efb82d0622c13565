//! What a failed run is called: from the API's status, the CLI's own words, and what it says on stderr alone.

use super::wire::ResultLine;
use crate::error::{ErrorKind, Failure};

const LOGIN: &str = "run `claude` and log in, or set ANTHROPIC_API_KEY";
const SESSION: &str =
    "Claude keeps sessions by directory: use `--cwd` with the one it began in, or see `agentctl sessions list`";

/// A request that failed and that the CLI means to repeat.
pub fn of_retry(status: Option<u16>, error: &str, reason: &str) -> Failure {
    let kind = kind_of(status, error, "");
    explain(Failure::new(kind, format!("the API refused the request: {reason}")))
}

/// The failure that a result tells, if it tells one. `error` is the CLI's word for the last failed request.
pub fn of_result(result: &ResultLine<'_>, error: &str, resets_at: Option<i64>) -> Option<Failure> {
    let text = if result.result.is_empty() {
        result.errors.join("; ")
    } else {
        result.result.to_string()
    };
    let failure = match &*result.subtype {
        "error_max_turns" => Failure::new(ErrorKind::TurnLimit, text).hint("`--max-turns` sets the limit"),
        "error_max_budget_usd" => {
            Failure::new(ErrorKind::TurnLimit, text).hint("`--option max-budget-usd=N` sets the limit")
        }
        "error_max_structured_output_retries" => Failure::new(ErrorKind::SchemaMismatch, text),
        _ if text.contains("No conversation found with session ID") => {
            Failure::new(ErrorKind::SessionNotFound, text).hint(SESSION)
        }
        _ if result.terminal_reason.starts_with("aborted") => {
            Failure::new(ErrorKind::Interrupted, "interrupted").hint("the conversation can be resumed")
        }
        // A slash command that does not exist counts as a success without any answer of the model.
        "success" if !result.is_error => {
            let unknown_command = result.num_turns == 0 && text.starts_with("Unknown command: ");
            return unknown_command.then(|| {
                Failure::new(ErrorKind::InvalidRequest, text)
                    .hint("without `--expand` a prompt that begins with `/` reaches the model as text")
            });
        }
        _ if !result.is_error && !result.subtype.starts_with("error") => return None,
        _ => {
            let text = if text.is_empty() {
                format!("Claude reported {}", &*result.subtype)
            } else {
                text
            };
            let kind = kind_of(result.api_error_status, error, &text);
            with_reset(explain(Failure::new(kind, text)), resets_at)
        }
    };
    Some(failure)
}

/// What the CLI says on stderr before it gives up without any result.
pub fn of_stderr(line: &str) -> Option<Failure> {
    let line = line.trim();
    let failure = |kind| Failure::new(kind, line.trim_start_matches("Error: "));
    if line.contains("cannot be used with root/sudo privileges") {
        let hint = "Claude refuses full rights to root: run as another user, ask for less (`--permission edit`), or, only \
                    if this machine is a throw-away sandbox, say so with `--env IS_SANDBOX=1`";
        return Some(failure(ErrorKind::PermissionDenied).hint(hint));
    }
    if line.starts_with("No conversation found with session ID")
        || line.starts_with("Error: --resume requires a valid session ID")
    {
        return Some(failure(ErrorKind::SessionNotFound).hint(SESSION));
    }
    if line.starts_with("error: unknown option") || line.starts_with("error: option ") {
        let hint = "this version of Claude Code does not know it: `agentctl doctor claude` compares versions";
        return Some(failure(ErrorKind::InvalidRequest).hint(hint));
    }
    None
}

fn kind_of(status: Option<u16>, error: &str, text: &str) -> ErrorKind {
    if text.starts_with("Prompt is too long") || text.contains("prompt is too long") {
        return ErrorKind::ContextLength;
    }
    if status.is_none() && (text.contains("onnect") && text.starts_with("API Error")) {
        return ErrorKind::Network;
    }
    match (status, error) {
        (_, "authentication_failed" | "oauth_org_not_allowed") => ErrorKind::Auth,
        (_, "billing_error" | "rate_limit") => ErrorKind::RateLimit,
        (_, "overloaded") => ErrorKind::Overloaded,
        (_, "model_not_found") => ErrorKind::InvalidRequest,
        (Some(status), _) => ErrorKind::from_http_status(status),
        (None, "invalid_request" | "max_output_tokens") => ErrorKind::InvalidRequest,
        (None, "server_error") => ErrorKind::Overloaded,
        (None, _) if text.contains("Not logged in") || text.contains("Invalid API key") => ErrorKind::Auth,
        (None, _) if text.contains("hit your limit") || text.contains("usage limit reached") => ErrorKind::RateLimit,
        (None, _) => ErrorKind::Agent,
    }
}

/// Adds what to do next, where there is something to do.
fn explain(failure: Failure) -> Failure {
    match failure.kind {
        ErrorKind::Auth => failure.hint(LOGIN),
        ErrorKind::Network => failure.hint("check the network, the proxy and ANTHROPIC_BASE_URL"),
        ErrorKind::ContextLength => failure.hint("send less, or begin a new conversation"),
        ErrorKind::InvalidRequest if failure.message.contains("selected model") => {
            failure.hint("`--model` takes a name that your account has, such as `sonnet` or `opus`")
        }
        _ => failure,
    }
}

/// The provider told when the limit ends: as a moment, so it is told as a moment.
fn with_reset(failure: Failure, resets_at: Option<i64>) -> Failure {
    let moment = resets_at.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match (failure.kind, moment) {
        (ErrorKind::RateLimit, Some(moment)) => failure.hint(format!("the limit resets at {moment}")),
        _ => failure,
    }
}
