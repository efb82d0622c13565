//! What went wrong, from the words and numbers in which OpenCode and the APIs behind it tell it.

use super::wire::ErrorBody;
use crate::error::{ErrorKind, Failure};

pub const LOGIN_HINT: &str = "run `opencode auth login`, or set the API key variable of the provider";
const MODELS_HINT: &str =
    "`opencode models` lists what is there; a provider shows only after `opencode auth login` or with its API key set";
const RETRY_HINT: &str = "the conversation can be resumed later";

/// Words in lower case, and the kind of failure that they stand for; the first that is found counts.
const KINDS: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::InvalidRequest,
        &[
            "model not found",
            "modelnotfound",
            "command not found",
            "agent not found",
        ],
    ),
    (
        ErrorKind::Auth,
        &[
            "401",
            "403",
            "unauthorized",
            "unauthenticated",
            "authentication",
            "api key",
            "api-key",
            "apikey",
            "forbidden",
            "invalid token",
            "expired token",
        ],
    ),
    (
        ErrorKind::RateLimit,
        &[
            "429",
            "rate limit",
            "rate_limit",
            "rate-limit",
            "too many requests",
            "quota",
            "usage limit",
        ],
    ),
    (
        ErrorKind::Overloaded,
        &[
            "overloaded",
            "unavailable",
            "(500)",
            "502",
            "503",
            "504",
            "529",
            "internal server error",
            "server_error",
        ],
    ),
    (
        ErrorKind::Network,
        &[
            "cannot connect",
            "unable to connect",
            "connection",
            "network",
            "socket",
            "timed out",
            "timeout",
            "fetch failed",
            "econn",
            "enotfound",
            "eai_again",
            "terminated",
        ],
    ),
];

/// The failure that an `error` event tells.
pub fn of_event(error: &ErrorBody<'_>) -> Failure {
    let data = &error.data;
    if &*error.tag == "BadRequest" && data.message.is_empty() {
        return Failure::new(ErrorKind::InvalidRequest, "OpenCode refused the request")
            .hint("an attached image that is damaged is refused like this");
    }
    let told = [&data.message, &error.name, &error.tag];
    let message = told
        .into_iter()
        .find(|text| !text.is_empty())
        .map_or("OpenCode reported an error without a text", |text| &**text);
    let kind = match (&*error.name, data.status_code) {
        ("ProviderAuthError", _) => ErrorKind::Auth,
        ("ContextOverflowError", _) => ErrorKind::ContextLength,
        ("MessageAbortedError", _) => ErrorKind::Interrupted,
        (_, Some(status)) => match ErrorKind::from_http_status(status) {
            ErrorKind::InvalidRequest if speaks_of_length(message) || speaks_of_length(&data.response_body) => {
                ErrorKind::ContextLength
            }
            kind => kind,
        },
        (_, None) => of_text(message),
    };
    with_hint(Failure::new(kind, message)).retry_after_ms(data.response_headers.milliseconds())
}

/// The failure that a text tells, without any number beside it.
pub fn of_message(message: &str) -> Failure {
    with_hint(Failure::new(of_text(message), message))
}

/// OpenCode could not open its database, because another one was using or making it.
pub fn database_taken() -> Failure {
    let mut failure = Failure::new(
        ErrorKind::Crashed,
        "OpenCode could not open its database while another OpenCode was using it",
    )
    .hint("try again when fewer of them start at once");
    failure.retryable = true;
    failure
}

fn with_hint(failure: Failure) -> Failure {
    match failure.kind {
        ErrorKind::Auth => failure.hint(LOGIN_HINT),
        ErrorKind::InvalidRequest if failure.message.to_ascii_lowercase().contains("model") => {
            failure.hint(MODELS_HINT)
        }
        ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::Network => failure.hint(RETRY_HINT),
        _ => failure,
    }
}

/// The kind that a text stands for.
fn of_text(text: &str) -> ErrorKind {
    if speaks_of_length(text) {
        return ErrorKind::ContextLength;
    }
    let text = text.to_ascii_lowercase();
    KINDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| text.contains(word)))
        .map_or(ErrorKind::Agent, |(kind, _)| *kind)
}

fn speaks_of_length(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "context length",
        "context_length",
        "context window",
        "prompt is too long",
        "maximum context",
        "too many tokens",
    ]
    .iter()
    .any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_a_status_are_told_apart() {
        for (text, kind) in [
            (
                "Cannot connect to API: Unable to connect. Is the computer able to access the url?",
                ErrorKind::Network,
            ),
            ("Connection reset by server", ErrorKind::Network),
            ("The operation timed out.", ErrorKind::Network),
            ("mock rate_limit_error (429)", ErrorKind::RateLimit),
            ("mock api_error (500)", ErrorKind::Overloaded),
            ("Overloaded", ErrorKind::Overloaded),
            ("Incorrect API key provided", ErrorKind::Auth),
            (
                "ProviderModelNotFoundError: Model not found: nope/nope.",
                ErrorKind::InvalidRequest,
            ),
            (
                "This model's maximum context length is 8192 tokens",
                ErrorKind::ContextLength,
            ),
            ("something else", ErrorKind::Agent),
        ] {
            assert_eq!(of_message(text).kind, kind, "{text}");
        }
    }
}
