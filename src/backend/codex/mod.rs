//! Codex CLI, by `codex exec --json`.

mod checkup;
mod failure;
mod head;
mod item;
mod mcp;
mod options;
mod plan;
mod protocol;
mod refusal;
mod rollout;
mod skill;
mod system;
mod telemetry;
mod toml;
mod tools;
mod turns;
mod wire;

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod protocol_tests;

use crate::backend::{Backend, Capabilities, Checkup, Feature, Plan, Protocol, Site, Support, Trace};
use crate::error::Failure;
use crate::request::Request;
use crate::tool::ToolKind;
use std::time::SystemTime;

const DISPLAY_NAME: &str = "Codex";

pub struct Codex;

impl Backend for Codex {
    fn name(&self) -> &str {
        "codex"
    }

    fn display_name(&self) -> &str {
        DISPLAY_NAME
    }

    fn about(&self) -> &str {
        "OpenAI's Codex CLI"
    }

    fn program(&self) -> &str {
        "codex"
    }

    fn install_hint(&self) -> &str {
        "npm install -g @openai/codex"
    }

    fn login_hint(&self) -> &str {
        failure::LOGIN_HINT
    }

    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn options(&self) -> &[(&str, &str)] {
        options::OPTIONS
    }

    fn tool_kind(&self, rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        tools::kind(rule)
    }

    /// Its commands, and those of its subagents, run in the sandbox of the level.
    fn confines(&self, kind: ToolKind) -> bool {
        matches!(kind, ToolKind::Bash | ToolKind::Task)
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn left_behind(&self, request: &Request, site: &Site, since: SystemTime) -> Trace {
        rollout::newest(&checkup::directory(site), &request.cwd, since)
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(protocol::Codex::new(request))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}

static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (Feature::Model, Support::native("-m")),
    (
        Feature::MaxTurns,
        Support::emulated("model calls are counted and Codex is stopped"),
    ),
    (
        Feature::ReadOnly,
        Support::native(
            "-s read-only --ignore-rules; commands run in a sandbox without writes or network; .codex and AGENTS.md of the project are not read",
        ),
    ),
    (
        Feature::Edit,
        Support::native(
            "-s workspace-write --ignore-rules; commands run in a sandbox that writes to the working directory and the added ones, without network; .codex and AGENTS.md of the project are not read",
        ),
    ),
    (
        Feature::Full,
        Support::native("--dangerously-bypass-approvals-and-sandbox; Codex still refuses rm -rf"),
    ),
    (
        Feature::AllowTool,
        Support::native(
            "features and sandbox; the shell reads and searches, the patch tool edits and writes; no patterns",
        ),
    ),
    (
        Feature::DenyTool,
        Support::native("features; bash, fetch and mcp, read and search along with bash, edit and write at read-only"),
    ),
    (
        Feature::System,
        Support::native(
            "developer_instructions; kept by the conversation, so a changed one goes before the prompt, as does one of more than 120,000 bytes",
        ),
    ),
    (Feature::SystemReplace, Support::native("model_instructions_file")),
    (
        Feature::AddDir,
        Support::native("--add-dir at edit; at the other levels every directory can be read already"),
    ),
    (Feature::AttachImage, Support::native("--image")),
    (
        Feature::AttachFile,
        Support::emulated("the prompt names the file, and the agent reads it"),
    ),
    (Feature::Effort, Support::native("model_reasoning_effort")),
    (Feature::Schema, Support::native("--output-schema")),
    (
        Feature::Mcp,
        Support::native("mcp_servers, approved for this run; stdio and HTTP"),
    ),
    (Feature::Resume, Support::native("exec resume")),
    (Feature::Fork, Support::native("exec fork")),
    (Feature::Ephemeral, Support::native("--ephemeral")),
    (
        Feature::Expand,
        Support::native("$skill; without it the skills that a prompt names are switched off for the run"),
    ),
    (
        Feature::MaxRetries,
        Support::emulated("retries are counted and Codex is stopped"),
    ),
    (Feature::Interactive, Support::native("codex")),
    (
        Feature::Streaming,
        Support::unsupported("exec tells each message whole; tools are told as they happen"),
    ),
    (Feature::Thinking, Support::native("reasoning summaries")),
    (Feature::Cost, Support::unsupported("Codex tells no cost")),
]);
