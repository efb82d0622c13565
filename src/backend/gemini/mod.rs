//! Gemini CLI: what it is called, what it can do, and where its parts are. The plan of a run is in `plan`, the reader of
//! its output in `protocol`.

mod capability;
mod checkup;
mod failure;
mod plan;
mod policy;
mod prompt;
mod protocol;
mod settings;
mod stderr;
mod tools;
mod tries;
mod wire;

use super::{Backend, Capabilities, Checkup, Plan, Protocol, Site};
use crate::error::Failure;
use crate::request::Request;

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

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(request, site)
    }

    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::interactive(request, site)
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(protocol::Gemini::new(policy::limits(request)))
    }

    fn checkup(&self, site: &Site) -> Checkup {
        checkup::checkup(site)
    }
}
