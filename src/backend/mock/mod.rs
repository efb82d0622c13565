//! `mock`: an agent inside agentctl itself, for trying agentctl and for testing scripts. No key, no network.
//!
//! It is a real child process (`agentctl __mock`, see `agent`) that goes through the same supervision and decoding as
//! every other backend. It never runs anything: its tools only pretend.

pub mod agent;
mod player;
mod protocol;
pub mod recording;
mod script;

use super::{Backend, Capabilities, Feature, Launch, Plan, Protocol, Site, Stdin, Support};
use crate::error::Failure;
use crate::request::{Conversation, Persistence, Request};
use crate::tool::{ToolKind, ToolRule};
use protocol::MockProtocol;
pub use script::DIRECTIVES;
use std::collections::BTreeMap;

pub struct Mock;

/// The options of `--option`, with what they do.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "transcript",
        "play this recording (made with --record, or the raw stdout of a CLI)",
    ),
    ("dialect", "which backend's output a raw transcript is"),
    (
        "pace",
        "play a recording as slowly as it was made: 1 is real time, 0 (the default) at once",
    ),
];

static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (Feature::Model, Support::native("the name is reported back")),
    (Feature::MaxTurns, Support::emulated("agentctl counts and stops")),
    (Feature::ReadOnly, Support::native("its pretended tools are refused")),
    (Feature::Edit, Support::native("its pretended commands are refused")),
    (Feature::Full, Support::native("its tools only ever pretend")),
    (Feature::AllowTool, Support::native("other pretended tools are refused")),
    (Feature::DenyTool, Support::native("the pretended tool is refused")),
    (Feature::System, Support::native("[[system]] repeats it")),
    (Feature::SystemReplace, Support::native("[[system]] repeats it")),
    (Feature::AddDir, Support::native("accepted; it reads nothing")),
    (Feature::AttachImage, Support::native("accepted; it looks at nothing")),
    (Feature::AttachFile, Support::native("accepted; it reads nothing")),
    (Feature::Effort, Support::native("accepted; it does not think")),
    (Feature::Schema, Support::emulated("by instruction; agentctl validates")),
    (Feature::Mcp, Support::unsupported("it has no tools to offer")),
    (Feature::Resume, Support::native("it remembers its prompts")),
    (Feature::Fork, Support::native("a copy under a new id")),
    (Feature::Ephemeral, Support::native("nothing is remembered")),
    (Feature::Expand, Support::native("there is nothing to expand")),
    (Feature::MaxRetries, Support::native("[[retry:N]] honours it")),
    (Feature::Interactive, Support::unsupported("it has no terminal UI")),
    (Feature::Streaming, Support::native("word by word")),
    (Feature::Thinking, Support::native("[[think:TEXT]]")),
    (Feature::Cost, Support::native("always 0")),
]);

impl Backend for Mock {
    fn name(&self) -> &str {
        "mock"
    }

    fn display_name(&self) -> &str {
        "Mock"
    }

    fn about(&self) -> &str {
        "built in: no key, no network (`agentctl help mock`)"
    }

    fn program(&self) -> &str {
        "agentctl"
    }

    fn install_hint(&self) -> &str {
        "nothing to install"
    }

    fn login_hint(&self) -> &str {
        "nothing to log in to"
    }

    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn options(&self) -> &[(&str, &str)] {
        OPTIONS
    }

    fn tool_kind(&self, rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        match rule {
            "shell" => Ok(ToolKind::Bash),
            _ => Err(
                Failure::usage(format!("the mock agent has no tool `{rule}`, and takes no patterns"))
                    .hint("its tools are shell, read and write; or use bash, read, edit, write, search, fetch, mcp"),
            ),
        }
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        super::options::check("mock", &request.options, OPTIONS)?;
        check_values(&request.options)?;
        let mut launch = Launch::new(site, &request.cwd);
        launch.arg("__mock");
        launch.args(["--permission", request.permission.name()]);
        match &request.conversation {
            Conversation::Fresh { id } => launch.args(["--session-id".to_owned(), id.to_string()]),
            Conversation::Resume(of) => {
                if let Some(part) = of.carried.get(protocol::PLAYED) {
                    launch.args(["--played", part]);
                }
                launch.args(["--resume", &checked_id(&of.native_id)?])
            }
            Conversation::Fork { of, id } => {
                launch.args(["--resume", &checked_id(&of.native_id)?]);
                launch.args(["--fork".to_owned(), id.to_string()])
            }
        };
        if let Some(model) = &request.model {
            launch.arg(format!("--model={model}"));
        }
        for rule in request.allow_tools.iter().chain(&request.deny_tools) {
            if let ToolRule::Native(name) = rule {
                self.tool_kind(name, request)?;
            }
        }
        for rule in &request.allow_tools {
            launch.arg(format!("--allow-tool={rule}"));
        }
        for rule in &request.deny_tools {
            launch.arg(format!("--deny-tool={rule}"));
        }
        if request.persistence == Persistence::Ephemeral {
            launch.arg("--ephemeral");
        }
        if let Some(retries) = request.patience.max_retries {
            launch.arg(format!("--max-retries={retries}"));
        }
        if let Some(system) = &request.system {
            let path = site.scratch("system.md");
            launch.file(&path, system.text.as_str());
            launch.arg("--system-file").arg(path);
        }
        for (name, value) in &request.options {
            let value = match name.as_str() {
                "transcript" => request.cwd.join(value).into_os_string(),
                _ => value.into(),
            };
            launch.arg(format!("--{name}")).arg(value);
        }
        launch.args(request.raw_args.iter().cloned());
        launch.stdin = Stdin::Bytes(request.prompt.clone().into_bytes());
        Ok(Plan {
            launch,
            warnings: Vec::new(),
        })
    }

    fn interactive(&self, _request: &Request, _site: &Site) -> Result<Plan, Failure> {
        Err(Failure::usage("the mock agent has no terminal UI"))
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(MockProtocol::new(request))
    }
}

fn check_values(options: &BTreeMap<String, String>) -> Result<(), Failure> {
    let wrong = |name: &str, value: &str, hint: String| {
        Failure::usage(format!("--option {name}={value}: `{value}` is none")).hint(hint)
    };
    if let Some(dialect) = options.get("dialect") {
        let others = super::BACKENDS.iter().map(|backend| backend.name());
        let names: Vec<&str> = others.filter(|name| *name != "mock").collect();
        if !names.contains(&dialect.as_str()) {
            return Err(wrong(
                "dialect",
                dialect,
                format!("the dialects are: {}", names.join(", ")),
            ));
        }
    }
    match options.get("pace") {
        Some(pace) if !pace.parse().is_ok_and(|pace: f64| pace >= 0.0) => {
            Err(wrong("pace", pace, "it is a number, e.g. 1 or 0.5".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Ids are file names of the mock's memory, so only our own form is taken.
fn checked_id(id: &str) -> Result<String, Failure> {
    uuid::Uuid::try_parse(id)
        .map(|id| id.to_string())
        .map_err(|_| crate::outcome::session_not_found("Mock", id))
}
