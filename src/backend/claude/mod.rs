//! Claude Code (`claude`).

mod capabilities;
mod checkup;
mod failure;
mod head;
mod message;
mod newer;
mod options;
mod plan;
mod prompt;
mod protocol;
mod rights;
mod rule;
mod spending;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

use super::trace::{self, Trace};
use super::{Backend, Capabilities, Checkup, Plan, Protocol, Site};
use crate::error::Failure;
use crate::request::{Conversation, Request};
use crate::tool::ToolKind;
use std::time::SystemTime;

/// What is remembered for the next run of a conversation: the model, with the mark of its long context.
const CARRIED_MODEL: &str = "model";

/// Anthropic's Claude Code.
pub struct Claude;

impl Backend for Claude {
    fn name(&self) -> &str {
        "claude"
    }

    fn display_name(&self) -> &str {
        "Claude"
    }

    fn about(&self) -> &str {
        "Claude Code, Anthropic's coding agent"
    }

    fn program(&self) -> &str {
        "claude"
    }

    fn install_hint(&self) -> &str {
        "npm install -g @anthropic-ai/claude-code"
    }

    fn login_hint(&self) -> &str {
        "run `claude` and log in, or set ANTHROPIC_API_KEY"
    }

    fn capabilities(&self) -> &Capabilities {
        &capabilities::CAPABILITIES
    }

    fn options(&self) -> &[(&str, &str)] {
        options::OPTIONS
    }

    fn tool_kind(&self, rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        let rule = rule::Rule::read(rule)?;
        Ok(match rule.kind() {
            ToolKind::Plan if !tools::NOTES.contains(&rule.tool.as_str()) => ToolKind::Other,
            kind => kind,
        })
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn left_behind(&self, request: &Request, site: &Site, _since: SystemTime) -> Trace {
        let (Conversation::Fresh { id } | Conversation::Fork { id, .. }) = &request.conversation else {
            return Trace::Unknown;
        };
        let id = id.to_string();
        let folder = rights::config_dir(site).join("projects");
        trace::of_file(&folder, 1, |name| name.strip_suffix(".jsonl") == Some(&id), &id)
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        let background =
            options::Options::of(request).map_or(protocol::BackgroundTasks::Off, |options| options.background);
        Box::new(protocol::ClaudeProtocol::new(request, background))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}
