//! agentctl for Rust callers: execute a prompt, watch it, get a result.
//!
//! ```no_run
//! use agentctl::agent::{Agent, Prompt};
//!
//! let agent = Agent::new("mock")?;
//! agent.validate()?;
//! let result = agent.execute(Prompt::new("hello"), |event| eprintln!("{event:?}"));
//! println!("{}", result.response_text);
//! # Ok::<(), agentctl::error::Failure>(())
//! ```

use crate::backend::Backend;
use crate::config::Environment;
use crate::decide::RunSettings;
use crate::engine::{self, Job};
use crate::error::Failure;
use crate::event::{Event, EventResult};
use crate::report::{Discard, Silent};
use crate::request::{Continuation, Conversation, Placement, Request, System};
use crate::supervise::SignalPolicy;
use crate::{backend, locate};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A backend that is ready to be asked. Nothing is stored: keeping the session id is the caller's business.
pub struct Agent {
    backend: &'static dyn Backend,
    cli_path: Option<PathBuf>,
    environment: Environment,
    timeout: Option<Duration>,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Prompt {
    request: Request,
}

impl Prompt {
    /// A prompt for a new conversation in the current directory, with full rights.
    pub fn new(text: impl Into<String>) -> Self {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self {
            request: Request::new(text, cwd),
        }
    }

    /// Text appended to the backend's own system prompt.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.request.system = Some(System {
            text: text.into(),
            placement: Placement::Append,
        });
        self
    }

    /// Goes on with the conversation of this native id (`session_id` of an earlier result).
    #[must_use]
    pub fn session(mut self, native_id: impl Into<String>) -> Self {
        self.request.conversation = Conversation::Resume(Continuation {
            native_id: native_id.into(),
            ..Continuation::default()
        });
        self
    }

    /// Everything else: model, permission, tools, limits.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }
}

impl Agent {
    /// The built-in backend of this name.
    pub fn new(name: &str) -> Result<Self, Failure> {
        let backend = backend::find(name).ok_or_else(|| {
            let names: Vec<&str> = backend::BACKENDS.iter().map(|backend| backend.name()).collect();
            Failure::usage(format!(
                "there is no backend `{name}`: the backends are {}",
                names.join(", ")
            ))
        })?;
        Ok(Self {
            backend,
            cli_path: None,
            environment: Environment::of_process(),
            timeout: None,
        })
    }

    /// The CLI's program, where it is not the first on `PATH`.
    #[must_use]
    pub fn cli_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.cli_path = Some(path.into());
        self
    }

    /// Most time for a run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A variable for the agent.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.set(name, value);
        self
    }

    pub fn name(&self) -> &str {
        self.backend.name()
    }

    /// That the CLI is there and executable; its path.
    pub fn validate(&self) -> Result<PathBuf, Failure> {
        locate::program(
            self.backend,
            self.cli_path.as_deref(),
            self.environment.search_path(),
            Path::new("."),
        )
    }

    /// Runs the agent to its end. What goes wrong is in the result too: `is_error` and `error`.
    ///
    /// It waits in this thread; call it from a thread of its own inside an async program.
    pub fn execute(&self, prompt: Prompt, mut on_event: impl FnMut(&Event<'_>)) -> EventResult {
        let settings = RunSettings {
            cli_path: self.cli_path.clone(),
            timeout: self.timeout,
            schema_retries: 1,
            ..RunSettings::default()
        };
        let finished = engine::run(Job {
            backend: self.backend,
            request: prompt.request,
            settings: &settings,
            environment: &self.environment,
            keeper: None,
            report: &mut Discard,
            progress: &mut Silent,
            output: None,
            callback: Some(&mut on_event),
            signals: SignalPolicy::Leave,
        });
        finished.result
    }
}
