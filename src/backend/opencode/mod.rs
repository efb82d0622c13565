//! OpenCode (`opencode run --format json`).
//!
//! Owns what is known about this CLI: its command line, its permission tables, its events and its log lines.

mod checkup;
mod config;
mod failure;
mod gate;
mod head;
mod log;
mod plan;
#[cfg(test)]
mod plan_tests;
mod project;
mod protocol;
#[cfg(test)]
mod protocol_tests;
mod rights;
mod tools;
mod wire;

use crate::backend::{Backend, Capabilities, Checkup, Feature, Plan, Protocol, Site, Support};
use crate::error::Failure;
use crate::request::Request;
use crate::tool::ToolKind;
use protocol::Rights;

pub struct OpenCode;

static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (Feature::Model, Support::native("--model provider/model")),
    (
        Feature::MaxTurns,
        Support::emulated("counted by agentctl; OpenCode's own steps are advice only"),
    ),
    (
        Feature::ReadOnly,
        Support::native(
            "an agent of our own that has only the reading tools, and a plugin that keeps it in the allowed directories",
        ),
    ),
    (
        Feature::Edit,
        Support::native(
            "an agent of our own that edits without commands, and a plugin that keeps it in the allowed directories",
        ),
    ),
    (Feature::Full, Support::native("--auto; your own deny rules still hold")),
    (
        Feature::AllowTool,
        Support::native("a permission table; patterns as in `bash(git *)`"),
    ),
    (
        Feature::DenyTool,
        Support::native("a permission table; patterns as in `bash(git *)`"),
    ),
    (
        Feature::System,
        Support::native("instructions in the configuration of the run"),
    ),
    (Feature::SystemReplace, Support::native("prompt of an agent of our own")),
    (
        Feature::AddDir,
        Support::native("external_directory in the permission table"),
    ),
    (
        Feature::AttachImage,
        Support::native("--file, if the model takes images"),
    ),
    (Feature::AttachFile, Support::native("--file")),
    (Feature::Effort, Support::native("--variant, if the model has it")),
    (
        Feature::Schema,
        Support::emulated("asked for in the prompt, checked by agentctl"),
    ),
    (Feature::Mcp, Support::native("mcp in the configuration of the run")),
    (
        Feature::Resume,
        Support::native("--session, in the directory of the session"),
    ),
    (Feature::Fork, Support::native("--session --fork")),
    (Feature::Ephemeral, Support::native("OPENCODE_DB=:memory:")),
    (
        Feature::Expand,
        Support::emulated("a leading /command becomes --command"),
    ),
    (
        Feature::MaxRetries,
        Support::emulated("counted by agentctl in the log; OpenCode makes 5"),
    ),
    (
        Feature::Interactive,
        Support::native("opencode; a conversation that begins there is not kept by agentctl"),
    ),
    (Feature::Streaming, Support::unsupported("text comes in whole blocks")),
    (Feature::Thinking, Support::native("--thinking")),
    (
        Feature::Cost,
        Support::native("the sum of its steps, without subagents"),
    ),
]);

impl Backend for OpenCode {
    fn name(&self) -> &str {
        "opencode"
    }

    fn display_name(&self) -> &str {
        "OpenCode"
    }

    fn about(&self) -> &str {
        "OpenCode, for the models of many providers"
    }

    fn program(&self) -> &str {
        "opencode"
    }

    fn install_hint(&self) -> &str {
        "npm install -g opencode-ai"
    }

    fn login_hint(&self) -> &str {
        failure::LOGIN_HINT
    }

    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn options(&self) -> &[(&str, &str)] {
        plan::OPTIONS
    }

    fn tool_kind(&self, rule: &str, request: &Request) -> Result<ToolKind, Failure> {
        rights::kind(rule, request)
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn inspect(&self, request: &Request, site: &Site) -> Result<(), Failure> {
        match plan::rights(request) {
            Rights::Limited => project::without_plugins(&request.cwd, &site.home),
            Rights::Unlimited => Ok(()),
        }
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(protocol::OpenCodeProtocol::new(
            request,
            plan::rights(request),
            plan::gate(request),
        ))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}
