//! `--dry-run`: the exact command, and nothing is spawned. Secrets are never shown.

use crate::backend::{Backend, Launch, ScratchEntry, Stdin};
use crate::cli::OutputFormat;
use crate::config::Environment;
use crate::decide::{RunSettings, Verbosity};
use crate::engine::{self, Mode};
use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use crate::mask::Mask;
use crate::request::Request;
use crate::shell;
use serde::Serialize;
use std::path::PathBuf;

/// Where the private files would lie: a name that shows that it is made for each run.
const SCRATCH: &str = "/tmp/agentctl-SCRATCH";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    program: String,
    argv: Vec<String>,
    cwd: String,
    /// Names only: values may be secret.
    env: Vec<String>,
    env_removed: Vec<String>,
    stdin_bytes: usize,
    files: Vec<String>,
    warnings: Vec<String>,
}

pub fn print(
    backend: &dyn Backend,
    request: &Request,
    settings: &RunSettings,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let mode = if settings.interactive {
        Mode::Interactive
    } else {
        Mode::Headless
    };
    let prepared =
        |request: &Request| engine::prepare(backend, request, settings, environment, PathBuf::from(SCRATCH), mode);
    let mut request = request.clone();
    let prepared = match prepared(&request) {
        Err(failure) if failure.kind == ErrorKind::SessionNotFound && settings.or_new => {
            engine::begin_anew(&mut request, settings.identity.as_deref());
            prepared(&request)?
        }
        prepared => prepared?,
    };
    let launch = &prepared.plan.launch;
    let mask = Mask::of_run(&prepared.site.env, &request, launch);
    let warnings: Vec<String> = settings
        .warnings
        .iter()
        .chain(&prepared.plan.warnings)
        .cloned()
        .collect();
    if settings.verbosity != Verbosity::Quiet {
        super::warn(&warnings);
    }
    match settings.output_format {
        OutputFormat::Text => {
            let line = shell::command_line(launch, &settings.env, &mask);
            super::print(format!("{line}\n").as_bytes())
        }
        OutputFormat::Json | OutputFormat::StreamJson => super::print_json(&view(launch, settings, warnings, &mask)),
    }
}

fn view(launch: &Launch, settings: &RunSettings, warnings: Vec<String>, mask: &Mask) -> View {
    let set = shell::variables(launch, &settings.env);
    let removed = launch.env.iter().filter(|(_, value)| value.is_none());
    View {
        program: launch.program.display().to_string(),
        argv: launch
            .args
            .iter()
            .map(|arg| mask.apply(&arg.to_string_lossy()))
            .collect(),
        cwd: launch.cwd.display().to_string(),
        env: set
            .iter()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect(),
        env_removed: removed.map(|(name, _)| name.to_string_lossy().into_owned()).collect(),
        stdin_bytes: match &launch.stdin {
            Stdin::Bytes(bytes) | Stdin::Held(bytes) => bytes.len(),
            Stdin::Closed | Stdin::Inherited => 0,
        },
        files: launch.files.iter().map(path_of).collect(),
        warnings,
    }
}

fn path_of(entry: &ScratchEntry) -> String {
    entry.path().display().to_string()
}
