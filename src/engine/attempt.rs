//! One process after the other until there is something to tell: from a plan to a result.

use super::driver::{Rules, RunDriver};
use super::prepare::{Mode, Prepared, child_environment, prepare};
use super::recorder::Recorder;
use super::stage::Stage;
use crate::backend::{Backend, Feature, Sink, Stdin, SupportLevel, Tally};
use crate::config::Environment;
use crate::decide::{RunSettings, Verbosity};
use crate::error::{ErrorKind, Failure};
use crate::event::{Event, EventResult, Resumed, StopReason};
use crate::exit::Exit;
use crate::mask::Mask;
use crate::outcome::{self, Ended, Facts};
use crate::report::Spool;
use crate::request::{Conversation, Request};
use crate::supervise::{self, Ending, Limits, OutputClosed, Scratch, SignalPolicy, Why, no_scratch};
use crate::{doctor, locate, shell};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// How often a CLI is started again that gave up before it did anything. A start takes longer than what it stumbles over
/// lasts, so there is no pause between them.
const RESTARTS: u32 = 5;

pub(super) type Carry = BTreeMap<String, String>;

/// What a process came to.
pub(super) struct Settled {
    pub result: EventResult,
    pub exit: Exit,
    /// What the next run of the conversation must know.
    pub carry: Carry,
}

impl Settled {
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.result.error.as_ref().is_some_and(|error| error.kind == kind)
    }

    pub fn fail(&mut self, failure: Failure) {
        self.exit = failure.kind.exit();
        self.result.is_error = true;
        self.result.stop_reason = StopReason::Error;
        self.result.error = Some(failure);
    }
}

/// Which start of one and the same command it is.
#[derive(Clone, Copy, Debug)]
struct Round {
    restart: u32,
    restarts: u32,
}

/// What came of starting the CLI.
enum Start {
    Ran(Box<Ran>),
    /// It did nothing, because of something that passes, and may be started again.
    InVain(Failure),
}

struct Ran {
    tally: Tally,
    ended: Ended,
    ending: Ending,
    warnings: Vec<String>,
}

/// What stays the same over the processes of one run.
pub(super) struct Attempt<'a> {
    pub backend: &'a dyn Backend,
    pub settings: &'a RunSettings,
    pub environment: &'a Environment,
    pub signals: SignalPolicy,
    pub closed: Option<&'a OutputClosed>,
    pub begun: Instant,
    /// How many processes are in the recording.
    pub recorded: Cell<u32>,
}

