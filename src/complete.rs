//! Values for the shell's completion: backends, profiles and conversations as they are on this machine.
//!
//! The completion scripts call agentctl back with `AGENTCTL_COMPLETE` set; nothing here may print or fail.

use crate::catalog::Catalog;
use crate::config::{Config, Environment};
use crate::session::{Filter, Record, Store};
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use std::ffi::OsString;
use std::path::Path;

const VARIABLE: &str = "AGENTCTL_COMPLETE";

/// The most conversations offered.
const SESSIONS_OFFERED: usize = 50;

/// Answers a completion script. False if none asks.
pub fn answer(args: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(crate::cli::command)
        .var(VARIABLE)
        .bin("agentctl");
    // A shell that we don't know gets nothing, not an error in the middle of a command line.
    asked.try_complete(args.to_vec(), here.as_deref()).unwrap_or(true)
}

/// The script that a shell loads.
pub fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(shell) {
        completer.write_registration(VARIABLE, "agentctl", "agentctl", "agentctl", &mut script)?;
    }
    Ok(script)
}

fn config() -> Config {
    let environment = Environment::of_process();
    Config::load(environment, Path::new(".")).unwrap_or_default()
}

pub fn backends() -> Vec<CompletionCandidate> {
    let names = Catalog::of(&config())
        .map(|catalog| catalog.names())
        .unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

pub fn profiles() -> Vec<CompletionCandidate> {
    config()
        .file
        .profiles
        .into_keys()
        .map(CompletionCandidate::new)
        .collect()
}

/// By key and, where they have one, by name.
pub fn sessions() -> Vec<CompletionCandidate> {
    records()
        .into_iter()
        .flat_map(|record| {
            let about = format!("{} in {}", record.backend, record.cwd.display());
            let key = CompletionCandidate::new(record.key.short()).help(Some(about.clone().into()));
            let name = record
                .name
                .map(|name| CompletionCandidate::new(name).help(Some(about.into())));
            std::iter::once(key).chain(name)
        })
        .collect()
}

pub fn session_names() -> Vec<CompletionCandidate> {
    records()
        .into_iter()
        .filter_map(|record| record.name)
        .map(CompletionCandidate::new)
        .collect()
}

fn records() -> Vec<Record> {
    let state = Environment::of_process().state_dir();
    let store = state.and_then(|state| Store::open(state).ok());
    store
        .map(|store| store.recent(&Filter::default(), SESSIONS_OFFERED).records)
        .unwrap_or_default()
}
