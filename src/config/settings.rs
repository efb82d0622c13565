//! The values that files, environment and flags can set, and how layers of them resolve to one value with its origin.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Where a value came from, weakest first. A profile that was typed stands between the conversation and the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// `[defaults]` of the configuration file.
    File(PathBuf),
    /// `[backends.NAME]` of the configuration file.
    Backend(PathBuf, String),
    /// `.agentctl.toml` of the project.
    Project(PathBuf),
    /// `[profiles.NAME]` of the configuration file.
    Profile(PathBuf, String),
    Environment(String),
    /// What the conversation was started with.
    Session(String),
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "{} [defaults]", path.display()),
            Self::Backend(path, name) => write!(formatter, "{} [backends.{name}]", path.display()),
            Self::Project(path) => write!(formatter, "{}", path.display()),
            Self::Profile(path, name) => write!(formatter, "{} [profiles.{name}]", path.display()),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Session(key) => write!(formatter, "session {key}"),
            Self::Flag => formatter.write_str("flag"),
        }
    }
}

/// One list of settings, used four times: the struct that files and flags fill, the names, the lookup and the listing.
macro_rules! settings {
    ($( $(#[doc = $doc:literal])+ $name:ident: $type:ty, )+) => {
        /// One layer of settings. A value that is not set leaves the decision to the layers below.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Settings {
            $( $(#[doc = $doc])+ #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>, )+
        }

        /// Every key with what it means.
        pub const KEYS: &[(&str, &str)] = &[ $( (stringify!($name), concat!($($doc),+)), )+ ];

        impl Layers {
            $(
                $(#[doc = $doc])+
                pub fn $name(&self) -> Option<&$type> {
                    self.0.iter().rev().find_map(|layer| layer.settings.$name.as_ref())
                }
            )+

            /// Every key that is set somewhere, with its value and where it comes from.
            pub fn resolved(&self) -> Vec<(&'static str, serde_json::Value, &Origin)> {
                let mut values = Vec::new();
                $(
                    if let Some((value, layer)) = self.0.iter().rev()
                        .find_map(|layer| layer.settings.$name.as_ref().map(|value| (value, layer)))
                    {
                        let value = serde_json::to_value(value).unwrap_or_default();
                        values.push((stringify!($name), value, layer.origin_of(stringify!($name))));
                    }
                )+
                values
            }
        }
    };
}

settings! {
    /// Which agent to run.
    backend: String,
    /// The binary of the selected backend.
    cli_path: PathBuf,
    /// The model, in the backend's own words.
    model: String,
    /// How hard the model should think.
    effort: String,
    /// How much the agent may do: read-only, edit or full.
    permission: String,
    /// The tools that the agent is limited to.
    allow_tools: Vec<String>,
    /// The tools that the agent must not use.
    deny_tools: Vec<String>,
    /// Further directories that the agent may use.
    add_dirs: Vec<PathBuf>,
    /// Text appended to the backend's own system prompt.
    system: String,
    /// A file with that text.
    system_file: PathBuf,
    /// The system prompt takes the place of the backend's own.
    system_replace: bool,
    /// Text put before the prompt on the first turn of a conversation.
    identity: String,
    /// Files with MCP servers.
    mcp_config: Vec<PathBuf>,
    /// Most model responses.
    max_turns: u32,
    /// Most time for the whole run.
    timeout: String,
    /// Most time without any output.
    idle_timeout: String,
    /// Most retries that the CLI may make by itself.
    max_retries: u32,
    /// Most time that the CLI may spend retrying without progress.
    retry_for: String,
    /// How long to wait for another run of the same conversation.
    wait: String,
    /// Keep prompts and answers beside the session records.
    keep_transcript: bool,
    /// Variables set for the agent.
    env: BTreeMap<String, String>,
    /// Start the agent with a minimal environment.
    env_clear: bool,
    /// Variables passed on in spite of that.
    env_pass: Vec<String>,
    /// Backend-specific options by name.
    options: BTreeMap<String, String>,
    /// Raw arguments for the CLI.
    args: Vec<String>,
    /// An option that the backend cannot honour is an error.
    strict: bool,
    /// text, json or stream-json.
    output_format: String,
    /// Colour: auto, always or never.
    color: String,
    /// The spinner and the closing line.
    progress: bool,
}

/// The keys that a project's own file may set: none of them gives the agent more rights or names a program.
pub const PROJECT_KEYS: &[&str] = &[
    "backend",
    "model",
    "effort",
    "permission",
    "deny_tools",
    "system",
    "max_turns",
    "timeout",
    "idle_timeout",
    "max_retries",
    "retry_for",
    "output_format",
];

/// Settings from one place.
#[derive(Clone, Debug)]
pub struct Layer {
    pub settings: Settings,
    pub origin: Origin,
    origins: BTreeMap<&'static str, Origin>,
}

impl Layer {
    pub fn new(settings: Settings, origin: Origin) -> Self {
        Self {
            settings,
            origin,
            origins: BTreeMap::new(),
        }
    }

    /// A layer whose keys each have an origin of their own.
    pub fn with_origins(settings: Settings, origins: BTreeMap<&'static str, Origin>) -> Self {
        Self {
            settings,
            origin: Origin::Default,
            origins,
        }
    }

    pub fn origin_of(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&self.origin)
    }
}

/// Layers of settings, the weakest first.
#[derive(Clone, Debug, Default)]
pub struct Layers(pub Vec<Layer>);

impl Layers {
    pub fn push(&mut self, layer: Layer) {
        self.0.push(layer);
    }

    /// Where the value of a key comes from.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        let mut resolved = self.resolved().into_iter();
        resolved.find(|(name, ..)| *name == key).map(|(.., origin)| origin)
    }

    /// Maps are merged key by key: a stronger layer replaces single entries.
    pub fn merged_map(&self, of: fn(&Settings) -> Option<&BTreeMap<String, String>>) -> BTreeMap<String, String> {
        let maps = self.0.iter().filter_map(|layer| of(&layer.settings));
        maps.flat_map(|map| map.iter().map(|(key, value)| (key.clone(), value.clone())))
            .collect()
    }

    /// Denials add up: no layer takes back what another forbids.
    pub fn all_denied_tools(&self) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for tool in self
            .0
            .iter()
            .filter_map(|layer| layer.settings.deny_tools.as_ref())
            .flatten()
        {
            if !tools.contains(tool) {
                tools.push(tool.clone());
            }
        }
        tools
    }
}
