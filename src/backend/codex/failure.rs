//! What a message of Codex means. In `exec` the class of an error is nowhere but in its text.

use crate::backend::codex::wire::ApiError;
use crate::error::{ErrorKind, Failure};

pub const LOGIN_HINT: &str = "run `codex login`, or set CODEX_API_KEY (OPENAI_API_KEY is not read)";

/// Phrases of the messages that a turn fails with, and what they stand for. The first that fits decides.
const PHRASES: &[(&str, ErrorKind)] = &[
    ("Missing environment variable", ErrorKind::Auth),
    ("access token could not be refreshed", ErrorKind::Auth),
    ("refresh token", ErrorKind::Auth),
    ("not logged in", ErrorKind::Auth),
    ("Unauthorized", ErrorKind::Auth),
    ("rate limit", ErrorKind::RateLimit),
    ("Rate limit", ErrorKind::RateLimit),
    ("usage limit", ErrorKind::RateLimit),
    ("Quota exceeded", ErrorKind::RateLimit),
    ("To use Codex with your ChatGPT plan", ErrorKind::RateLimit),
    ("out of room in the model's context window", ErrorKind::ContextLength),
    ("context window", ErrorKind::ContextLength),
    ("high demand", ErrorKind::Overloaded),
    ("at capacity", ErrorKind::Overloaded),
    ("overloaded", ErrorKind::Overloaded),
    ("Input exceeds the maximum length", ErrorKind::InvalidRequest),
    ("Connection failed", ErrorKind::Network),
    ("error sending request", ErrorKind::Network),
    ("stream disconnected", ErrorKind::Network),
    ("failed to lookup address", ErrorKind::Network),
    ("timed out", ErrorKind::Network),
    ("timeout waiting for", ErrorKind::Network),
];

