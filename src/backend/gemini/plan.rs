//! The command of one run: arguments, environment, input and private files.

use super::policy::{self, Rights};
use super::prompt::{self, Delivery};
use super::settings::{self, Overlay, Use};
use crate::backend::options;
use crate::backend::{Launch, Plan, ScratchEntry, Site, Stdin};
use crate::error::Failure;
use crate::request::{Continuation, Conversation, Persistence, Placement, Request};
use std::path::{Path, PathBuf};

/// Options by name (`--option K=V`).
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "sandbox",
        "`true`: run the CLI's tools in its container sandbox (needs docker or podman)",
    ),
    (
        "extensions",
        "the extensions to use, separated by commas; `none` for none",
    ),
];

/// Where the CLI cuts its standard input.
const LONGEST_PROMPT: usize = 8 << 20;

/// The context file that carries a system prompt beside the user's own.
const SYSTEM_FILE: &str = "AGENTCTL_SYSTEM.md";

pub fn headless(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut planner = Planner::new(request, site, Use::Headless)?;
    let delivery = planner.attach();
    planner.launch.args(["-o", "stream-json"]);
    planner.common_arguments()?;
    let input = planner.input(delivery);
    let length = request.prompt.len().max(input.len());
    if length >= LONGEST_PROMPT {
        return Err(Failure::usage(format!(
            "the prompt is too long for Gemini CLI: {length} bytes, and it takes less than {LONGEST_PROMPT}"
        ))
        .hint("put the text into a file in the working directory and ask the agent to read it"));
    }
    planner.launch.stdin = Stdin::Bytes(input.into_bytes());
    planner.launch.env("NO_COLOR", "1");
    Ok(planner.finish())
}

pub fn interactive(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut planner = Planner::new(request, site, Use::Interactive)?;
    let delivery = planner.attach();
    planner.common_arguments()?;
    if !request.prompt.is_empty() {
        // One argument: a prompt that begins with a dash stays the value of this flag.
        let input = planner.input(delivery);
        planner.launch.arg(format!("--prompt-interactive={input}"));
    }
    planner.launch.stdin = Stdin::Inherited;
    planner.warnings.push(
        "a login or a setting that you change inside Gemini CLI now is not kept: use `gemini` itself for that".into(),
    );
    Ok(planner.finish())
}

