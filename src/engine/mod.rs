//! One run from a request to a result: plan, supervise, decode, settle, keep. The recipe; each step is a file.

mod attempt;
mod driver;
mod keeper;
mod prepare;
mod recorder;
mod stage;

pub use keeper::Keeper;
pub use prepare::{Mode, Prepared, prepare};
pub use stage::OnEvent;

use crate::backend::{Backend, Feature};
use crate::config::Environment;
use crate::decide::RunSettings;
use crate::error::{ErrorKind, Failure};
use crate::event::{EventResult, Resumed};
use crate::exit::Exit;
use crate::marker::Marker;
use crate::outcome;
use crate::report::{Progress, Report, Spool, SpoolError};
use crate::request::{Continuation, Conversation, Persistence, Request};
use crate::supervise::{self, OutputClosed, SignalPolicy};
use crate::{media, schema};
use attempt::{Attempt, Settled};
use serde_json::Value;
use stage::Stage;
use std::cell::Cell;
use std::io;
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
    match runtime() {
        Ok(runtime) => runtime.block_on(converse(job)),
        Err(error) => refuse(job, supervise::shortage(format!("the run cannot start: {error}"))),
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    // Where it has no descriptors for its signals, tokio panics: six are what it takes all in all.
    let spare = [io::pipe()?, io::pipe()?, io::pipe()?];
    drop(spare);
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Tells why there is no run.
fn refuse(job: Job<'_>, failure: Failure) -> Finished {
    let (result, exit) = outcome::refused(job.backend.name(), failure);
    let carry = attempt::Carry::new();
    let mut settled = Settled { result, exit, carry };
    let mut stage = Stage::new(job.report, job.progress, job.output.map(|(spool, _)| spool), job.keeper);
    complete(&mut settled, job.settings, &mut stage, &job.request.prompt);
    deliver(stage, settled)
}

/// The run itself, and the further ones that mend its answer.
async fn converse(job: Job<'_>) -> Finished {
    let (spool, closed) = job.output.unzip();
    let mut stage = Stage {
        marker: job.settings.marker.clone().map(Marker::new),
        callback: job.callback,
        ..Stage::new(job.report, job.progress, spool, job.keeper)
    };
    let attempt = Attempt {
        backend: job.backend,
        settings: job.settings,
        environment: job.environment,
        signals: job.signals,
        closed: closed.as_ref(),
        begun: Instant::now(),
        recorded: Cell::new(0),
    };
    let mut request = job.request;
    let prompt = request.prompt.clone();
    let mut settled = attempt.settled(&request, &mut stage).await;
    if job.settings.or_new && settled.is(ErrorKind::SessionNotFound) {
        begin_anew(&mut request, job.settings.identity.as_deref());
        settled = attempt.settled(&request, &mut stage).await;
    }
    if let Some(wanted) = &request.schema {
        settled = fitted(&attempt, settled, &request, wanted, &mut stage).await;
    }
    complete(&mut settled, job.settings, &mut stage, &prompt);
    deliver(stage, settled)
}

/// The conversation was not there, and a new one will do.
pub fn begin_anew(request: &mut Request, identity: Option<&str>) {
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
    // After a signal or a timeout the reader gets a moment, not all the time in the world.
    let hurried = matches!(exit, Exit::Interrupted | Exit::Terminated | Exit::Timeout);
    stage.report.result(&result, &mut stage.out);
    stage.progress.make_room();
    match hurried {
        false => stage.flush_last(),
        true => stage.flush(),
    }
    // Nobody is left to be told: `| head` has what it wanted.
    if !stage.spool.as_ref().is_some_and(Spool::reader_is_gone) {
        stage.conclude(&result);
    }
    let give_up = Instant::now() + PARTING_PATIENCE;
    let patience = || hurried.then(|| give_up.saturating_duration_since(Instant::now()));
    let written = stage.spool.map_or(Ok(()), |spool| spool.finish(patience()));
    match written {
        // Who has read enough goes away; what the agent had to do is done.
        Ok(()) | Err(SpoolError::Closed) => {}
        Err(error) => {
            // It may be what ended the run, and is told then.
            let why = error.to_string();
            if result.error.as_ref().is_none_or(|failure| failure.message != why) {
                stage.progress.output_failed(&error);
            }
            exit = if exit == Exit::Success { Exit::AgentFailed } else { exit };
        }
    }
    stage.progress.finish(patience());
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
    result.warnings.append(&mut stage.warnings);
    let Some(mut keeper) = stage.keeper.take() else { return };
    for message in keeper.finish(result, carry, prompt) {
        result.warnings.push(message.clone());
        stage.warn_last(message);
    }
    result.session = keeper.key();
    result.name = keeper.name().map(str::to_owned);
    // The lock is held until the result is out.
    stage.keeper = Some(keeper);
}

/// Checks the answer against the schema, and asks again as often as was allowed.
async fn fitted(
    attempt: &Attempt<'_>,
    mut settled: Settled,
    request: &Request,
    wanted: &Value,
    stage: &mut Stage<'_>,
) -> Settled {
    let mut retries = attempt.settings.schema_retries;
    while !settled.result.is_error {
        let native = settled.result.structured.take();
        match schema::validate(wanted, &settled.result.response_text, native) {
            Ok(value) => {
                settled.result.structured = Some(value);
                break;
            }
            Err(mismatch) if retries > 0 && can_resume(attempt.backend, request, &settled.result) => {
                retries -= 1;
                stage.warn_of_run(format!("the answer does not fit the schema ({mismatch}): asking again"));
                let again = repair_request(request, wanted, &mismatch, &settled);
                let next = attempt.settled(&again, stage).await;
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

fn can_resume(backend: &dyn Backend, request: &Request, result: &EventResult) -> bool {
    backend.capabilities().of(Feature::Resume).is_supported()
        && request.persistence == Persistence::Keep
        && !result.session_id.is_empty()
}

fn repair_request(request: &Request, wanted: &Value, mismatch: &str, settled: &Settled) -> Request {
    let mut again = request.clone();
    again.prompt = schema::repair(wanted, mismatch);
    again.attachments.clear();
    // What was remembered is not about a conversation that the CLI began in the place of a lost one.
    let known = request.conversation.continuation();
    let known = known.filter(|_| settled.result.resumed != Resumed::Fresh);
    let mut carried = known.map(|of| of.carried.clone()).unwrap_or_default();
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
