//! The capability matrix: for every feature of agentctl, how a backend comes by it. The one source for `agentctl
//! backends`, for warnings about options that cannot be honoured, and for the README's table.

use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// What a user can ask for. Each is one row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    Model,
    MaxTurns,
    ReadOnly,
    Edit,
    Full,
    AllowTool,
    DenyTool,
    System,
    SystemReplace,
    AddDir,
    AttachImage,
    AttachFile,
    Effort,
    Schema,
    Mcp,
    Resume,
    Fork,
    Ephemeral,
    Expand,
    MaxRetries,
    Interactive,
    /// Text arrives while the model is still talking.
    Streaming,
    Thinking,
    Cost,
}

impl Feature {
    pub const ALL: &[Feature] = &[
        Self::Model,
        Self::MaxTurns,
        Self::ReadOnly,
        Self::Edit,
        Self::Full,
        Self::AllowTool,
        Self::DenyTool,
        Self::System,
        Self::SystemReplace,
        Self::AddDir,
        Self::AttachImage,
        Self::AttachFile,
        Self::Effort,
        Self::Schema,
        Self::Mcp,
        Self::Resume,
        Self::Fork,
        Self::Ephemeral,
        Self::Expand,
        Self::MaxRetries,
        Self::Interactive,
        Self::Streaming,
        Self::Thinking,
        Self::Cost,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::MaxTurns => "max-turns",
            Self::ReadOnly => "read-only",
            Self::Edit => "edit",
            Self::Full => "full",
            Self::AllowTool => "allow-tool",
            Self::DenyTool => "deny-tool",
            Self::System => "system",
            Self::SystemReplace => "system-replace",
            Self::AddDir => "add-dir",
            Self::AttachImage => "attach-image",
            Self::AttachFile => "attach-file",
            Self::Effort => "effort",
            Self::Schema => "schema",
            Self::Mcp => "mcp",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Ephemeral => "ephemeral",
            Self::Expand => "expand",
            Self::MaxRetries => "max-retries",
            Self::Interactive => "interactive",
            Self::Streaming => "streaming",
            Self::Thinking => "thinking",
            Self::Cost => "cost",
        }
    }

    /// How a message names it: the flag that asks for it.
    pub fn flag(self) -> String {
        match self {
            Self::ReadOnly | Self::Edit | Self::Full => format!("--permission {}", self.name()),
            Self::AttachImage => "--attach with an image".to_owned(),
            Self::AttachFile => "--attach with a file".to_owned(),
            Self::Mcp => "--mcp-config".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Streaming | Self::Thinking | Self::Cost => self.name().to_owned(),
            _ => format!("--{}", self.name()),
        }
    }

    /// Whether a run without it would have more rights than asked for: then it is an error, never a warning.
    pub fn is_safety(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Edit | Self::DenyTool | Self::AllowTool)
    }
}

/// How a backend comes by a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Support {
    pub level: SupportLevel,
    /// How it is done, or why it is not.
    pub note: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SupportLevel {
    /// The CLI does it.
    Native,
    /// agentctl does it around the CLI.
    Emulated,
    Unsupported,
}

impl Support {
    pub const fn native(note: &'static str) -> Self {
        Self {
            level: SupportLevel::Native,
            note,
        }
    }

    pub const fn emulated(note: &'static str) -> Self {
        Self {
            level: SupportLevel::Emulated,
            note,
        }
    }

    pub const fn unsupported(why: &'static str) -> Self {
        Self {
            level: SupportLevel::Unsupported,
            note: why,
        }
    }

    pub fn is_supported(self) -> bool {
        self.level != SupportLevel::Unsupported
    }
}

/// One backend's column of the matrix: every feature, in the order of `Feature::ALL`.
#[derive(Clone, Debug)]
pub struct Capabilities(Cow<'static, [(Feature, Support)]>);

impl Capabilities {
    /// The column of a built-in backend.
    pub const fn of_table(table: &'static [(Feature, Support)]) -> Self {
        Self(Cow::Borrowed(table))
    }

    /// A column that was worked out: the support for each feature.
    pub fn computed(support: impl Fn(Feature) -> Support) -> Self {
        Self(
            Feature::ALL
                .iter()
                .map(|feature| (*feature, support(*feature)))
                .collect(),
        )
    }

    /// Every row.
    pub fn rows(&self) -> &[(Feature, Support)] {
        &self.0
    }

    pub fn of(&self, feature: Feature) -> Support {
        self.0
            .iter()
            .find(|(candidate, _)| *candidate == feature)
            .map_or(Support::unsupported("not known for this backend"), |(_, support)| {
                *support
            })
    }
}
