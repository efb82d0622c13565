//! `--live`: one tiny answer, and how long it took.

use super::report::{Check, LiveReport};
use crate::backend::Backend;
use crate::config::Environment;
use crate::decide::RunSettings;
use crate::engine::{self, Job};
use crate::event::Event;
use crate::exit::Exit;
use crate::report::{Discard, Silent};
use crate::request::{Permission, Persistence, Request};
use crate::supervise::SignalPolicy;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PROMPT: &str = "Answer with the single word: ok";
/// Long enough for a slow provider, short enough for a terminal.
const PATIENCE: Duration = Duration::from_secs(90);

/// Asks one backend for one word. Nothing is left to resume.
pub fn ask_live(
    backend: &dyn Backend,
    cli_path: Option<PathBuf>,
    model: Option<String>,
    environment: &Environment,
    cwd: &Path,
) -> (LiveReport, Check) {
    let capabilities = backend.capabilities();
    let mut request = Request::new(PROMPT, cwd);
    request.model = model;
    request.max_turns = Some(2);
    // One word needs no rights; a backend that knows no less than all is asked all the same.
    if capabilities.of(crate::backend::Feature::ReadOnly).is_supported() {
        request.permission = Permission::ReadOnly;
    }
    if capabilities.of(crate::backend::Feature::Ephemeral).is_supported() {
        request.persistence = Persistence::Ephemeral;
    }
    let settings = RunSettings {
        cli_path,
        timeout: Some(PATIENCE),
        retry_for: Some(PATIENCE / 3),
        ..RunSettings::default()
    };
    let begun = Instant::now();
    let mut first_text = None;
    let mut watch = |event: &Event<'_>| {
        if matches!(event, Event::Text { .. }) && first_text.is_none() {
            first_text = Some(begun.elapsed());
        }
    };
    let finished = engine::run(Job {
        backend,
        request,
        settings: &settings,
        environment,
        keeper: None,
        report: &mut Discard,
        progress: &mut Silent,
        output: None,
        callback: Some(&mut watch),
        signals: SignalPolicy::Handle,
    });
    let live = LiveReport {
        ok: !finished.result.is_error,
        first_text_ms: first_text.map(milliseconds),
        total_ms: milliseconds(begun.elapsed()),
        model: finished.result.model,
        cost_usd: finished.result.cost_usd,
        error: finished.result.error,
    };
    let check = told(&live, finished.exit);
    (live, check)
}

fn told(live: &LiveReport, exit: Exit) -> Check {
    if let Some(failure) = &live.error {
        let check = Check::failure("live", exit, failure.message.clone());
        return match &failure.hint {
            Some(hint) => check.hint(hint.clone()),
            None => check,
        };
    }
    let first = live.first_text_ms.map(|time| format!("first text after {time} ms, "));
    let model = live.model.as_ref().map(|model| format!(", {model}"));
    let cost = live.cost_usd.map(|cost| format!(", ${cost:.4}"));
    Check::ok(
        "live",
        format!(
            "{}all after {} ms{}{}",
            first.unwrap_or_default(),
            live.total_ms,
            model.unwrap_or_default(),
            cost.unwrap_or_default()
        ),
    )
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
