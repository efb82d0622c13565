//! Gemini CLI: what it is called, what it can do, and where its parts are. The plan of a run is in `plan`, the reader of
//! its output in `protocol`.

mod capability;
mod checkup;
mod failure;
mod head;
mod plan;
mod policy;
mod prompt;
mod protocol;
mod settings;
mod stderr;
mod tools;
mod tries;
mod wire;

use super::trace::{self, Trace};
use super::{Backend, Capabilities, Checkup, Plan, Protocol, Site};
use crate::error::Failure;
use crate::request::{Conversation, Request};
use crate::tool::ToolKind;
use std::time::SystemTime;

/// The backend `gemini`.
pub struct GeminiCli;

impl Backend for GeminiCli {
    fn name(&self) -> &str {
        "gemini"
    }

    fn display_name(&self) -> &str {
        "Gemini"
    }

    fn about(&self) -> &str {
        "Google's Gemini CLI"
    }

    fn program(&self) -> &str {
        "gemini"
    }

    fn install_hint(&self) -> &str {
        "npm install -g @google/gemini-cli"
    }

    fn login_hint(&self) -> &str {
        failure::LOGIN_HINT
    }

    fn capabilities(&self) -> &Capabilities {
        &capability::CAPABILITIES
    }

    fn options(&self) -> &[(&str, &str)] {
        plan::OPTIONS
    }

    fn tool_kind(&self, rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        policy::kind(rule)
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn left_behind(&self, request: &Request, site: &Site, _since: SystemTime) -> Trace {
        let Conversation::Fresh { id } = &request.conversation else {
            return Trace::Unknown;
        };
        // The file's name has the first eight characters of the id that we chose.
        let id = id.to_string();
        let end = format!("-{}.jsonl", &id[..8]);
        let folder = settings::home(site).join(settings::FOLDER).join("tmp");
        trace::of_file(&folder, 2, |name| name.ends_with(&end), &id)
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(protocol::Gemini::new(policy::limits(request)))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}
