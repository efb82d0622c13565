//! One run from a request to a result: plan, supervise, decode, settle, keep. The recipe; each step is a file.

mod driver;
mod keeper;
mod prepare;
mod recorder;
mod stage;

pub use keeper::Keeper;
pub use prepare::{Mode, Prepared, prepare};
pub use stage::OnEvent;

use crate::backend::{Backend, Feature, Sink, Stdin, SupportLevel, Tally};
use crate::config::Environment;
use crate::decide::{RunSettings, Verbosity};
use crate::error::{ErrorKind, Failure};
use crate::event::{Event, EventResult, Resumed, StopReason};
use crate::exit::Exit;
use crate::marker::Marker;
use crate::mask::Mask;
use crate::outcome::{self, Ended, Facts};
use crate::report::{Progress, Report, Spool, SpoolError, tell};
use crate::request::{Continuation, Conversation, Persistence, Request};
use crate::supervise::{self, Ending, Limits, OutputClosed, Scratch, SignalPolicy, Why};
use crate::{doctor, locate, media, schema};
use driver::{Rules, RunDriver};
use recorder::Recorder;
use serde_json::Value;
use stage::Stage;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Everything that one run needs.
pub struct Job<'a> {
    pub backend: &'a dyn Backend,
    pub request: Request,
    pub settings: &'a RunSettings,
    pub environment: &'a Environment,
    /// The conversation's record and lock; none when nothing is to be resumed, or nothing can be stored.
    pub keeper: Option<Keeper>,
    pub report: &'a mut dyn Report,
    pub progress: &'a mut dyn Progress,
    /// Where the report's bytes go, and the word that nobody reads them any more.
    pub output: Option<(Spool, OutputClosed)>,
    pub callback: Option<&'a mut OnEvent<'a>>,
    pub signals: SignalPolicy,
}

/// How long an interrupted run waits for whoever reads its output.
const PARTING_PATIENCE: Duration = Duration::from_secs(2);

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Finished {
    pub result: EventResult,
    pub exit: Exit,
}

/// Runs a job to its end. Whatever happens, there is a result, it was reported, and no process is left.
pub fn run(job: Job<'_>) -> Finished {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(converse(job)),
        Err(error) => {
            let failure = Failure::new(ErrorKind::Crashed, format!("cannot start the runtime: {error}"));
            let (result, exit) = outcome::refused(job.backend.name(), failure);
            Finished { result, exit }
        }
    }
}

/// The run itself, and the further ones that mend its answer.
async fn converse(job: Job<'_>) -> Finished {
    let (spool, closed) = job.output.unzip();
    let mut stage = Stage {
        report: job.report,
        out: Vec::new(),
        spool,
        progress: job.progress,
        keeper: job.keeper,
        marker: job.settings.marker.clone().map(Marker::new),
        callback: job.callback,
        progress_count: 0,
    };
    let attempt = Attempt {
        backend: job.backend,
        settings: job.settings,
        environment: job.environment,
        signals: job.signals,
        closed: closed.as_ref(),
        begun: Instant::now(),
    };
    let mut request = job.request;
    let prompt = request.prompt.clone();
    let mut settled = attempt.settled(&request, &mut stage).await;
    if job.settings.or_new && settled.is(ErrorKind::SessionNotFound) {
        begin_anew(&mut request, job.settings.identity.as_deref());
        settled = attempt.settled(&request, &mut stage).await;
    }
    if let Some(wanted) = &request.schema {
        settled = attempt.fitted(settled, &request, wanted, &mut stage).await;
    }
    complete(&mut settled, job.settings, &mut stage, &prompt);
    deliver(stage, settled)
}

/// The conversation was not there, and a new one will do.
fn begin_anew(request: &mut Request, identity: Option<&str>) {
    request.conversation = Conversation::Fresh {
        id: uuid::Uuid::new_v4(),
    };
    if let Some(identity) = identity {
        request.prompt = format!("{identity}\n\n{}", request.prompt);
    }
}

/// Reports the result and waits until everything is written.
fn deliver(mut stage: Stage<'_>, settled: Settled) -> Finished {
    let Settled { result, mut exit, .. } = settled;
    stage.report.result(&result, &mut stage.out);
    stage.flush();
    // Nobody is left to be told: `| head` has what it wanted.
    if !stage.spool.as_ref().is_some_and(Spool::reader_is_gone) {
        stage.settle();
        stage.progress.result(&result);
    }
    if let Some(spool) = stage.spool {
        // After a signal or a timeout the reader gets a moment, not all the time in the world.
        let patience = matches!(exit, Exit::Interrupted | Exit::Terminated | Exit::Timeout).then_some(PARTING_PATIENCE);
        if let Err(error) = spool.finish(patience) {
            if !matches!(error, SpoolError::Closed) {
                tell(&format!("error: {error}\n"));
            }
            exit = if exit == Exit::Success { Exit::AgentFailed } else { exit };
        }
    }
    Finished { result, exit }
}

