//! The canonical names of tools: what an agent does, whatever its CLI calls it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Bash,
    Read,
    Edit,
    Write,
    Search,
    Fetch,
    Mcp,
    Task,
    Plan,
    Other,
}

impl ToolKind {
    /// The kinds that `--allow-tool` and `--deny-tool` take by name.
    pub const NAMEABLE: &[ToolKind] = &[
        Self::Bash,
        Self::Read,
        Self::Edit,
        Self::Write,
        Self::Search,
        Self::Fetch,
        Self::Mcp,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Write => "write",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::Task => "task",
            Self::Plan => "plan",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ToolKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A tool as the user named it: one of ours, or the backend's own name or pattern (`Bash(git *)`), passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum ToolRule {
    Canonical(ToolKind),
    Native(String),
}

impl From<String> for ToolRule {
    fn from(text: String) -> Self {
        match ToolKind::NAMEABLE.iter().find(|kind| kind.name() == text) {
            Some(kind) => Self::Canonical(*kind),
            None => Self::Native(text),
        }
    }
}

impl From<ToolRule> for String {
    fn from(rule: ToolRule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for ToolRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Canonical(kind) => kind.fmt(formatter),
            Self::Native(text) => formatter.write_str(text),
        }
    }
}
