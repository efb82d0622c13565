//! Which conversation a command belongs to: looked up, locked, and ready to be kept.

use crate::config::{Layer, Origin, Settings};
use crate::engine::Keeper;
use crate::error::{ErrorKind, Failure};
use crate::request::{Continuation, Conversation, Request};
use crate::session::{Filter, Guard, Key, LockId, Record, Resolution, Store, TranscriptPolicy, Wait};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// How the user named the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// A new one.
    New,
    /// `run --session NAME`: that one, or a new one of this name.
    Named(String),
    /// `resume SESSION`.
    Typed(String),
    /// `resume --last`.
    Last(Reach),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    ThisDirectory,
    AnyDirectory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    Continue,
    Fork,
}

/// A conversation that is ours.
pub struct Selected {
    pub conversation: Conversation,
    pub record: Option<Record>,
    /// What was kept about it is known; else it is new to agentctl.
    pub known: bool,
    place: Option<(Store, Guard)>,
    pub warnings: Vec<String>,
}

/// What is needed to find one.
pub struct Search<'a> {
    pub store: Result<Store, Failure>,
    pub selector: Selector,
    pub branch: Branch,
    pub wait: Wait,
    /// Called before it is waited for another run.
    pub before_waiting: &'a dyn Fn(),
    pub cwd: &'a Path,
    /// The backend of the flag, and the one that is configured.
    pub backend_flag: Option<&'a str>,
    pub backend: &'a str,
    pub absent: Absent,
}

/// What to do if the conversation is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Fail,
    /// `--or-new`.
    Begin,
}