/// Adds what only agentctl knows about a result.
fn complete(settled: &mut Settled, settings: &RunSettings, stage: &mut Stage<'_>, prompt: &str) {
    let Settled { result, carry, .. } = settled;
    if let Some(marker) = &mut stage.marker {
        if !marker.found() {
            // The final text may never have come as a delta.
            marker.feed("\n");
            marker.feed(&result.response_text);
        }
        result.marker_detected = Some(marker.found());
    }
    if settings.media {
        (result.response_text, result.media) = media::extract(&result.response_text);
    }
    let Some(mut keeper) = stage.keeper.take() else { return };
    for message in keeper.finish(result, carry, prompt) {
        result.warnings.push(message.clone());
        stage.event(&Event::Warning {
            message: Cow::Owned(message),
        });
    }
    result.session = keeper.key();
    result.name = keeper.name().map(str::to_owned);
    // The lock is held until the result is out.
    stage.keeper = Some(keeper);
}

fn can_resume(backend: &dyn Backend, request: &Request, result: &EventResult) -> bool {
    backend.capabilities().of(Feature::Resume).is_supported()
        && request.persistence == Persistence::Keep
        && !result.session_id.is_empty()
}

fn repair_request(request: &Request, wanted: &Value, mismatch: &str, settled: &Settled) -> Request {
    let mut again = request.clone();
    again.prompt = schema::repair(wanted, mismatch);
    again.attachments.clear();
    let carried = request.conversation.continuation().map(|of| of.carried.clone());
    let mut carried = carried.unwrap_or_default();
    carried.extend(settled.carry.clone());
    again.conversation = Conversation::Resume(Continuation {
        native_id: settled.result.session_id.clone(),
        carried,
    });
    again
}

/// Two runs of one conversation as one result: the later answer, the sum of the figures.
fn joined(earlier: EventResult, later: EventResult) -> EventResult {
    let cost = [earlier.cost_usd, later.cost_usd]
        .into_iter()
        .flatten()
        .reduce(|left, right| left + right);
    EventResult {
        resumed: earlier.resumed,
        usage: earlier.usage.plus(later.usage),
        cost_usd: cost,
        turns: earlier.turns.saturating_add(later.turns),
        tool_calls: earlier.tool_calls.saturating_add(later.tool_calls),
        denied_tools: earlier.denied_tools.into_iter().chain(later.denied_tools).collect(),
        warnings: earlier.warnings.into_iter().chain(later.warnings).collect(),
        ..later
    }
}

type Carry = BTreeMap<String, String>;

/// What a process came to.
struct Settled {
    result: EventResult,
    exit: Exit,
    /// What the next run of the conversation must know.
    carry: Carry,
}

impl Settled {
    fn is(&self, kind: ErrorKind) -> bool {
        self.result.error.as_ref().is_some_and(|error| error.kind == kind)
    }

    fn fail(&mut self, failure: Failure) {
        self.exit = failure.kind.exit();
        self.result.is_error = true;
        self.result.stop_reason = StopReason::Error;
        self.result.error = Some(failure);
    }
}

/// What stays the same over the processes of one run.
struct Attempt<'a> {
    backend: &'a dyn Backend,
    settings: &'a RunSettings,
    environment: &'a Environment,
    signals: SignalPolicy,
    closed: Option<&'a OutputClosed>,
    begun: Instant,
}