struct Planner<'a> {
    request: &'a Request,
    site: &'a Site,
    rights: Rights,
    launch: Launch,
    overlay: Overlay,
    warnings: Vec<String>,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, site: &'a Site, usage: Use) -> Result<Self, Failure> {
        let rights = Rights::of(request)?;
        let mut warnings = Vec::new();
        let mut launch = Launch::new(site, &request.cwd);
        let mut patch = settings::patch(request, &rights, usage, &mut warnings);
        if is_appended(request) {
            patch["context"]["fileName"] = serde_json::json!(["GEMINI.md", SYSTEM_FILE]);
        }
        let overlay = Overlay::plan(request, site, &mut launch, patch);
        launch
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .env("COLORTERM", "truecolor");
        if request.persistence == Persistence::Ephemeral {
            // The CLI leaves whole conversations there when the API fails.
            launch.env("TMPDIR", site.scratch("tmp"));
            launch.file(site.scratch("tmp").join(".keep"), "");
        }
        launch.arg("--skip-trust");
        Ok(Self {
            request,
            site,
            rights,
            launch,
            overlay,
            warnings,
        })
    }

    fn common_arguments(&mut self) -> Result<(), Failure> {
        self.conversation()?;
        if let Some(model) = &self.request.model {
            self.launch.arg(format!("--model={model}"));
        }
        self.permissions();
        for directory in &self.request.add_dirs {
            self.include(directory)?;
        }
        self.system();
        self.options()
    }

    fn conversation(&mut self) -> Result<(), Failure> {
        match &self.request.conversation {
            Conversation::Fresh { id } => self.launch.args(["--session-id".to_owned(), id.to_string()]),
            Conversation::Resume(continuation) => {
                self.request.must_be_stored("Gemini")?;
                self.launch.args(["--resume".to_owned(), session_id(continuation)?])
            }
            Conversation::Fork { of, .. } => {
                // The CLI forks from a session file; its name ends in the first eight characters of the id.
                let id = session_id(of)?;
                let path = self.site.scratch("fork.jsonl");
                self.launch.files.push(ScratchEntry::Found {
                    path: path.clone(),
                    within: self.overlay.original("tmp"),
                    suffix: format!("-{}.jsonl", &id[..8]),
                });
                self.launch.arg("--session-file").arg(path)
            }
        };
        Ok(())
    }

    fn permissions(&mut self) {
        self.launch.args(["--approval-mode", self.rights.approval_mode]);
        if !self.rights.deny.is_empty() {
            let path = self.site.scratch(policy::DENY_FILE);
            self.launch.file(&path, policy::file(&self.rights.deny));
            self.launch.arg("--admin-policy").arg(&path).arg("--policy").arg(&path);
        }
        if !self.rights.allow.is_empty() {
            let path = self.site.scratch(policy::ALLOW_FILE);
            self.launch.file(&path, policy::file(&self.rights.allow));
            self.launch.arg("--policy").arg(&path);
        }
        for server in self.rights.servers_only.iter().flatten() {
            self.launch.arg(format!("--allowed-mcp-server-names={server}"));
        }
    }

    fn include(&mut self, directory: &Path) -> Result<(), Failure> {
        if directory.to_string_lossy().contains(',') {
            return Err(Failure::usage(format!(
                "Gemini CLI cannot take the directory {}: it reads a comma as the end of a path",
                directory.display()
            ))
            .hint("give it a name without a comma, for instance by a symbolic link"));
        }
        self.launch.arg("--include-directories").arg(directory);
        Ok(())
    }

    fn system(&mut self) {
        let Some(system) = &self.request.system else { return };
        match system.placement {
            Placement::Append => {
                self.launch
                    .file(self.overlay.path(SYSTEM_FILE), prompt::without_imports(&system.text));
            }
            Placement::Replace => {
                let path = self.site.scratch("system.md");
                self.launch.file(&path, system.text.as_str());
                self.launch.env("GEMINI_SYSTEM_MD", path);
            }
        }
    }

    fn options(&mut self) -> Result<(), Failure> {
        options::check("gemini", &self.request.options, OPTIONS)?;
        for (name, value) in &self.request.options {
            match (name.as_str(), value.as_str()) {
                ("sandbox", "true") => self.launch.arg("--sandbox"),
                ("sandbox", "false") => &mut self.launch,
                ("extensions", _) => self.launch.arg(format!("--extensions={value}")),
                _ => {
                    return Err(Failure::usage(format!("--option {name} cannot be `{value}`"))
                        .hint("sandbox is `true` or `false`"));
                }
            };
        }
        self.launch.args(&self.request.raw_args);
        Ok(())
    }

    /// Puts copies of the attachments where the CLI may read them, and the prompt with references to them together.
    fn attach(&mut self) -> Delivery {
        let folder = self.site.scratch("attachments");
        let mut paths: Vec<PathBuf> = Vec::new();
        for (index, attachment) in self.request.attachments.iter().enumerate() {
            let extension = attachment
                .path
                .extension()
                .and_then(|extension| extension.to_str())
                .filter(|extension| extension.chars().all(|c| c.is_ascii_alphanumeric()))
                .unwrap_or("txt");
            let path = folder.join(format!("attachment-{}.{extension}", index + 1));
            self.launch.files.push(ScratchEntry::Copy {
                path: path.clone(),
                of: attachment.path.clone(),
            });
            paths.push(path);
        }
        if !paths.is_empty() {
            self.launch.arg("--include-directories").arg(folder);
        }
        prompt::deliver(&self.request.prompt, self.request.prompt_syntax, &paths)
    }

    /// What the CLI reads as its prompt.
    fn input(&mut self, delivery: Delivery) -> String {
        match delivery {
            Delivery::Text(text) => text,
            Delivery::Command { file } => {
                // A name that no project can guess, or its command would take the place of ours.
                let name = format!("agentctl-{}", self.token());
                self.overlay.add_command(&mut self.launch, &name, file);
                format!("/{name}")
            }
        }
    }

    /// Letters that differ from run to run: the name of the scratch directory holds them.
    fn token(&self) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.site.scratch.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn finish(self) -> Plan {
        Plan {
            launch: self.launch,
            warnings: self.warnings,
        }
    }
}

fn is_appended(request: &Request) -> bool {
    request
        .system
        .as_ref()
        .is_some_and(|system| system.placement == Placement::Append)
}

/// A session id as the CLI makes them. Anything shorter could be a number in its list, or `latest`.
fn session_id(continuation: &Continuation) -> Result<String, Failure> {
    let id = &continuation.native_id;
    match uuid::Uuid::try_parse(id) {
        Ok(_) if id.len() == 36 => Ok(id.clone()),
        _ => Err(Failure::usage(format!(
            "`{id}` is not a session id of Gemini CLI: those are whole UUIDs"
        ))
        .hint("`agentctl sessions list` shows the conversations that can be resumed")),
    }
}

#[cfg(test)]
mod tests;
