//! What a failure of Pi is about. Pi passes on what the provider's API said as one text (`429 …`, `401 {json}`,
//! `Connection error.`), so the class is read from that text.

use crate::error::{ErrorKind, Failure};
use serde::Deserialize;

pub const LOGIN_HINT: &str = "set the provider's key variable (e.g. ANTHROPIC_API_KEY), or run `pi` and type /login";

/// The failure that an `errorMessage` tells.
pub fn from_api(message: &str) -> Failure {
    let message = message.trim();
    let kind = kind(message);
    let failure = Failure::new(kind, readable(message));
    match kind {
        ErrorKind::Auth => failure.hint(LOGIN_HINT),
        ErrorKind::ContextLength => failure.hint("start a new conversation, or shorten the prompt"),
        ErrorKind::Network => failure.hint("check the network and the provider's base URL in Pi's models.json"),
        _ => failure,
    }
}

/// The answer was lost: Pi shrank its history after an overflow and ended without telling the new answer.
pub fn overflow(message: Option<&str>) -> Failure {
    let message =
        message.unwrap_or("the conversation no longer fits the model's context, and Pi ended while shortening it");
    Failure::new(ErrorKind::ContextLength, message).hint("start a new conversation, or shorten the prompt")
}

pub fn no_key(message: &str) -> Failure {
    Failure::new(ErrorKind::Auth, message).hint(LOGIN_HINT)
}

pub fn no_session(message: &str) -> Failure {
    Failure::new(ErrorKind::SessionNotFound, message)
        .hint("Pi keeps conversations by directory: resume from the directory in which it was started (-C DIR)")
}

pub fn no_provider(message: &str) -> Failure {
    Failure::new(ErrorKind::InvalidRequest, message)
        .hint("name the model as PROVIDER/MODEL; `pi --list-models` shows what there is")
}

fn kind(message: &str) -> ErrorKind {
    let lower = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&[
        "context length",
        "context window",
        "context_length",
        "prompt is too long",
        "too many tokens",
    ]) {
        return ErrorKind::ContextLength;
    }
    if let Some(status) = status(message) {
        return ErrorKind::from_http_status(status);
    }
    if says(&["rate limit", "rate_limit", "quota", "too many requests", "usage limit"]) {
        ErrorKind::RateLimit
    } else if says(&["overloaded", "server error", "service unavailable"]) {
        ErrorKind::Overloaded
    } else if says(&["api key", "authentication", "unauthorized", "credential"]) {
        ErrorKind::Auth
    } else if says(&[
        "connection",
        "network",
        "fetch failed",
        "timed out",
        "timeout",
        "socket",
        "econn",
        "enotfound",
        "terminated",
        "stream ended",
        "premature close",
    ]) {
        ErrorKind::Network
    } else if says(&["aborted"]) {
        ErrorKind::Interrupted
    } else {
        ErrorKind::Agent
    }
}

/// The HTTP status that the message begins with.
fn status(message: &str) -> Option<u16> {
    let (digits, rest) = message.split_at_checked(3)?;
    if !rest.is_empty() && !rest.starts_with([' ', ':']) {
        return None;
    }
    digits.parse().ok().filter(|status| (400..600).contains(status))
}

/// `401 {"error":{"message":"…"}}` as `401 …`.
fn readable(message: &str) -> String {
    #[derive(Deserialize)]
    struct Body {
        error: BodyError,
    }
    #[derive(Deserialize)]
    struct BodyError {
        message: String,
    }
    let Some(start) = message.find('{') else {
        return message.to_owned();
    };
    match serde_json::from_str::<Body>(&message[start..]) {
        Ok(body) => format!("{}{}", &message[..start], body.error.message),
        Err(_) => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_or_the_words_decide_the_kind() {
        for (message, kind) in [
            ("401 mock authentication_error (401)", ErrorKind::Auth),
            ("403 forbidden", ErrorKind::Auth),
            ("404 no such model", ErrorKind::InvalidRequest),
            ("429 slow down", ErrorKind::RateLimit),
            ("503", ErrorKind::Overloaded),
            ("529 {\"error\":{\"message\":\"x\"}}", ErrorKind::Overloaded),
            (
                "400 This model's maximum context length is 128000 tokens.",
                ErrorKind::ContextLength,
            ),
            ("Connection error.", ErrorKind::Network),
            ("Anthropic stream ended before message_stop", ErrorKind::Network),
            ("Request was aborted.", ErrorKind::Interrupted),
            ("You have hit your usage limit", ErrorKind::RateLimit),
            ("4290 things went wrong", ErrorKind::Agent),
            ("", ErrorKind::Agent),
            ("é", ErrorKind::Agent),
        ] {
            assert_eq!(from_api(message).kind, kind, "{message}");
        }
    }

    #[test]
    fn a_json_body_is_told_by_its_message() {
        let failure = from_api(r#"401 {"type":"error","error":{"type":"authentication_error","message":"bad key"}}"#);
        assert_eq!(failure.message, "401 bad key");
        assert_eq!(from_api("500 {oops").message, "500 {oops");
    }
}
