//! A private home for one run: the user's own `.gemini` seen through links, with a settings file in which this run's
//! values are merged into the user's. Logins, sessions and the user's own context files stay where they are.

use super::policy::Rights;
use crate::backend::{Launch, ScratchEntry, Site};
use crate::request::{Effort, McpServer, McpTransport, Persistence, Request};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The CLI's folder in a home.
pub const FOLDER: &str = ".gemini";

/// The user's slash commands in it.
const COMMANDS: &str = "commands";

/// Where the CLI keeps conversations, and the map from directories to them.
const SESSIONS: &[&str] = &["tmp", "history"];
const SESSION_MAP: &str = "projects.json";

/// The most attempts that the CLI takes from its settings.
const MOST_ATTEMPTS: u32 = 10;

/// Whether the settings are for a run that ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Headless,
    Interactive,
}

/// The home that the CLI looks for its folder in.
pub fn home(site: &Site) -> PathBuf {
    site.env("GEMINI_CLI_HOME")
        .map_or_else(|| site.home.clone(), PathBuf::from)
}

/// The overlay of one run.
pub struct Overlay {
    folder: PathBuf,
    /// The user's own folder.
    original: PathBuf,
}

impl Overlay {
    /// Plans the overlay and points the CLI to it.
    pub fn plan(request: &Request, site: &Site, launch: &mut Launch, patch: Value) -> Self {
        let home = home(site);
        let overlay = site.scratch("gemini");
        let folder = overlay.join(FOLDER);
        let ephemeral = request.persistence == Persistence::Ephemeral;
        let original = home.join(FOLDER);
        let mut except = vec![OsString::from("settings.json"), OsString::from(COMMANDS)];
        if ephemeral {
            except.extend(SESSIONS.iter().chain([&SESSION_MAP]).map(OsString::from));
        }
        launch.files.push(ScratchEntry::Mirror {
            path: folder.clone(),
            of: original.clone(),
            except,
            create: if ephemeral {
                Vec::new()
            } else {
                SESSIONS.iter().map(OsString::from).collect()
            },
        });
        for (path, of) in [
            (folder.join(COMMANDS), original.join(COMMANDS)),
            (overlay.join(".agents"), home.join(".agents")),
        ] {
            launch.files.push(ScratchEntry::Mirror {
                path,
                of,
                except: Vec::new(),
                create: Vec::new(),
            });
        }
        launch.files.push(ScratchEntry::MergedJson {
            path: folder.join("settings.json"),
            base: original.join("settings.json"),
            patch,
        });
        launch.env("GEMINI_CLI_HOME", overlay);
        launch.env_file = Some(original.join(".env"));
        Self { folder, original }
    }

    /// A slash command of this run, beside the user's own.
    pub fn add_command(&self, launch: &mut Launch, name: &str, file: String) {
        launch.file(self.folder.join(COMMANDS).join(format!("{name}.toml")), file);
    }

    /// A path in the user's own folder.
    pub fn original(&self, name: impl AsRef<Path>) -> PathBuf {
        self.original.join(name)
    }

    /// A path in the CLI's folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

/// What this run changes in the user's settings.
pub fn patch(request: &Request, rights: &Rights, usage: Use, warnings: &mut Vec<String>) -> Value {
    let mut patch = Patch::default();
    // Retention deletes conversations that were resumed, and fresh ones of runs that start together.
    patch.set("general", "sessionRetention", json!({ "enabled": false }));
    patch.set("general", "enableAutoUpdate", json!(false));
    patch.set("general", "enableAutoUpdateNotification", json!(false));
    patch.set("privacy", "usageStatisticsEnabled", json!(false));
    // Checking the login would load the project's own `.env`, with whatever it sets for the CLI and its children.
    patch.set("security", "auth", json!({ "useExternal": true }));
    if usage == Use::Headless {
        if let Some(turns) = request.max_turns {
            patch.set("model", "maxSessionTurns", json!(turns));
        }
        if let Some(retries) = request.patience.max_retries {
            let attempts = retries.saturating_add(1).min(MOST_ATTEMPTS);
            patch.set("general", "maxAttempts", json!(attempts));
        }
    }
    if let Some(core) = &rights.core {
        patch.set("tools", "core", json!(core));
        patch.set("tools", "allowed", json!([]));
        patch.set("general", "plan", json!({ "enabled": false }));
    }
    for server in &request.mcp_servers {
        patch.set("mcpServers", &server.name, mcp_server(server));
    }
    if let Some(effort) = request.effort {
        match thinking(effort, request.model.as_deref()) {
            Some((model, config)) => patch.set(
                "modelConfigs",
                "customOverrides",
                json!([{
                    "match": { "model": model },
                    "modelConfig": { "generateContentConfig": { "thinkingConfig": config } },
                }]),
            ),
            None => warnings.push(format!(
                "--effort {} is not applied: Gemini CLI needs to know the model (for instance --model gemini-2.5-flash)",
                effort.name()
            )),
        }
    }
    patch.into_value()
}

/// Settings by section.
#[derive(Default)]
struct Patch(Map<String, Value>);

impl Patch {
    fn set(&mut self, section: &str, key: &str, value: Value) {
        if let Value::Object(section) = self.0.entry(section).or_insert_with(|| json!({})) {
            section.insert(key.to_owned(), value);
        }
    }

    fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn mcp_server(server: &McpServer) -> Value {
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            json!({ "command": command, "args": args, "env": env, "trust": true })
        }
        McpTransport::Http { url, headers } => json!({ "httpUrl": url, "headers": headers, "trust": true }),
        McpTransport::Sse { url, headers } => json!({ "url": url, "headers": headers, "trust": true }),
    }
}

/// The thinking settings of a model: the 2.5 family takes a number of tokens, the 3 family a level, and neither takes
/// both.
fn thinking(effort: Effort, model: Option<&str>) -> Option<(&str, Value)> {
    let model = model?;
    if model.starts_with("gemini-2.5") {
        let budget = match effort {
            // The smallest that every model of the family takes.
            Effort::Minimal => 512,
            Effort::Low => 2048,
            Effort::Medium => 8192,
            Effort::High => 16384,
            Effort::Xhigh | Effort::Max => 24576,
        };
        return Some((model, json!({ "includeThoughts": true, "thinkingBudget": budget })));
    }
    if model.starts_with("gemini-3") {
        let level = if effort <= Effort::Low { "LOW" } else { "HIGH" };
        return Some((model, json!({ "includeThoughts": true, "thinkingLevel": level })));
    }
    None
}
