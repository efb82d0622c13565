//! What can go wrong, as facts: a kind, a message, what to do next. Wording and exit codes live here and nowhere else.

use crate::exit::Exit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The class of a failure. Programs branch on it, so the names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The command line or the configuration is wrong; nothing was spawned.
    Usage,
    NotInstalled,
    NotExecutable,
    Auth,
    RateLimit,
    Overloaded,
    Network,
    InvalidRequest,
    ContextLength,
    TurnLimit,
    PermissionDenied,
    SessionNotFound,
    /// Another run holds this conversation.
    Busy,
    Timeout,
    IdleTimeout,
    Interrupted,
    Protocol,
    SchemaMismatch,
    Crashed,
    /// The agent itself reported a failure that fits no other kind.
    Agent,
}

impl ErrorKind {
    pub const ALL: &[ErrorKind] = &[
        Self::Usage,
        Self::NotInstalled,
        Self::NotExecutable,
        Self::Auth,
        Self::RateLimit,
        Self::Overloaded,
        Self::Network,
        Self::InvalidRequest,
        Self::ContextLength,
        Self::TurnLimit,
        Self::PermissionDenied,
        Self::SessionNotFound,
        Self::Busy,
        Self::Timeout,
        Self::IdleTimeout,
        Self::Interrupted,
        Self::Protocol,
        Self::SchemaMismatch,
        Self::Crashed,
        Self::Agent,
    ];

    /// The kind of this name, as it is in a result.
    pub fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// The names of all kinds.
    pub fn names() -> Vec<String> {
        let names = Self::ALL.iter().map(|kind| serde_json::json!(kind));
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }

    pub fn exit(self) -> Exit {
        match self {
            Self::Usage => Exit::Usage,
            Self::NotInstalled | Self::NotExecutable => Exit::NotInstalled,
            Self::Auth => Exit::Authentication,
            Self::RateLimit | Self::Overloaded => Exit::RateLimit,
            Self::TurnLimit => Exit::Limit,
            Self::SessionNotFound => Exit::NoSuchSession,
            Self::PermissionDenied => Exit::Blocked,
            Self::Protocol => Exit::Protocol,
            Self::SchemaMismatch => Exit::SchemaMismatch,
            Self::Busy => Exit::Busy,
            Self::Timeout | Self::IdleTimeout => Exit::Timeout,
            Self::Interrupted => Exit::Interrupted,
            Self::Network | Self::InvalidRequest | Self::ContextLength | Self::Crashed | Self::Agent => {
                Exit::AgentFailed
            }
        }
    }

    /// Whether the same request may succeed later without any change.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit | Self::Overloaded | Self::Network | Self::Busy | Self::Timeout | Self::IdleTimeout
        )
    }

    /// The kind that an HTTP status of a model's API stands for.
    pub fn from_http_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Auth,
            402 | 429 => Self::RateLimit,
            408 => Self::Network,
            413 => Self::ContextLength,
            500..=599 => Self::Overloaded,
            400..=499 => Self::InvalidRequest,
            _ => Self::Agent,
        }
    }
}

/// One failure, told the same way on stderr, in `error` of a result and to library callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub kind: ErrorKind,
    pub message: String,
    /// What to do next, if that is known.
    pub hint: Option<String>,
    pub retryable: bool,
    /// How long to wait before a retry, where the provider told it.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            retryable: kind.retryable(),
            retry_after_ms: None,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn retry_after_ms(mut self, milliseconds: Option<u64>) -> Self {
        self.retry_after_ms = milliseconds;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_in_the_list_of_all() {
        let schema = schemars::schema_for!(ErrorKind).to_value().to_string();
        let names = ErrorKind::names();
        for name in &names {
            assert!(schema.contains(&format!("\"{name}\"")), "{name}");
            assert!(ErrorKind::named(name).is_some());
        }
        // The last of the enum: were one added after it, the list would be shorter.
        assert_eq!(names.len(), ErrorKind::Agent as usize + 1);
    }
}
