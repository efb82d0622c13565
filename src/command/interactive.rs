//! `-i`: the CLI's own terminal UI, with the same backend, model, permission, directory and conversation. Its exit code
//! is ours.

use crate::backend::{Backend, ExitStatus, Feature, Launch, Site, Trace};
use crate::config::Environment;
use crate::decide::{RunSettings, Verbosity};
use crate::engine::{self, Keeper, Mode, Prepared};
use crate::error::{ErrorKind, Failure};
use crate::event::StopReason;
use crate::report::tell;
use crate::request::{Conversation, Request};
use crate::session::Outcome;
use crate::supervise::{self, Scratch, no_scratch};
use std::io::IsTerminal;
use std::path::Path;
use std::time::SystemTime;

pub fn run(
    backend: &dyn Backend,
    request: &Request,
    settings: &RunSettings,
    environment: &Environment,
    keeper: Option<Keeper>,
) -> Result<u8, Failure> {
    check(backend)?;
    let scratch = Scratch::create().map_err(|error| no_scratch(&error))?;
    let path = scratch.path().map(Path::to_owned).unwrap_or_default();
    let Prepared { plan, site } = engine::prepare(backend, request, settings, environment, path, Mode::Interactive)?;
    let say = |text: &str| match settings.verbosity {
        Verbosity::Quiet => {}
        Verbosity::Normal | Verbosity::Verbose => tell(text),
    };
    for warning in settings.warnings.iter().chain(&plan.warnings) {
        say(&format!("warning: {warning}\n"));
    }
    let made = scratch.fill(&plan.launch.files);
    made.map_err(|error| no_scratch(&error))?;
    let since = SystemTime::now();
    let keep = |exit| {
        if let Some(keeper) = keeper {
            let trace = trace(backend, request, &site, &plan.launch, since);
            say(&kept(keeper, trace, exit, backend.display_name()));
        }
        code(exit)
    };
    supervise::interactive(&plan.launch, &site.env, keep).map_err(|error| error.failure())
}

/// Keeps the conversation, if there is one. What the user should know of it.
fn kept(mut keeper: Keeper, trace: Trace, exit: ExitStatus, who: &str) -> String {
    let name = keeper.name().map(|name| format!(" as `{name}`")).unwrap_or_default();
    match trace {
        Trace::Conversation(id) => match keeper.closed(&id, outcome(exit)) {
            Some(warning) => format!("warning: {warning}\n"),
            None => format!(
                "hint: `agentctl resume {}` goes on with it\n",
                keeper.record().key.short()
            ),
        },
        Trace::Nothing if name.is_empty() => String::new(),
        Trace::Nothing => format!("warning: nothing was said, so no conversation is kept{name}\n"),
        Trace::Unknown => {
            format!("warning: {who} does not tell which conversation this was: agentctl does not keep it{name}\n")
        }
    }
}

/// Whether an interactive run makes sense here.
fn check(backend: &dyn Backend) -> Result<(), Failure> {
    let support = backend.capabilities().of(Feature::Interactive);
    if !support.is_supported() {
        return Err(Failure::usage(format!(
            "{} cannot be interactive: {}",
            backend.display_name(),
            support.note
        )));
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(
            Failure::usage("--interactive wants a terminal on standard input and output")
                .hint("leave it out for a headless run"),
        );
    }
    Ok(())
}

/// Which conversation there is to go on with.
fn trace(backend: &dyn Backend, request: &Request, site: &Site, launch: &Launch, since: SystemTime) -> Trace {
    let id = match &request.conversation {
        // It is there, also if nothing more was said, and whatever else was begun meanwhile.
        Conversation::Resume(of) => return Trace::Conversation(of.native_id.clone()),
        Conversation::Fresh { id } | Conversation::Fork { id, .. } => id.to_string(),
    };
    match backend.left_behind(request, site, since) {
        // If the CLI lets us choose the id, it is the one that we chose.
        Trace::Unknown if launch.args.iter().any(|arg| *arg == *id) => Trace::Conversation(id),
        trace => trace,
    }
}

/// As far as an exit code can tell.
fn outcome(exit: ExitStatus) -> Outcome {
    let (stop_reason, error) = match code(exit) {
        0 => (StopReason::Completed, None),
        130 | 143 => (StopReason::Interrupted, Some(ErrorKind::Interrupted)),
        _ => (StopReason::Error, Some(ErrorKind::Crashed)),
    };
    Outcome { stop_reason, error }
}

/// As a shell would tell it.
fn code(exit: ExitStatus) -> u8 {
    let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{BACKENDS, find};
    use crate::request::Continuation;

    fn site(home: &Path) -> Site {
        Site {
            program: "/bin/cli".into(),
            scratch: "/scratch".into(),
            home: home.to_owned(),
            env: Default::default(),
            root: false,
        }
    }

    #[test]
    fn a_conversation_that_went_on_is_still_there_whatever_the_cli_left_behind() {
        let home = tempfile::tempdir().unwrap();
        let site = site(home.path());
        let launch = Launch::new(&site, home.path());
        // What Codex says of a thread that was begun without its interface, and of another one.
        let folder = home.path().join(".codex/sessions/2026/11/18");
        std::fs::create_dir_all(&folder).unwrap();
        for (id, source) in [("known", "exec"), ("other", "cli")] {
            let line = serde_json::json!({"payload": {"id": id, "cwd": home.path(), "source": source}});
            std::fs::write(folder.join(format!("rollout-{id}.jsonl")), line.to_string()).unwrap();
        }
        for backend in BACKENDS {
            let mut request = Request::new("", home.path());
            request.conversation = Conversation::Resume(Continuation {
                native_id: "known".to_owned(),
                ..Continuation::default()
            });
            let trace = trace(*backend, &request, &site, &launch, SystemTime::UNIX_EPOCH);
            assert_eq!(trace, Trace::Conversation("known".to_owned()), "{}", backend.name());
        }
        let codex = find("codex").unwrap();
        let fresh = Request::new("", home.path());
        let trace = trace(codex, &fresh, &site, &launch, SystemTime::UNIX_EPOCH);
        assert_eq!(trace, Trace::Conversation("other".to_owned()));
    }
}