impl Attempt<'_> {
    /// Checks the answer against the schema, and asks again as often as was allowed.
    async fn fitted(&self, mut settled: Settled, request: &Request, wanted: &Value, stage: &mut Stage<'_>) -> Settled {
        let mut retries = self.settings.schema_retries;
        while !settled.result.is_error {
            let native = settled.result.structured.take();
            match schema::validate(wanted, &settled.result.response_text, native) {
                Ok(value) => {
                    settled.result.structured = Some(value);
                    break;
                }
                Err(mismatch) if retries > 0 && can_resume(self.backend, request, &settled.result) => {
                    retries -= 1;
                    self.warn(
                        stage,
                        format!("the answer does not fit the schema ({mismatch}): asking again"),
                    );
                    let again = repair_request(request, wanted, &mismatch, &settled);
                    let next = self.settled(&again, stage).await;
                    settled = Settled {
                        result: joined(settled.result, next.result),
                        ..next
                    };
                }
                Err(mismatch) => {
                    let message = format!("the answer does not fit the schema: {mismatch}");
                    settled.fail(Failure::new(ErrorKind::SchemaMismatch, message));
                }
            }
        }
        settled
    }

    /// One process from plan to result.
    async fn settled(&self, request: &Request, stage: &mut Stage<'_>) -> Settled {
        let (tally, ended, ending, warnings) = match self.process(request, stage).await {
            Ok(done) => done,
            Err(mut failure) => {
                self.explain(&mut failure, request);
                let (result, exit) = outcome::refused(self.backend.name(), failure);
                return Settled {
                    result,
                    exit,
                    carry: Carry::new(),
                };
            }
        };
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
        let Ok(env) = prepare::child_environment(self.settings, self.environment) else {
            return;
        };
        let search_path = env.get(std::ffi::OsStr::new("PATH")).map(std::ffi::OsString::as_os_str);
        let program = locate::program(
            self.backend,
            self.settings.cli_path.as_deref(),
            search_path,
            &request.cwd,
        );
        doctor::probable_cause(failure, self.backend, program, &Environment::from_pairs(env));
    }

    fn warn(&self, stage: &mut Stage<'_>, message: String) {
        stage.event(&Event::Warning {
            message: Cow::Owned(message),
        });
    }

    /// Starts the CLI and drives it to its end.
    async fn process(
        &self,
        request: &Request,
        stage: &mut Stage<'_>,
    ) -> Result<(Tally, Ended, Ending, Vec<String>), Failure> {
        let scratch = Scratch::create();
        let mut scratch = scratch.map_err(|error| {
            Failure::new(
                ErrorKind::Crashed,
                format!("cannot make a private temporary directory: {error}"),
            )
        })?;
        let path = scratch.path().to_owned();
        let prepared = prepare(
            self.backend,
            request,
            self.settings,
            self.environment,
            path,
            Mode::Headless,
        )?;
        let Prepared { plan, env } = prepared;
        let warnings: Vec<String> = self
            .settings
            .warnings
            .iter()
            .cloned()
            .chain(plan.warnings.clone())
            .collect();
        for message in &warnings {
            self.warn(stage, message.clone());
        }
        let mask = (self.settings.verbosity == Verbosity::Verbose).then(|| Mask::of(&env));
        if let Some(mask) = &mask {
            stage
                .progress
                .trace("+", &mask.apply(&crate::shell::command_line(&plan.launch)));
        }
        let recorder = self
            .settings
            .record
            .as_deref()
            .map(|path| Recorder::create(path, self.backend.name()))
            .transpose()?;
        let emulated = self.backend.capabilities().of(Feature::MaxTurns).level == SupportLevel::Emulated;
        let rules = Rules {
            display_name: self.backend.display_name(),
            conversation: &request.conversation,
            max_turns: request.max_turns.filter(|_| emulated),
            retry_for: self.settings.retry_for,
            max_retries: request.patience.max_retries,
            or_new: self.settings.or_new,
        };
        let limits = Limits {
            timeout: self.settings.timeout,
            idle_timeout: self.settings.idle_timeout,
            ..Limits::default()
        };
        // The lock outlives us in the guard process, so that nobody else goes on while something of this run lives.
        let lock = stage
            .keeper
            .as_ref()
            .and_then(|keeper| keeper.guard().file().try_clone().ok());
        let mut driver = RunDriver::new(self.backend.protocol(request), stage, rules);
        driver.mask = mask.as_ref();
        driver.raw_events = self.settings.raw_events;
        driver.recorder = recorder;
        if let (Some(recorder), Stdin::Bytes(bytes) | Stdin::Held(bytes)) = (&mut driver.recorder, &plan.launch.stdin) {
            recorder.stdin(bytes);
        }
        driver.stage.flush();
        let run = supervise::Run {
            launch: &plan.launch,
            env: &env,
            limits: &limits,
            signals: self.signals,
            keep_open: lock.as_ref(),
            scratch: Some(&mut scratch),
            output_closed: self.closed,
        };
        let ending = supervise::run(run, &mut driver)
            .await
            .map_err(|error| error.failure())?;
        driver.finish(ending.exit);
        let mut warnings = warnings;
        warnings.extend(driver.recorder.take().and_then(|recorder| recorder.finish(ending.exit)));
        let ended = driver.stopped.unwrap_or_else(|| ended(ending.why));
        Ok((driver.tally, ended, ending, warnings))
    }
}

fn ended(why: Why) -> Ended {
    match why {
        Why::Exited | Why::Lingered => Ended::ByItself,
        Why::Stopped => Ended::ByProtocol,
        Why::Timeout => Ended::Timeout,
        Why::IdleTimeout => Ended::IdleTimeout,
        Why::Signal(signal) => Ended::Signal(signal),
        Why::OutputClosed => Ended::OutputClosed,
    }
}