impl Attempt<'_> {
    /// One process from plan to result. One that did not get to do anything is started again.
    pub async fn settled(&self, request: &Request, stage: &mut Stage<'_>) -> Settled {
        let mut round = Round {
            restart: 0,
            restarts: request.patience.max_retries.unwrap_or(RESTARTS).min(RESTARTS),
        };
        loop {
            match self.process(request, stage, round).await {
                Ok(Start::Ran(ran)) => return self.settle(*ran, request),
                Ok(Start::InVain(failure)) => {
                    round.restart += 1;
                    stage.event(&Event::Retry {
                        attempt: round.restart,
                        max_attempts: Some(round.restarts),
                        delay_ms: None,
                        reason: Cow::Owned(failure.message),
                    });
                }
                Err(failure) => return self.refused(failure, request),
            }
        }
    }

    fn refused(&self, mut failure: Failure, request: &Request) -> Settled {
        self.explain(&mut failure, request);
        let (result, exit) = outcome::refused(self.backend.name(), failure);
        Settled {
            result,
            exit,
            carry: Carry::new(),
        }
    }

    fn settle(&self, ran: Ran, request: &Request) -> Settled {
        let Ran {
            tally,
            ended,
            ending,
            warnings,
        } = ran;
        let carry = tally.carry.clone();
        let reported = outcome::resumed(&request.conversation, tally.session_id.as_deref());
        let anew = Conversation::Fresh { id: uuid::Uuid::nil() };
        let (mut result, exit) = outcome::settle(Facts {
            backend: self.backend.name(),
            display_name: self.backend.display_name(),
            // A CLI that began a new conversation by itself did what `--or-new` asks for.
            conversation: match self.settings.or_new && reported == Resumed::Fresh {
                true => &anew,
                false => &request.conversation,
            },
            persistence: request.persistence,
            tally,
            ended,
            exit: ending.exit,
            stderr_tail: &ending.stderr_tail,
            max_turns: request.max_turns,
            duration_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        result.warnings.splice(0..0, warnings);
        if let Some(failure) = &mut result.error {
            self.explain(failure, request);
        }
        Settled { result, exit, carry }
    }

    /// Names the probable cause of a failure that says too little by itself.
    fn explain(&self, failure: &mut Failure, request: &Request) {
        let Ok(env) = child_environment(self.settings, self.environment) else {
            return;
        };
        let program = locate::program(
            self.backend,
            self.settings.cli_path.as_deref(),
            env.search_path(),
            &request.cwd,
        );
        doctor::probable_cause(failure, self.backend, program, &env);
    }

    /// The plan of a run, and a private directory if the plan has anything to put there.
    fn prepared(&self, request: &Request) -> Result<(Scratch, Prepared), Failure> {
        let prepared = |scratch: &Path| {
            let scratch = scratch.to_owned();
            let mode = Mode::Headless;
            prepare(self.backend, request, self.settings, self.environment, scratch, mode)
        };
        let imagined = supervise::default_root().join("imagined");
        let without = prepared(&imagined)?;
        if !without.plan.launch.mentions(&imagined) {
            return Ok((Scratch::nowhere(), without));
        }
        let scratch = Scratch::create().map_err(|error| no_scratch(&error))?;
        let with = prepared(scratch.path().unwrap_or(&imagined))?;
        Ok((scratch, with))
    }

    fn recorder(&self, request: &Request) -> Result<Option<Recorder>, Failure> {
        let Some(path) = &self.settings.record else {
            return Ok(None);
        };
        Recorder::begin(path, self.recorded.get(), self.backend.name(), &request.conversation).map(Some)
    }

    fn rules<'r>(&'r self, request: &'r Request) -> Rules<'r> {
        let emulated = self.backend.capabilities().of(Feature::MaxTurns).level == SupportLevel::Emulated;
        Rules {
            display_name: self.backend.display_name(),
            conversation: &request.conversation,
            max_turns: request.max_turns.filter(|_| emulated),
            retry_for: self.settings.retry_for,
            max_retries: request.patience.max_retries,
            or_new: self.settings.or_new,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            // Of the whole run, however many processes it takes.
            timeout: self
                .settings
                .timeout
                .map(|all| all.saturating_sub(self.begun.elapsed())),
            idle_timeout: self.settings.idle_timeout,
            ..Limits::default()
        }
    }

    /// Starts the CLI and drives it to its end.
    async fn process(&self, request: &Request, stage: &mut Stage<'_>, round: Round) -> Result<Start, Failure> {
        let (mut scratch, prepared) = self.prepared(request)?;
        let Prepared { plan, site } = prepared;
        let env = site.env;
        let mut warnings = self.settings.warnings.clone();
        warnings.extend(plan.warnings.iter().cloned());
        for message in warnings.iter().filter(|_| round.restart == 0) {
            stage.warn(message.clone());
        }
        let verbose = self.settings.verbosity == Verbosity::Verbose;
        let mask = verbose.then(|| Mask::of_run(&env, request, &plan.launch));
        if let Some(mask) = &mask {
            let command = shell::command_line(&plan.launch, &self.settings.env, mask);
            stage.progress.trace("+", &command);
        }
        let mut recorder = self.recorder(request)?;
        if let (Some(recorder), Stdin::Bytes(bytes) | Stdin::Held(bytes)) = (&mut recorder, &plan.launch.stdin) {
            recorder.stdin(bytes);
        }
        // The lock outlives us in the guard process, so that nobody else goes on while something of this run lives.
        let lock = stage
            .keeper
            .as_ref()
            .and_then(|keeper| keeper.guard().file()?.try_clone().ok());
        let mut driver = RunDriver::new(self.backend.protocol(request), stage, self.rules(request));
        driver.mask = mask.as_ref();
        driver.raw_events = self.settings.raw_events;
        driver.recorder = recorder;
        driver.stage.flush();
        let run = supervise::Run {
            launch: &plan.launch,
            env: &env,
            limits: &self.limits(),
            signals: self.signals,
            keep_open: lock.as_ref(),
            scratch: Some(&mut scratch),
            output_closed: self.closed,
        };
        let ending = supervise::run(run, &mut driver)
            .await
            .map_err(|error| error.failure())?;
        driver.finish(ending.exit);
        let failed = driver.stage.spool.as_ref().and_then(Spool::failure);
        let ended = driver.stopped.take().unwrap_or_else(|| ended(ending.why, failed));
        let RunDriver {
            mut tally,
            recorder,
            stage,
            ..
        } = driver;
        stage.parting = Some(scratch.part());
        let in_vain = tally.never_began && ended == Ended::ByItself && round.restart < round.restarts;
        if let Some(failure) = tally.failure.take_if(|_| in_vain) {
            if let Some(recorder) = recorder {
                recorder.discard();
            }
            return Ok(Start::InVain(failure));
        }
        self.recorded.set(self.recorded.get() + 1);
        warnings.extend(recorder.and_then(|recorder| recorder.finish(ending.exit)));
        Ok(Start::Ran(Box::new(Ran {
            tally,
            ended,
            ending,
            warnings,
        })))
    }
}

/// With what the output failed of, if it did.
fn ended(why: Why, output_failed: Option<String>) -> Ended {
    match why {
        Why::Exited | Why::Lingered => Ended::ByItself,
        Why::Stopped => Ended::ByProtocol,
        Why::Timeout => Ended::Timeout,
        Why::IdleTimeout => Ended::IdleTimeout,
        Why::Signal(signal) => Ended::Signal(signal),
        Why::OutputClosed => output_failed.map_or(Ended::OutputClosed, Ended::OutputFailed),
    }
}
