//! What went wrong, from the words and numbers that Gemini CLI gives: an API error quoted in brackets, an exit code that
//! is an HTTP status cut to a byte, a line on stderr.

use super::wire::{ApiError, ErrorBody};
use crate::error::{ErrorKind, Failure};

pub const LOGIN_HINT: &str = "set GEMINI_API_KEY, or run `gemini` once and sign in";

const NEW_SESSION_HINT: &str = "Gemini CLI finds a session only from the directory it was started in: give that one with \
                                --cwd, or start a new conversation with `agentctl run`";

/// The failure that a `result` or a document tells.
pub fn from_error(error: &ErrorBody<'_>) -> Failure {
    let failure = from_message(&error.message);
    match &*error.kind {
        "FatalTurnLimitedError" => turn_limit(failure.message),
        "FatalCancellationError" => Failure::new(ErrorKind::Interrupted, failure.message),
        "FatalAuthenticationError" => authentication(failure.message),
        "FatalInputError" => Failure::new(ErrorKind::InvalidRequest, failure.message),
        _ => match error.code {
            Some(code) if failure.kind == ErrorKind::Agent => refine(failure, code),
            _ => failure,
        },
    }
}

/// The failure that a message tells. Of kind `agent` when the message alone does not say more.
pub fn from_message(message: &str) -> Failure {
    let (quoted, advice) = unquote(message);
    let retry_after = retry_after_ms(quoted);
    if let Ok(api) = serde_json::from_str::<ApiError<'_>>(quoted)
        && !(api.error.message.is_empty() && api.error.code.is_none())
    {
        return from_api(&api, retry_after);
    }
    let kind = kind_of_words(quoted, advice);
    // The advice names a slash command of the CLI's own interface; it is of no use here.
    let failure = Failure::new(kind, quoted.trim()).retry_after_ms(retry_after);
    with_hint(failure)
}

/// What the model's stream came to, when the CLI gives up on it.
pub fn from_broken_stream(message: &str) -> Failure {
    let lower = message.to_ascii_lowercase();
    if lower.contains("without a finish reason") {
        return Failure::new(ErrorKind::Network, message);
    }
    let mut failure = Failure::new(ErrorKind::Agent, message);
    failure.retryable = lower.contains("transient") || lower.contains("malformed");
    failure
}

/// A failure of unknown kind, in the light of the exit code.
pub fn refine(failure: Failure, code: i32) -> Failure {
    let kind = match code {
        41 => ErrorKind::Auth,
        42 => ErrorKind::InvalidRequest,
        52 | 55 => ErrorKind::Usage,
        53 => ErrorKind::TurnLimit,
        130 => ErrorKind::Interrupted,
        // The process exits with the HTTP status, of which the system keeps the low byte.
        _ => match status_of_exit(code) {
            Some(status) => ErrorKind::from_http_status(status),
            None => return failure,
        },
    };
    let retry_after = failure.retry_after_ms;
    with_hint(Failure::new(kind, failure.message).retry_after_ms(retry_after))
}

/// A failure that stderr calls a model that is not there.
pub fn no_such_model(failure: Failure) -> Failure {
    Failure::new(ErrorKind::InvalidRequest, failure.message).hint("choose another model with --model")
}

/// The failure of a run that ended before it said anything on stdout.
pub fn from_silence(code: i32, stderr: &str) -> Option<Failure> {
    let message = stderr.trim();
    let lower = message.to_ascii_lowercase();
    match code {
        41 => Some(authentication(message)),
        42 if lower.contains("error resuming session") || lower.contains("invalid session identifier") => {
            Some(Failure::new(ErrorKind::SessionNotFound, message).hint(NEW_SESSION_HINT))
        }
        42 if lower.contains("error importing session from file") => Some(Failure::new(
            ErrorKind::SessionNotFound,
            "Gemini CLI has no such conversation to fork",
        )),
        42 => Some(Failure::new(ErrorKind::InvalidRequest, message)),
        52 => Some(
            Failure::new(ErrorKind::Usage, message)
                .hint("mend the Gemini CLI settings file that is named there (usually ~/.gemini/settings.json)"),
        ),
        53 => Some(turn_limit(message)),
        55 => Some(Failure::new(ErrorKind::Usage, message).hint("trust this directory, or add --skip-trust")),
        _ => None,
    }
}

/// The notice that the CLI stopped a model that repeats itself.
pub fn is_loop(notice: &str) -> bool {
    notice.starts_with("Loop detected")
}

/// The CLI calls this a success, but it has stopped the agent in the middle of its work.
pub fn looped(notice: &str) -> Failure {
    Failure::new(ErrorKind::Agent, notice)
        .hint("the model repeated itself; ask in another way, or choose another model")
}

/// Nothing was sent: the conversation does not fit the model.
pub fn context_overflow() -> Failure {
    Failure::new(
        ErrorKind::ContextLength,
        "the conversation does not fit into the model's context window; nothing was sent",
    )
    .hint("shorten the prompt, start a new conversation, or choose a model with a larger window")
}

