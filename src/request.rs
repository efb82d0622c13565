//! What was decided: one run. `decide` has refused what no backend could do; what the chosen one cannot take, down to the
//! form of a model's name or of a session's id, is found by its plan.
//!
//! A `Request` is pure data. It is made by `decide` from the command line and the configuration, or built by library
//! callers, and every backend plans from it alone.

use crate::error::Failure;
use crate::tool::{ToolKind, ToolRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How much the agent may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Reads and searches; no write, no command, no network tool.
    ReadOnly,
    /// Also creates and changes files in the working directory and the added ones; no commands outside a sandbox.
    Edit,
    /// Everything, unasked.
    #[default]
    Full,
}

impl Permission {
    pub const ALL: &[Permission] = &[Self::ReadOnly, Self::Edit, Self::Full];

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }

    /// Whether tools of this kind belong to the level. The servers of `--mcp-config` and an agent's notes for itself
    /// belong to every one.
    pub fn includes(self, kind: ToolKind) -> bool {
        match kind {
            ToolKind::Read | ToolKind::Search | ToolKind::Mcp | ToolKind::Plan => true,
            ToolKind::Edit | ToolKind::Write => self >= Self::Edit,
            ToolKind::Bash | ToolKind::Fetch | ToolKind::Task | ToolKind::Other => self == Self::Full,
        }
    }
}

/// How hard the model should think; mapped to the nearest that the backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl Effort {
    pub const ALL: &[Effort] = &[
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// A system prompt, and whether it joins the backend's own or takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct System {
    pub text: String,
    pub placement: Placement,
}

impl System {
    /// Tells two system prompts apart without keeping them: FNV-1a over the text, and its length.
    pub fn fingerprint(&self) -> String {
        let hash = self.text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}-{}", self.text.len())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    #[default]
    Append,
    Replace,
}

/// A file that goes with the prompt. The path is absolute and the file was there when the request was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub path: PathBuf,
    pub kind: AttachmentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentKind {
    /// png, jpeg, gif or webp: the MIME type.
    Image(&'static str),
    File,
}

/// One MCP server of the common `{"mcpServers":{…}}` form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// Which conversation the prompt belongs to. Native ids were validated: they hold no control characters, don't begin
/// with `-` and are no paths; a backend with a stricter form checks it in `plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// A new one. `id` is a random UUIDv4 for CLIs that let the caller choose.
    Fresh {
        id: uuid::Uuid,
    },
    Resume(Continuation),
    /// A new conversation that begins with a copy of this one. `id` is for CLIs that let the caller choose.
    Fork {
        of: Continuation,
        id: uuid::Uuid,
    },
}

impl Conversation {
    pub fn continuation(&self) -> Option<&Continuation> {
        match self {
            Self::Fresh { .. } => None,
            Self::Resume(continuation) | Self::Fork { of: continuation, .. } => Some(continuation),
        }
    }
}

/// What is known about a conversation that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Continuation {
    pub native_id: String,
    /// What the backend's protocol asked to remember (`Output::carry`) at the end of the last run. Empty for an id that
    /// agentctl has never seen.
    pub carried: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    #[default]
    Keep,
    /// Leave nothing to resume.
    Ephemeral,
}

/// What to do with `/commands`, `@files` and `$skills` that a CLI would act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptSyntax {
    /// The prompt reaches the model as text.
    #[default]
    Literal,
    /// The CLI's own behaviour (`--expand`).
    Expand,
}

/// How patient the CLI may be with an API that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// Most retries that the CLI may make by itself; `None` is the CLI's own number.
    pub max_retries: Option<u32>,
    /// Longest stretch of retrying without any progress.
    pub retry_for: Option<Duration>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Request {
    /// The whole prompt, identity included; any text.
    pub prompt: String,
    pub model: Option<String>,
    pub max_turns: Option<u32>,
    pub permission: Permission,
    pub allow_tools: Vec<ToolRule>,
    pub deny_tools: Vec<ToolRule>,
    pub system: Option<System>,
    /// Absolute, and a directory when the request was made.
    pub cwd: PathBuf,
    /// Absolute directories.
    pub add_dirs: Vec<PathBuf>,
    pub attachments: Vec<Attachment>,
    pub effort: Option<Effort>,
    /// A JSON Schema that the final answer must fit, as it was given.
    pub schema: Option<serde_json::Value>,
    pub mcp_servers: Vec<McpServer>,
    pub conversation: Conversation,
    pub persistence: Persistence,
    pub prompt_syntax: PromptSyntax,
    pub patience: Patience,
    /// Backend-specific options by name (`--option K=V`).
    pub options: BTreeMap<String, String>,
    /// Raw arguments after `--`, the last resort.
    pub raw_args: Vec<OsString>,
}

impl Request {
    /// A request with every default, for library callers and tests.
    pub fn new(prompt: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            prompt: prompt.into(),
            model: None,
            max_turns: None,
            permission: Permission::default(),
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            system: None,
            cwd: cwd.into(),
            add_dirs: Vec::new(),
            attachments: Vec::new(),
            effort: None,
            schema: None,
            mcp_servers: Vec::new(),
            conversation: Conversation::Fresh {
                id: uuid::Uuid::new_v4(),
            },
            persistence: Persistence::default(),
            prompt_syntax: PromptSyntax::default(),
            patience: Patience::default(),
            options: BTreeMap::new(),
            raw_args: Vec::new(),
        }
    }

    /// Whether the agent may do less than everything.
    pub fn is_limited(&self) -> bool {
        self.permission != Permission::Full || !self.allow_tools.is_empty() || !self.deny_tools.is_empty()
    }

    /// For a CLI that cannot go on with a conversation without adding to it.
    pub fn must_be_stored(&self, display_name: &str) -> Result<(), Failure> {
        match self.persistence {
            Persistence::Keep => Ok(()),
            Persistence::Ephemeral => {
                let message = format!("{display_name} cannot continue a conversation without storing it");
                Err(Failure::usage(message).hint("leave out --ephemeral"))
            }
        }
    }
}
