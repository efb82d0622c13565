//! What doctor found, as data: the JSON output, and what the table is made of.

use crate::backend::Auth;
use crate::exit::Exit;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `agentctl doctor --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    /// The version of this form.
    pub schema: u32,
    /// Whether everything that was asked for is usable.
    pub usable: bool,
    pub agentctl: OwnReport,
    pub backends: Vec<BackendReport>,
}

/// agentctl itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnReport {
    pub version: &'static str,
    pub checks: Vec<Check>,
}

/// One backend.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendReport {
    pub name: String,
    pub display_name: String,
    /// Whether this is the one that runs when none is named.
    pub default: bool,
    pub usable: bool,
    /// The program that would be run.
    pub path: Option<String>,
    pub version: Option<String>,
    pub auth: Option<Auth>,
    pub checks: Vec<Check>,
    /// With `--live`: how it answered.
    pub live: Option<LiveReport>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What was looked at: `binary`, `version`, `flags`, `auth`, `sandbox`, `directory`, `trap`, `config`, `state`,
    /// `sessions`, `environment`, `live`.
    pub id: &'static str,
    pub status: CheckStatus,
    pub message: String,
    /// What to type.
    pub hint: Option<String>,
    #[serde(skip)]
    exit: Option<ExitOf>,
}

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// It works, or may work, but is worth knowing.
    Warning,
    /// It does not work.
    Failure,
}

/// The exit code that a failure asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExitOf(Exit);

/// One tiny answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveReport {
    pub ok: bool,
    pub first_text_ms: Option<u64>,
    pub total_ms: u64,
    pub model: Option<String>,
    pub cost_usd: Option<f64>,
    pub error: Option<crate::error::Failure>,
}

pub const SCHEMA: u32 = 1;

impl Check {
    pub fn ok(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, CheckStatus::Ok, message)
    }

    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, CheckStatus::Warning, message)
    }

    /// A failure, with the exit code that it asks for.
    pub fn failure(id: &'static str, exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit: Some(ExitOf(exit)),
            ..Self::new(id, CheckStatus::Failure, message)
        }
    }

    fn new(id: &'static str, status: CheckStatus, message: impl Into<String>) -> Self {
        Self {
            id,
            status,
            message: message.into(),
            hint: None,
            exit: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The exit code of the first failure, if there is one.
pub fn exit_of<'a>(mut checks: impl Iterator<Item = &'a Check>) -> Option<Exit> {
    checks.find_map(|check| check.exit).map(|ExitOf(exit)| exit)
}