impl Search<'_> {
    pub fn run(self) -> Result<Selected, Failure> {
        let failure = match self.found() {
            Err(failure) if failure.kind == ErrorKind::SessionNotFound && self.absent == Absent::Begin => failure,
            found => return found,
        };
        let mut selected = self.begin();
        selected
            .warnings
            .insert(0, format!("{}: a new conversation takes its place", failure.message));
        Ok(selected)
    }

    fn found(&self) -> Result<Selected, Failure> {
        match self.selector.clone() {
            Selector::New => Ok(self.begin()),
            Selector::Named(name) => self.named(&name),
            Selector::Last(reach) => {
                let store = self.store.as_ref().map_err(Clone::clone)?;
                let last = match (reach, self.backend_flag) {
                    (Reach::ThisDirectory, None) => store.last_in(self.cwd),
                    (Reach::AnyDirectory, None) => store.last(),
                    (_, Some(backend)) => {
                        let filter = Filter {
                            backend: Some(backend.to_owned()),
                            cwd: (reach == Reach::ThisDirectory).then(|| self.cwd.to_owned()),
                            ..Filter::default()
                        };
                        store.recent(&filter, 1).records.pop()
                    }
                };
                let key = last.map(|record| record.key);
                self.known(key.ok_or_else(|| none_yet(reach, self.cwd, self.backend_flag))?)
            }
            Selector::Typed(text) => {
                let store = self.store.as_ref().map_err(Clone::clone)?;
                match (store.resolve(&text), self.backend_flag) {
                    (Resolution::Found(record), _) => {
                        let key = record.key;
                        self.known(key)
                    }
                    (Resolution::Unknown { .. }, Some(backend)) if is_native_id(&text) => {
                        let backend = backend.to_owned();
                        self.foreign(&text, &backend)
                    }
                    _ => Err(store
                        .find(&text)
                        .err()
                        .unwrap_or_else(|| none_yet(Reach::AnyDirectory, self.cwd, None))),
                }
            }
        }
    }

    /// A new conversation that leaves nothing.
    pub fn ephemeral(&self) -> Selected {
        Selected {
            conversation: Conversation::Fresh {
                id: uuid::Uuid::new_v4(),
            },
            record: None,
            known: false,
            place: None,
            warnings: Vec::new(),
        }
    }

    /// A new conversation. A store that cannot be used costs the ability to resume, not the run.
    fn begin(&self) -> Selected {
        if self.wait == Wait::Unheld {
            return self.ephemeral();
        }
        let fresh = Conversation::Fresh {
            id: uuid::Uuid::new_v4(),
        };
        let key = Key::fresh();
        let claimed = self.store.clone().and_then(|store| {
            let guard = store.claim_new(key)?;
            Ok((store, guard))
        });
        match claimed {
            Ok((store, guard)) => {
                let record = Record::new(key, guard.id().clone(), self.backend, self.cwd, Timestamp::now());
                Selected {
                    conversation: fresh,
                    record: Some(record),
                    known: false,
                    place: Some((store, guard)),
                    warnings: Vec::new(),
                }
            }
            Err(failure) => unstored(fresh, &failure),
        }
    }

    fn named(&self, name: &str) -> Result<Selected, Failure> {
        let claim = match &self.store {
            Ok(store) => self.in_turn(|wait| store.claim_name(name, wait)),
            Err(failure) => Err(failure.clone()),
        };
        let claim = match claim {
            Ok(claim) => claim,
            Err(failure) if failure.kind == ErrorKind::Busy => return Err(failure),
            Err(failure) => {
                return Ok(unstored(
                    Conversation::Fresh {
                        id: uuid::Uuid::new_v4(),
                    },
                    &failure,
                ));
            }
        };
        let store = self.store.clone()?;
        let mut warnings = Vec::new();
        if let Some(damaged) = claim.damaged {
            warnings.push(format!(
                "{}; a new conversation takes its place",
                Failure::from(damaged)
            ));
        }
        match claim.record {
            Some(record) => {
                check_backend(&record, self.backend_flag)?;
                let conversation = Conversation::Resume(record.continuation());
                Ok(Selected {
                    conversation,
                    record: Some(record),
                    known: true,
                    place: Some((store, claim.guard)),
                    warnings,
                })
            }
            None => {
                let mut record = Record::new(
                    Key::fresh(),
                    claim.guard.id().clone(),
                    self.backend,
                    self.cwd,
                    Timestamp::now(),
                );
                record.name = Some(name.to_owned());
                Ok(Selected {
                    conversation: Conversation::Fresh {
                        id: uuid::Uuid::new_v4(),
                    },
                    record: Some(record),
                    known: false,
                    place: Some((store, claim.guard)),
                    warnings,
                })
            }
        }
    }

    fn known(&self, key: Key) -> Result<Selected, Failure> {
        let store = self.store.clone()?;
        let (guard, record) = self.in_turn(|wait| store.claim_key(key, wait))?;
        check_backend(&record, self.backend_flag)?;
        self.branch.of(store, guard, record, self.wait)
    }

    /// Claims a conversation, at once if nobody has it.
    fn in_turn<T>(&self, claim: impl Fn(Wait) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.wait == Wait::Unheld {
            return claim(Wait::Unheld);
        }
        match claim(Wait::No) {
            Err(failure) if failure.kind == ErrorKind::Busy && self.wait != Wait::No => {
                (self.before_waiting)();
                claim(self.wait)
            }
            claimed => claimed,
        }
    }

    /// A conversation that was begun outside of agentctl.
    fn foreign(&self, id: &str, backend: &str) -> Result<Selected, Failure> {
        let store = self.store.clone()?;
        let claim = self.in_turn(|wait| store.claim_native_id(backend, id, wait))?;
        // Another run may have taken it up while we waited: it is known then, and has its rights.
        if let Some(record) = claim.record {
            return self.branch.of(store, claim.guard, record, self.wait);
        }
        let key = Key::fresh();
        let of = Continuation {
            native_id: id.to_owned(),
            ..Continuation::default()
        };
        let (conversation, guard) = match self.branch {
            Branch::Continue => (Conversation::Resume(of), claim.guard),
            // What becomes of the original is not our concern, and its lock not ours to hold.
            Branch::Fork => (fork_of(of), lock_new(&store, key, self.wait)?),
        };
        let record = Record::new(key, guard.id().clone(), backend, self.cwd, Timestamp::now());
        Ok(Selected {
            conversation,
            record: Some(record),
            known: false,
            place: Some((store, guard)),
            warnings: Vec::new(),
        })
    }
}

impl Branch {
    /// A known conversation whose lock is ours: itself, or a new one that begins as its copy.
    fn of(self, store: Store, guard: Guard, record: Record, wait: Wait) -> Result<Selected, Failure> {
        let (conversation, record, guard) = match self {
            Self::Continue => (Conversation::Resume(record.continuation()), record, guard),
            Self::Fork => {
                let key = Key::fresh();
                // The original is only read: others may go on with it meanwhile.
                drop(guard);
                let guard = lock_new(&store, key, wait)?;
                let mut fork = Record::new(key, guard.id().clone(), &record.backend, &record.cwd, Timestamp::now());
                fork.parent = Some(record.key);
                inherit(&record, &mut fork);
                (fork_of(record.continuation()), fork, guard)
            }
        };
        Ok(Selected {
            conversation,
            record: Some(record),
            known: true,
            place: Some((store, guard)),
            warnings: Vec::new(),
        })
    }
}

/// The lock of a conversation that begins.
fn lock_new(store: &Store, key: Key, wait: Wait) -> Result<Guard, Failure> {
    match wait {
        Wait::Unheld => store.lock(&LockId::of_key(key), Wait::Unheld),
        _ => store.claim_new(key),
    }
}

fn fork_of(of: Continuation) -> Conversation {
    Conversation::Fork {
        of,
        id: uuid::Uuid::new_v4(),
    }
}

