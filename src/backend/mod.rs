//! What a backend is: a name, what it can do, a plan for one run, and a protocol that reads its output.
//!
//! Backends are pure: they never spawn, read the clock or touch the file system, but for a look at the project before
//! (`Backend::inspect`) and at the CLI's own files after a run that nobody could read (`Backend::left_behind`). To add
//! one: see CONTRIBUTING.md.

mod capability;
pub mod checkup;
mod claude;
mod codex;
mod declared;
mod field;
mod gate;
mod gemini;
mod head;
mod launch;
pub mod mock;
mod opencode;
pub mod options;
mod output;
mod pi;
mod registry;
mod tested;
mod trace;
pub mod wire;

pub use capability::{Capabilities, Feature, Support, SupportLevel};
pub use checkup::{Auth, AuthState, Checkup, Content, Learned, PaidBy, Question, Reply, Sandbox, Seen, Topic};
pub use declared::{Declaration, Declared};
pub use launch::{Launch, ScratchEntry, Site, Stdin, Stop};
pub use output::{Command, Output, Sink, Tally, ToolOutcome};
pub use registry::{BACKENDS, find};
pub use tested::{TESTED, Tested, tested_versions};
pub use trace::Trace;

use crate::error::Failure;
use crate::request::Request;
use crate::tool::ToolKind;
use std::time::SystemTime;

/// A coding-agent CLI.
pub trait Backend: Sync {
    /// The name on the command line: `claude`.
    fn name(&self) -> &str;

    /// The name in messages: `Claude`.
    fn display_name(&self) -> &str;

    /// One line about it.
    fn about(&self) -> &str;

    /// The program to look for on `PATH`.
    fn program(&self) -> &str;

    /// What to type to install it.
    fn install_hint(&self) -> &str;

    /// What to type to log in, or the variable to set.
    fn login_hint(&self) -> &str;

    /// What each option of agentctl comes to here.
    fn capabilities(&self) -> &Capabilities;

    /// What only this backend has (`--option NAME=VALUE`): each name with what it does.
    fn options(&self) -> &[(&str, &str)] {
        &[]
    }

    /// What the CLI's own name or pattern of a tool stands for, in a run of this request: `Plan` for notes that every
    /// level has, `Other` for what only full rights have. An error, if it stands for nothing.
    fn tool_kind(&self, _rule: &str, _request: &Request) -> Result<ToolKind, Failure> {
        Ok(ToolKind::Other)
    }

    /// Whether the sandbox of a level holds tools of this kind, so that every level has them.
    fn confines(&self, _kind: ToolKind) -> bool {
        false
    }

    /// The exact command of one headless run, or why this backend cannot do it. Options that `capabilities` calls
    /// unsupported were sorted out before: `plan` may ignore them.
    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure>;

    /// The command of the CLI's own terminal UI with the same model, permission, system prompt and conversation.
    fn interactive(&self, request: &Request, site: &Site) -> Result<Plan, Failure>;

    /// A look at the working directory after the plan: whether the CLI would act on something there whatever it is told.
    /// It may read the file system.
    fn inspect(&self, _request: &Request, _site: &Site) -> Result<(), Failure> {
        Ok(())
    }

    /// The new conversation that was begun in the CLI's own terminal UI, which was started at `since` and is closed now.
    /// It may read the file system too. One that went on is known, and not asked for.
    fn left_behind(&self, _request: &Request, _site: &Site, _since: SystemTime) -> Trace {
        Trace::Unknown
    }

    /// A reader of this CLI's output.
    fn protocol(&self, request: &Request) -> Box<dyn Protocol>;

    /// What can be learned about it without a model call.
    fn checkup(&self, _site: &Site) -> Checkup {
        Checkup::version_only()
    }
}

/// How to run a backend once.
#[derive(Clone, Debug)]
pub struct Plan {
    pub launch: Launch,
    /// What the user should know: an option that was mapped only nearly, a limit that was lowered.
    pub warnings: Vec<String>,
}

/// A machine without IO: lines from the CLI go in; events, and bytes for the CLI's standard input, come out.
pub trait Protocol: Send {
    /// One line of the CLI's stdout, without its newline. Any bytes.
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>);

    /// One line of the CLI's stderr. Any bytes.
    fn stderr(&mut self, _line: &[u8], _out: &mut Output<'_>) {}

    /// The CLI is gone and everything it wrote was read. Last chance to say `complete`, `fail` or `answer`.
    fn finish(&mut self, _exit: ExitStatus, _out: &mut Output<'_>) {}
}

/// How the CLI's process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitStatus {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}
