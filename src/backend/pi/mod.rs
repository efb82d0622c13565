//! Pi (`pi`): what it can do, how it is called and how its output is read.

mod checkup;
mod failure;
mod head;
mod plan;
mod protocol;
mod rights;
mod tools;
mod wire;

use super::trace::{self, Trace};
use super::{Backend, Capabilities, Checkup, Feature, Plan, Protocol, Site, Support};
use crate::error::Failure;
use crate::request::Request;
use crate::tool::ToolKind;
use protocol::{Offered, PiProtocol};
use std::time::SystemTime;

pub struct Pi;

static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (Feature::Model, Support::native("--model PROVIDER/MODEL")),
    (
        Feature::MaxTurns,
        Support::emulated("agentctl counts the turns and stops Pi"),
    ),
    (
        Feature::ReadOnly,
        Support::native("--tools read,grep,find,ls; project extensions off"),
    ),
    (
        Feature::Edit,
        Support::emulated(
            "--tools without bash, and a gate extension that keeps write and edit in the allowed directories",
        ),
    ),
    (
        Feature::Full,
        Support::native("Pi's default; the project's .pi/settings.json is trusted, its extensions are off"),
    ),
    (Feature::AllowTool, Support::native("--tools; whole tools, no patterns")),
    (
        Feature::DenyTool,
        Support::emulated("--tools with the others; whole tools, no patterns"),
    ),
    (
        Feature::System,
        Support::native("--append-system-prompt FILE; hides APPEND_SYSTEM.md"),
    ),
    (Feature::SystemReplace, Support::native("--system-prompt FILE")),
    (
        Feature::AddDir,
        Support::emulated("told in the system prompt, and allowed by the gate at level edit"),
    ),
    (Feature::AttachImage, Support::native("@FILE")),
    (
        Feature::AttachFile,
        Support::native("@FILE: its text goes into the prompt"),
    ),
    (Feature::Effort, Support::native("--thinking; max is xhigh")),
    (Feature::Schema, Support::emulated("by instruction")),
    (
        Feature::Mcp,
        Support::emulated("an extension of agentctl's speaks to stdio and HTTP servers; no SSE"),
    ),
    (
        Feature::Resume,
        Support::native("--session ID, in the directory of the conversation"),
    ),
    (Feature::Fork, Support::native("--fork ID")),
    (Feature::Ephemeral, Support::native("--no-session")),
    (
        Feature::Expand,
        Support::native("prompt templates and /skill:NAME; not the commands of extensions"),
    ),
    (
        Feature::MaxRetries,
        Support::native("retry.maxRetries in a private copy of settings.json"),
    ),
    (Feature::Interactive, Support::native("pi")),
    (Feature::Streaming, Support::native("--mode json")),
    (Feature::Thinking, Support::native("thinking_delta")),
    (
        Feature::Cost,
        Support::native("from Pi's price table; none for a model without prices"),
    ),
]);

impl Backend for Pi {
    fn name(&self) -> &str {
        "pi"
    }

    fn display_name(&self) -> &str {
        "Pi"
    }

    fn about(&self) -> &str {
        "Pi coding agent: any provider, no permissions of its own"
    }

    fn program(&self) -> &str {
        "pi"
    }

    fn install_hint(&self) -> &str {
        "npm install -g @earendil-works/pi-coding-agent"
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

    fn tool_kind(&self, rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        tools::known_kind(rule)
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn inspect(&self, request: &Request, site: &Site) -> Result<(), Failure> {
        rights::keep_conversations_at_home(request, site)
    }

    fn left_behind(&self, request: &Request, site: &Site, since: SystemTime) -> Trace {
        let (folder, depth) = rights::session_dir(site, &request.cwd);
        trace::of_first_line(&folder, depth, since, |first: wire::SessionHeader| {
            (first.cwd == request.cwd).then_some(first.id)
        })
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        let offered = match tools::offer(request) {
            Ok(tools::Offer { builtin: None, .. }) => Offered::Default,
            Ok(_) | Err(_) => Offered::Limited,
        };
        Box::new(PiProtocol::new(offered))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}