impl Selected {
    /// What the conversation was started with, as a layer of settings above the environment. What it was started
    /// without is said too: a list of tools or directories that the configuration has got since must not give it more.
    pub fn layer(&self) -> Option<Layer> {
        let record = self.record.as_ref().filter(|_| self.known)?;
        let tools = |rules: &[crate::tool::ToolRule]| Some(rules.iter().map(ToString::to_string).collect::<Vec<_>>());
        let system = record.system.as_ref().map(|system| system.text.clone());
        let system_replace = record
            .system
            .as_ref()
            .map(|system| system.placement == crate::request::Placement::Replace);
        let settings = Settings {
            backend: Some(record.backend.clone()),
            model: Some(record.model.clone().unwrap_or_default()),
            effort: record.effort.map(|effort| effort.name().to_owned()),
            permission: Some(record.permission.name().to_owned()),
            allow_tools: tools(&record.allow_tools),
            deny_tools: tools(&record.deny_tools),
            add_dirs: Some(record.add_dirs.clone()),
            system: Some(system.unwrap_or_default()),
            system_replace,
            identity: record.identity.clone(),
            mcp_config: Some(record.mcp_configs.clone()),
            options: (!record.options.is_empty()).then(|| record.options.clone()),
            keep_transcript: (record.transcript == TranscriptPolicy::Keep).then_some(true),
            ..Settings::default()
        };
        Some(Layer::new(settings, Origin::Session(record.key.short().to_owned())))
    }

    /// Where the conversation lives.
    pub fn cwd(&self) -> Option<PathBuf> {
        self.record
            .as_ref()
            .filter(|_| self.known)
            .map(|record| record.cwd.clone())
    }

    /// The record of what was decided, with its lock.
    pub fn keeper(
        self,
        request: &Request,
        identity: Option<&str>,
        mcp_configs: &[PathBuf],
        transcript: TranscriptPolicy,
    ) -> Option<Keeper> {
        let (mut record, (store, guard)) = (self.record?, self.place?);
        record.cwd = request.cwd.clone();
        record.model = request.model.clone().or(record.model);
        record.effort = request.effort;
        record.permission = request.permission;
        record.allow_tools = request.allow_tools.clone();
        record.deny_tools = request.deny_tools.clone();
        record.add_dirs = request.add_dirs.clone();
        record.system = request.system.clone();
        record.identity = identity.map(str::to_owned);
        record.mcp_configs = mcp_configs.to_vec();
        record.options = request.options.clone();
        record.transcript = transcript;
        Some(Keeper::new(store, record, guard))
    }
}

fn inherit(from: &Record, to: &mut Record) {
    to.model = from.model.clone();
    to.effort = from.effort;
    to.permission = from.permission;
    to.allow_tools = from.allow_tools.clone();
    to.deny_tools = from.deny_tools.clone();
    to.add_dirs = from.add_dirs.clone();
    to.system = from.system.clone();
    to.identity = from.identity.clone();
    to.mcp_configs = from.mcp_configs.clone();
    to.options = from.options.clone();
    to.transcript = from.transcript;
}

fn unstored(conversation: Conversation, failure: &Failure) -> Selected {
    Selected {
        conversation,
        record: None,
        known: false,
        place: None,
        warnings: vec![format!(
            "the session cannot be stored, so it cannot be resumed by agentctl: {failure}"
        )],
    }
}

fn check_backend(record: &Record, flag: Option<&str>) -> Result<(), Failure> {
    match flag.filter(|flag| *flag != record.backend) {
        None => Ok(()),
        Some(flag) => Err(Failure::usage(format!(
            "the conversation {} is one of {}, and cannot go on with {flag}",
            record.name.as_deref().unwrap_or(record.key.short()),
            record.backend
        ))
        .hint(format!("leave out `--backend {flag}`, or start a new conversation"))),
    }
}

fn none_yet(reach: Reach, cwd: &Path, backend: Option<&str>) -> Failure {
    let of = backend.map(|backend| format!(" of {backend}")).unwrap_or_default();
    let (message, hint) = match reach {
        Reach::ThisDirectory => (
            format!("there is no conversation{of} in {} yet", cwd.display()),
            "`agentctl resume --last --any-dir` takes the last one of any directory",
        ),
        Reach::AnyDirectory => (format!("there is no conversation{of} yet"), "`agentctl run` starts one"),
    };
    Failure::new(ErrorKind::SessionNotFound, message).hint(hint)
}

/// Whether this may go into an argument of another program: it must not look like a flag or a path, or hold what cannot
/// be seen.
fn is_native_id(text: &str) -> bool {
    let sound = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | ':');
    !text.is_empty() && text.len() <= 128 && !text.starts_with(['-', '.']) && text.chars().all(sound)
}
