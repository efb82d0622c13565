//! The command of one run: `opencode run`, prompt on standard input, everything that has no flag in
//! `OPENCODE_CONFIG_CONTENT`.

use super::config::{Agent, Config, FileReference};
use super::gate;
use super::protocol::{DIRECTORY, Gate, Rights};
use super::rights::{self, Limits};
use crate::backend::{Launch, Plan, Site, Stdin, options};
use crate::error::Failure;
use crate::request::{Continuation, Conversation, Effort, Permission, Persistence, Placement, PromptSyntax, Request};
use std::ffi::OsString;

/// Backend-specific options: name and help.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "agent",
        "one of your own OpenCode agents; only with full rights and no tool rules",
    ),
    ("variant", "a model variant by OpenCode's own name, instead of --effort"),
    ("pure", "`true` runs without external plugins"),
];

/// A prompt on the command line of the terminal UI; Linux takes 128 KiB an argument.
const PROMPT_ARGUMENT_LIMIT: usize = 100 * 1024;

/// Flags that lift limits, as they look without dashes.
const LIFTING: &[&str] = &[
    "agent",
    "auto",
    "yolo",
    "dangerouslyskippermissions",
    "attach",
    "command",
    "dir",
];

/// Whether a run is limited in its rights.
pub fn rights(request: &Request) -> Rights {
    match request.is_limited() {
        true => Rights::Limited,
        false => Rights::Unlimited,
    }
}

/// Whether a run has our gate before its tools.
pub fn gate(request: &Request) -> Gate {
    match rights::limits(request) {
        Ok(Some(_)) if gate::is_needed(request) => Gate::Awaited,
        _ => Gate::NotNeeded,
    }
}

pub fn headless(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut planner = Planner::new(request, site)?;
    planner.launch.args(["run", "--format", "json", "--thinking"]);
    if let Conversation::Fresh { .. } = request.conversation {
        // An empty title is the beginning of the prompt; without the flag a model is asked for one.
        planner.launch.arg("--title=");
    }
    planner.launch.arg("--dir").arg(&request.cwd);
    planner.model()?;
    planner.variant()?;
    planner.agent_flag()?;
    planner.conversation()?;
    for attachment in &request.attachments {
        planner.launch.arg("--file").arg(&attachment.path);
    }
    planner.prompt()?;
    planner
        .launch
        .args(["--print-logs", "--log-level", planner.log_level()]);
    planner.raw_args()?;
    planner.finish()
}

pub fn interactive(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut planner = Planner::new(request, site)?;
    planner.model()?;
    if request.effort.is_some() {
        planner.warn("OpenCode's terminal UI has no flag for --effort: choose the variant there");
    }
    if !request.attachments.is_empty() {
        planner.warn("OpenCode's terminal UI takes no attachments on its command line");
    }
    planner.agent_flag()?;
    planner.conversation()?;
    if !request.prompt.is_empty() {
        if request.prompt.len() > PROMPT_ARGUMENT_LIMIT {
            return Err(
                Failure::usage("the prompt is too long for the command line of OpenCode's terminal UI")
                    .hint("put it into a file and name the file, or run without --interactive"),
            );
        }
        planner.launch.arg(format!("--prompt={}", request.prompt));
    }
    planner.raw_args()?;
    planner.launch.stdin = Stdin::Inherited;
    planner.finish()
}

struct Planner<'a> {
    request: &'a Request,
    site: &'a Site,
    launch: Launch,
    config: Config,
    limits: Option<Limits>,
    warnings: Vec<String>,
}

impl<'a> Planner<'a> {
    fn new(request: &'a Request, site: &'a Site) -> Result<Self, Failure> {
        check_options(request)?;
        Ok(Self {
            request,
            site,
            launch: Launch::new(site, &request.cwd),
            config: Config::above(site.env("OPENCODE_CONFIG_CONTENT"))?,
            limits: rights::limits(request)?,
            warnings: Vec::new(),
        })
    }

    fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    fn model(&mut self) -> Result<(), Failure> {
        let Some(model) = &self.request.model else {
            return Ok(());
        };
        match model.split_once('/') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() && !model.starts_with('-') => {
                self.launch.arg("--model").arg(model);
                Ok(())
            }
            _ => Err(
                Failure::usage(format!("OpenCode takes a model as provider/model, not {model}"))
                    .hint("`opencode models` lists them, e.g. `-m anthropic/claude-sonnet-4-5`"),
            ),
        }
    }

    fn variant(&mut self) -> Result<(), Failure> {
        let variant = match (self.request.options.get("variant"), self.request.effort) {
            (Some(variant), _) => variant.as_str(),
            (None, Some(effort)) => {
                let of_openai = self
                    .request
                    .model
                    .as_deref()
                    .is_some_and(|model| model.starts_with("openai/"));
                let variant = match effort {
                    Effort::Max if of_openai => Effort::Xhigh.name(),
                    effort => effort.name(),
                };
                self.warn(format!(
                    "OpenCode ignores --effort without a word if the model has no variant {variant}"
                ));
                variant
            }
            (None, None) => return Ok(()),
        };
        if variant.is_empty() || variant.starts_with('-') {
            return Err(Failure::usage(format!(
                "--option variant={variant} is no name of a variant"
            )));
        }
        self.launch.arg("--variant").arg(variant);
        Ok(())
    }

    /// The agent of this run: the user's, or one of ours for limited rights or another system prompt.
    fn agent_flag(&mut self) -> Result<(), Failure> {
        let replaced = self
            .request
            .system
            .as_ref()
            .filter(|system| system.placement == Placement::Replace);
        let wanted = self.request.options.get("agent");
        if self.limits.is_none() && replaced.is_none() {
            if let Some(agent) = wanted {
                if agent.is_empty() || agent.starts_with('-') {
                    return Err(Failure::usage(format!("--option agent={agent} is no name of an agent")));
                }
                self.launch.arg("--agent").arg(agent);
            }
        } else {
            if let Some(agent) = wanted {
                return Err(Failure::usage(format!(
                    "--option agent={agent}: limited rights and a replaced system prompt need an agent of agentctl's own"
                ))
                .hint("use `--permission full` without tool rules, or leave the option out"));
            }
            let name = agent_name(self.site);
            let file = self.site.scratch("system-prompt.md");
            if let Some(system) = replaced {
                self.launch.file(&file, system.text.as_bytes());
            }
            let granted = self.limits.as_ref().map(|limits| &limits.table);
            let guarded = granted.filter(|_| gate::is_needed(self.request));
            if let Some(table) = guarded {
                gate::place(
                    &name,
                    table,
                    self.request,
                    self.site,
                    &mut self.config,
                    &mut self.launch,
                )?;
            }
            let ungated = guarded.map(|table| table.without(gate::GUARDED));
            let agent = Agent {
                mode: "primary",
                prompt: replaced.map(|_| FileReference(&file)),
                permission: ungated.as_ref().or(granted),
            };
            self.config.agent(&name, &agent)?;
            // If it were not found, OpenCode would take the default agent: then that is the same one, or none.
            self.config.set("default_agent", &name)?;
            self.launch.arg("--agent").arg(name);
        }
        if self.request.permission == Permission::Full {
            self.launch.arg("--auto");
        }
        Ok(())
    }

    fn conversation(&mut self) -> Result<(), Failure> {
        let Some(continuation) = self.request.conversation.continuation() else {
            return Ok(());
        };
        let id = &continuation.native_id;
        let is_id = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !id.strip_prefix("ses_").is_some_and(is_id) {
            return Err(Failure::new(
                crate::error::ErrorKind::SessionNotFound,
                format!("{id} is no session id of OpenCode"),
            )
            .hint("they look like ses_e13ea3634ffe79FvjS09cum4Vz: see `agentctl sessions list`"));
        }
        self.request.must_be_stored("OpenCode")?;
        self.launch.arg("--session").arg(id);
        if let Conversation::Fork { .. } = self.request.conversation {
            self.launch.arg("--fork");
        }
        Ok(())
    }

    fn prompt(&mut self) -> Result<(), Failure> {
        let prompt = &self.request.prompt;
        let command = match self.request.prompt_syntax {
            PromptSyntax::Expand => prompt.strip_prefix('/'),
            PromptSyntax::Literal => None,
        };
        let Some(command) = command else {
            self.launch.stdin = Stdin::Bytes(prompt.clone().into_bytes());
            return Ok(());
        };
        if rights(self.request) == Rights::Limited {
            return Err(
                Failure::usage("a command of OpenCode may run programs and change the agent")
                    .hint("use `--permission full` without tool rules, or leave out --expand"),
            );
        }
        let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        if name.is_empty() || name.starts_with('-') {
            return Err(Failure::usage(format!("/{name} is no command of OpenCode")));
        }
        self.launch.arg("--command").arg(name);
        self.launch.stdin = Stdin::Bytes(arguments.trim_start().as_bytes().to_vec());
        Ok(())
    }

    /// A session that we have not seen in this directory may belong to another one. That shows in the log only.
    fn log_level(&self) -> &'static str {
        let here = |continuation: &Continuation| {
            continuation.carried.get(DIRECTORY).map(String::as_str) == self.request.cwd.to_str()
        };
        match self.request.conversation.continuation() {
            Some(continuation) if !here(continuation) => "INFO",
            _ => "ERROR",
        }
    }

    fn raw_args(&mut self) -> Result<(), Failure> {
        if rights(self.request) == Rights::Limited
            && let Some(flag) = self.request.raw_args.iter().find(|flag| lifts_limits(flag))
        {
            return Err(
                Failure::usage(format!("{} could lift the limits of this run", flag.to_string_lossy()))
                    .hint("use `--permission full` without tool rules"),
            );
        }
        self.launch.args(&self.request.raw_args);
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, Failure> {
        self.instructions()?;
        self.config.servers(&self.request.mcp_servers)?;
        if let Some(limits) = self.limits.take() {
            self.close_side_doors(&limits)?;
            self.warnings.extend(limits.warnings);
        }
        if self.request.persistence == Persistence::Ephemeral {
            self.launch.env("OPENCODE_DB", ":memory:");
            self.config.set("snapshot", &false)?;
            self.config.set("share", &"disabled")?;
        }
        if self.request.options.contains_key("pure") {
            self.launch.env("OPENCODE_PURE", "1");
        }
        for name in [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
        ] {
            self.launch.env(name, "1");
        }
        let content = self.config.text()?;
        self.launch.env("OPENCODE_CONFIG_CONTENT", content);
        Ok(Plan {
            launch: self.launch,
            warnings: self.warnings,
        })
    }

    /// Files that go into the system prompt.
    fn instructions(&mut self) -> Result<(), Failure> {
        let mut files = Vec::new();
        if self.limits.is_some() && !gate::is_needed(self.request) {
            // The project's settings are off, and its instructions with them; those are words and give no rights. A gate
            // adds them by itself, if they are no link out of the project.
            files.extend(self.request.cwd.join("AGENTS.md").to_str().map(str::to_owned));
        }
        if let Some(system) = &self.request.system
            && system.placement == Placement::Append
        {
            let path = self.site.scratch("instructions.md");
            let name = path.to_str().ok_or_else(|| {
                Failure::usage(format!("OpenCode takes no path that is not UTF-8: {}", path.display()))
            })?;
            files.push(name.to_owned());
            self.launch.file(&path, system.text.as_bytes());
        }
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        self.config.instructions(&files)
    }

    /// What could act besides the tools, or lift the limits from outside.
    fn close_side_doors(&mut self, limits: &Limits) -> Result<(), Failure> {
        // The project's plugins, tools, agents and permissions.
        self.launch.env("OPENCODE_DISABLE_PROJECT_CONFIG", "1");
        self.launch.env.push((OsString::from("OPENCODE_PERMISSION"), None));
        // For every other agent too.
        if gate::is_needed(self.request) {
            self.config.set("permission", &limits.table.without(gate::GUARDED))?;
        } else {
            self.config.set("permission", &limits.table)?;
        }
        // Programs that run on a read or an edit, some of them out of the project.
        self.config.set("lsp", &false)?;
        self.config.set("formatter", &false)?;
        let edits = gate::is_needed(self.request) && limits.table.allows(gate::EDITING);
        if edits && !limits.table.allows("bash") {
            // In a repository all of it counts as the working directory. Where git finds none, only the directory does.
            self.launch.env("GIT_DIR", self.site.scratch("no-repository"));
        }
        Ok(())
    }
}

/// No configuration of the user's or of anybody else's can speak of an agent of this name.
fn agent_name(site: &Site) -> String {
    let unique: String = site
        .scratch
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    format!("agentctl-{unique}")
}

fn lifts_limits(flag: &OsString) -> bool {
    let flag = flag.to_string_lossy();
    let name = flag.split('=').next().unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    flag.starts_with('-') && LIFTING.iter().any(|lifting| name.eq_ignore_ascii_case(lifting))
}

fn check_options(request: &Request) -> Result<(), Failure> {
    options::check("OpenCode", &request.options, OPTIONS)?;
    match request.options.get("pure").map(String::as_str) {
        None | Some("true") => Ok(()),
        Some(value) => Err(Failure::usage(format!("--option pure={value}: the only value is true"))),
    }
}
