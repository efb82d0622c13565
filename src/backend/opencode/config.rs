//! What agentctl tells OpenCode by `OPENCODE_CONFIG_CONTENT`: the layer above the user's own configuration, and the one
//! that makes OpenCode refuse to start when it is broken. The user's own layer of that name is kept below ours.

use super::rights::Table;
use crate::error::Failure;
use crate::request::{McpServer, McpTransport};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::path::Path;

/// The most bytes of one variable that Linux takes, with some room for its name.
const LIMIT: usize = 128 * 1024 - 256;

/// One agent of our own.
#[derive(Debug, Serialize)]
pub struct Agent<'a> {
    pub mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<FileReference<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<&'a Table>,
}

/// `{file:…}`: the only place where the expansion is meant.
#[derive(Debug)]
pub struct FileReference<'a>(pub &'a Path);

/// Stands in for the opening bracket of a reference that is meant, until the others are escaped.
const MEANT: &str = "\u{fdd0}";

impl Serialize for FileReference<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{MEANT}file:{}}}", self.0.display()))
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Server<'a> {
    Local {
        command: Vec<&'a str>,
        environment: &'a BTreeMap<String, String>,
        enabled: bool,
    },
    Remote {
        url: &'a str,
        headers: &'a BTreeMap<String, String>,
        enabled: bool,
    },
}

/// The configuration of one run, key by key.
#[derive(Debug, Default)]
pub struct Config(BTreeMap<String, Box<RawValue>>);

impl Config {
    /// Begins with what the user put into the variable.
    pub fn above(users: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = users else {
            return Ok(Self::default());
        };
        serde_json::from_str(text).map(Self).map_err(|error| {
            Failure::usage(format!(
                "OPENCODE_CONFIG_CONTENT is set and is no plain JSON object: {error}"
            ))
            .hint("agentctl adds its own settings to it: mend it, or move it to a file named by OPENCODE_CONFIG")
        })
    }

    pub fn set(&mut self, key: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.0.insert(key.to_owned(), ours(value)?);
        Ok(())
    }

    pub fn agent(&mut self, name: &str, agent: &Agent<'_>) -> Result<(), Failure> {
        self.set_in("agent", name, agent)
    }

    pub fn servers(&mut self, servers: &[McpServer]) -> Result<(), Failure> {
        for server in servers {
            let translated = match &server.transport {
                McpTransport::Stdio { command, args, env } => Server::Local {
                    command: std::iter::once(command).chain(args).map(String::as_str).collect(),
                    environment: env,
                    enabled: true,
                },
                McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => Server::Remote {
                    url,
                    headers,
                    enabled: true,
                },
            };
            self.set_in("mcp", &server.name, &translated)?;
        }
        Ok(())
    }

    /// Adds files to those that go into the system prompt.
    pub fn instructions(&mut self, files: &[&str]) -> Result<(), Failure> {
        self.append("instructions", files)
    }

    /// Adds a plugin, after those of the user.
    pub fn plugin(&mut self, file: &str) -> Result<(), Failure> {
        self.append("plugin", &[file])
    }

    fn append(&mut self, key: &str, values: &[&str]) -> Result<(), Failure> {
        if values.is_empty() {
            return Ok(());
        }
        let mut all: Vec<Box<RawValue>> = match self.0.get(key) {
            None => Vec::new(),
            Some(users) => serde_json::from_str(users.get()).unwrap_or_default(),
        };
        for value in values {
            all.push(ours(value)?);
        }
        self.0.insert(key.to_owned(), plain(&all)?);
        Ok(())
    }

    fn set_in(&mut self, group: &str, key: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut entries: BTreeMap<String, Box<RawValue>> = match self.0.get(group) {
            None => BTreeMap::new(),
            Some(users) => serde_json::from_str(users.get()).unwrap_or_default(),
        };
        entries.insert(key.to_owned(), ours(value)?);
        self.0.insert(group.to_owned(), plain(&entries)?);
        Ok(())
    }

    /// The value of the variable.
    pub fn text(&self) -> Result<String, Failure> {
        let text = plain(&self.0)?.get().to_owned();
        if text.len() > LIMIT {
            return Err(Failure::usage(format!(
                "the configuration of this run has {} bytes, and OpenCode takes {LIMIT}",
                text.len()
            ))
            .hint("use fewer or shorter MCP servers and tool rules"));
        }
        Ok(text)
    }
}

/// JSON in which OpenCode expands nothing but the references that are meant.
fn ours(value: &impl Serialize) -> Result<Box<RawValue>, Failure> {
    let text = plain(value)?.get().to_owned();
    // Outside of strings a bracket is never followed by a letter.
    let text = text
        .replace("{env:", "\\u007benv:")
        .replace("{file:", "\\u007bfile:")
        .replace(&format!("{MEANT}file:"), "{file:");
    RawValue::from_string(text).map_err(unserializable)
}

fn plain(value: &impl Serialize) -> Result<Box<RawValue>, Failure> {
    to_raw_value(value).map_err(unserializable)
}

fn unserializable(error: serde_json::Error) -> Failure {
    Failure::usage(format!("OpenCode's configuration cannot be written: {error}"))
}