fn from_api(api: &ApiError<'_>, retry_after: Option<u64>) -> Failure {
    let error = &api.error;
    let told = error
        .details
        .iter()
        .find_map(|detail| seconds_as_ms(&detail.retry_delay));
    let bad_key = error.details.iter().any(|detail| detail.reason.starts_with("API_KEY_"));
    let kind = match (error.code, &*error.status) {
        _ if bad_key => ErrorKind::Auth,
        (_, "UNAUTHENTICATED" | "PERMISSION_DENIED") => ErrorKind::Auth,
        (_, "RESOURCE_EXHAUSTED") => ErrorKind::RateLimit,
        (Some(400), _) if is_overflow(&error.message) => ErrorKind::ContextLength,
        (Some(status), _) => ErrorKind::from_http_status(status),
        _ => ErrorKind::Agent,
    };
    with_hint(Failure::new(kind, error.message.trim()).retry_after_ms(told.or(retry_after)))
}

fn kind_of_words(message: &str, advice: &str) -> ErrorKind {
    let lower = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["api key not valid", "invalid auth", "unauthenticated", "authentication"]) {
        ErrorKind::Auth
    } else if advice.contains("increase your limits") || has(&["quota", "rate limit", "resource_exhausted"]) {
        ErrorKind::RateLimit
    } else if is_overflow(message) {
        ErrorKind::ContextLength
    } else if has(&["fetch failed", "econn", "enotfound", "etimedout", "socket hang up"]) || lower == "terminated" {
        ErrorKind::Network
    } else if has(&["overloaded", "unavailable"]) {
        ErrorKind::Overloaded
    } else {
        ErrorKind::Agent
    }
}

fn is_overflow(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    lower.contains("token count") && lower.contains("exceeds") || lower.contains("context window")
}

pub fn turn_limit(message: impl Into<String>) -> Failure {
    Failure::new(ErrorKind::TurnLimit, message).hint("`--max-turns` sets the limit")
}

fn authentication(message: impl Into<String>) -> Failure {
    Failure::new(ErrorKind::Auth, message).hint(LOGIN_HINT)
}

fn with_hint(failure: Failure) -> Failure {
    match failure.kind {
        ErrorKind::Auth => failure.hint(LOGIN_HINT),
        ErrorKind::RateLimit => failure.hint("wait and try again, or choose another model with --model"),
        ErrorKind::ContextLength => failure.hint("shorten the prompt or start a new conversation"),
        _ => failure,
    }
}

/// The text inside `[API Error: …]`, and what the CLI adds after it.
fn unquote(message: &str) -> (&str, &str) {
    let Some(inner) = message.strip_prefix("[API Error: ") else {
        return (message, "");
    };
    match inner.rfind(']') {
        Some(end) => (&inner[..end], &inner[end + 1..]),
        None => (inner, ""),
    }
}

/// `Suggested retry after 3s.`
fn retry_after_ms(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("retry after ")?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(0);
    rest[end..].starts_with('s').then(|| seconds_as_ms(&rest[..=end]))?
}

/// `"37s"`, `"1.5s"`.
fn seconds_as_ms(text: &str) -> Option<u64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && (0.0..1e9).contains(&seconds)).then_some((seconds * 1000.0) as u64)
}

/// The HTTP status whose low byte is this exit code. Codes that have a meaning of their own are left alone.
fn status_of_exit(code: i32) -> Option<u16> {
    const STATUSES: &[u16] = &[400, 401, 403, 408, 413, 429, 500, 502, 503, 504, 529];
    STATUSES.iter().copied().find(|status| i32::from(*status % 256) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_an_http_status_cut_to_a_byte() {
        for (code, kind) in [
            (144, ErrorKind::InvalidRequest),
            (145, ErrorKind::Auth),
            (147, ErrorKind::Auth),
            (173, ErrorKind::RateLimit),
            (244, ErrorKind::Overloaded),
            (17, ErrorKind::Overloaded),
            (1, ErrorKind::Agent),
        ] {
            assert_eq!(refine(Failure::new(ErrorKind::Agent, "x"), code).kind, kind, "{code}");
        }
    }

    #[test]
    fn a_connection_that_breaks_is_the_network() {
        assert_eq!(from_message("terminated").kind, ErrorKind::Network);
        assert_eq!(from_message("the plan was terminated").kind, ErrorKind::Agent);
    }

    #[test]
    fn a_suggested_delay_is_read_in_seconds() {
        assert_eq!(retry_after_ms("Suggested retry after 3s."), Some(3000));
        assert_eq!(retry_after_ms("Suggested retry after 1.5s."), Some(1500));
        assert_eq!(retry_after_ms("retry after lunch"), None);
        assert_eq!(retry_after_ms("retry after 5"), None);
        assert_eq!(retry_after_ms("retry after é"), None);
    }

    #[test]
    fn a_key_that_is_not_valid_is_an_authentication_failure_though_its_status_is_400() {
        let failure = from_message(
            r#"[API Error: {"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
        );
        assert_eq!(
            (failure.kind, &*failure.message),
            (ErrorKind::Auth, "API key not valid.")
        );
    }

    #[test]
    fn a_retry_delay_in_the_details_is_kept() {
        let failure = from_message(
            r#"[API Error: {"error":{"code":429,"message":"slow down","details":[{"retryDelay":"37s"}]}}]"#,
        );
        assert_eq!(
            (failure.kind, failure.retry_after_ms),
            (ErrorKind::RateLimit, Some(37_000))
        );
    }
}