/// The failure that a turn ended with, or that Codex is trying to get over.
pub fn of_turn(message: &str) -> Failure {
    let api = api_error(message);
    let said = api.as_ref().map_or(message, |(said, _)| said.as_str());
    let phrase = PHRASES
        .iter()
        .find(|(phrase, _)| said.contains(phrase))
        .map(|(_, kind)| *kind);
    let kind = http_status(message)
        .map(ErrorKind::from_http_status)
        .or(api.as_ref().map(|(_, kind)| *kind))
        .or(phrase)
        .unwrap_or(ErrorKind::Agent);
    let failure = Failure::new(kind, said).retry_after_ms(retry_after_ms(said));
    match hint(kind, said) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn hint(kind: ErrorKind, said: &str) -> Option<String> {
    if let Some((_, variable)) = said.split_once("Missing environment variable: `") {
        let variable = variable.split('`').next().unwrap_or_default();
        return Some(format!(
            "set {variable}, which the model provider in config.toml asks for"
        ));
    }
    match kind {
        ErrorKind::Auth => Some(LOGIN_HINT.to_owned()),
        ErrorKind::ContextLength => Some("start a new conversation, or a model with a larger window".to_owned()),
        ErrorKind::Network => Some("check the connection and the provider's address".to_owned()),
        _ => None,
    }
}

/// The status of `unexpected status 401 Unauthorized: …` and `… last status: 429 Too Many Requests`.
fn http_status(message: &str) -> Option<u16> {
    let (_, after) = message
        .split_once("unexpected status ")
        .or_else(|| message.split_once("last status: "))?;
    after.get(..3)?.parse().ok()
}

/// The message inside an error body of the API that came through as it was, with what its type says.
fn api_error(message: &str) -> Option<(String, ErrorKind)> {
    let body: ApiError<'_> = serde_json::from_str(message).ok()?;
    let error = body.error;
    if error.message.is_empty() {
        return None;
    }
    let by_type = match &*error.kind {
        "invalid_request_error" => Some(ErrorKind::InvalidRequest),
        "authentication_error" | "permission_error" => Some(ErrorKind::Auth),
        "rate_limit_error" | "insufficient_quota" => Some(ErrorKind::RateLimit),
        "overloaded_error" | "server_error" => Some(ErrorKind::Overloaded),
        _ => None,
    };
    let kind = match (&*error.code, by_type) {
        ("context_length_exceeded", _) => ErrorKind::ContextLength,
        (_, Some(kind)) => kind,
        (code, None) => code
            .parse()
            .map_or(ErrorKind::InvalidRequest, ErrorKind::from_http_status),
    };
    Some((error.message.to_string(), kind))
}

/// The wait in `try again in 1.898s`. An hour of the day (`try again at 4:05 AM`) stays in the message: whose clock it
/// is, is not told.
fn retry_after_ms(message: &str) -> Option<u64> {
    let (_, after) = message.split_once("try again in ")?;
    let digits = after.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let amount: f64 = after[..digits].parse().ok()?;
    let unit = after[digits..].trim_start();
    let milliseconds = match unit {
        _ if unit.starts_with("ms") => amount,
        _ if unit.starts_with('s') => amount * 1_000.0,
        _ if unit.starts_with('m') => amount * 60_000.0,
        _ if unit.starts_with('h') => amount * 3_600_000.0,
        _ if unit.starts_with('d') => amount * 86_400_000.0,
        _ => return None,
    };
    Some(milliseconds as u64)
}

/// What a line of stderr says about a run that never began: `Error: …` of Codex, `error: …` of its argument parser.
pub fn of_startup(line: &str) -> Option<Failure> {
    if let Some(usage) = line.strip_prefix("error: ") {
        return Some(
            Failure::usage(format!("Codex does not take these arguments: {usage}")).hint(
                "check what follows `--`; `agentctl doctor codex` checks whether this version of Codex is supported",
            ),
        );
    }
    let said = line.strip_prefix("Error: ").or_else(|| {
        STARTUP_LINES
            .iter()
            .any(|start| line.starts_with(start))
            .then_some(line)
    })?;
    let said = said.split(" (code -").next().unwrap_or(said);
    let inner = said.split_once(" failed: ").map_or(said, |(_, inner)| inner);
    let failure = match said {
        _ if said.contains("no rollout found for thread id") => Failure::new(ErrorKind::SessionNotFound, inner)
            .hint("see `agentctl sessions list`; it may have been deleted, or belong to another CODEX_HOME"),
        _ if said.contains("already has an active writer") => Failure::new(ErrorKind::Busy, inner)
            .hint("another Codex is at work in this conversation: wait for it, or fork the conversation"),
        _ if said.contains("Input exceeds the maximum length") => Failure::new(ErrorKind::InvalidRequest, inner),
        _ if said.contains("MCP servers failed") => Failure::new(ErrorKind::Agent, inner)
            .hint("check the command of that MCP server, or take its `required` away"),
        _ if said.contains("thread/") || said.contains("turn/") => of_turn(inner),
        _ => Failure::usage(said).hint("check Codex' config.toml and the options given"),
    };
    Some(failure)
}

/// How the configuration errors begin that have no `Error: ` before them.
const STARTUP_LINES: &[&str] = &[
    "Error loading config.toml",
    "Error finding codex home",
    "Output schema file ",
    "Failed to read prompt",
    "Not inside a trusted directory",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_its_kind() {
        for (message, kind) in [
            (
                "unexpected status 401 Unauthorized: no, url: http://x/v1",
                ErrorKind::Auth,
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                ErrorKind::RateLimit,
            ),
            ("unexpected status 529 <unknown status code>: x", ErrorKind::Overloaded),
            (
                "You’ve hit your usage limit. Try again at 4:05 AM.",
                ErrorKind::RateLimit,
            ),
            ("stream disconnected before completion: x", ErrorKind::Network),
            ("Missing environment variable: `X`.", ErrorKind::Auth),
            (
                "Codex ran out of room in the model's context window.",
                ErrorKind::ContextLength,
            ),
            ("Something else", ErrorKind::Agent),
        ] {
            assert_eq!(of_turn(message).kind, kind, "{message}");
        }
    }

    #[test]
    fn an_api_body_is_unwrapped() {
        let failure =
            of_turn(r#"{"type":"error","error":{"type":"invalid_request_error","code":400,"message":"bad model"}}"#);
        assert_eq!(
            (failure.kind, &*failure.message),
            (ErrorKind::InvalidRequest, "bad model")
        );
    }

    #[test]
    fn a_wait_in_the_message_is_read() {
        assert_eq!(retry_after_ms("rate limit: try again in 1.5s."), Some(1500));
        assert_eq!(retry_after_ms("try again in 20ms"), Some(20));
        assert_eq!(retry_after_ms("try again in 2 minutes"), Some(120_000));
        assert_eq!(retry_after_ms("try again in a while"), None);
        assert_eq!(retry_after_ms("try again at 4:05 AM"), None);
    }

    #[test]
    fn a_missing_session_and_a_busy_one_are_told_apart() {
        let missing = "Error: thread/resume: thread/resume failed: no rollout found for thread id 0 (code -32600)";
        assert_eq!(of_startup(missing).unwrap().kind, ErrorKind::SessionNotFound);
        let busy = "Error: thread/resume: thread/resume failed: thread 0 already has an active writer (code -32600)";
        assert_eq!(of_startup(busy).unwrap().kind, ErrorKind::Busy);
        assert_eq!(of_startup("warning: x"), None);
    }
}
