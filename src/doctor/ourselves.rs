//! agentctl itself: its directories, its configuration, its records, and what the environment changes.

use super::judge::is_writable;
use super::report::Check;
use crate::catalog::Catalog;
use crate::config::{Config, Environment, Layer, Layers, VARIABLES};
use crate::decide;
use crate::error::Failure;
use crate::exit::Exit;
use crate::session::{Filter, Store};
use crate::shell;
use crate::supervise::environment::nested_variables;
use crate::supervise::{Scratch, no_scratch};
use std::path::Path;

/// Values of a configuration that can be read and still stand for nothing.
#[derive(Debug)]
pub struct Mistakes {
    /// No run gets past them, unless a flag goes above.
    everywhere: Vec<Failure>,
    /// Only runs with a certain backend or profile meet them.
    somewhere: Vec<Failure>,
}

impl Mistakes {
    /// `layers` are those of a run without any flags.
    pub fn of(config: &Config, catalog: &Catalog, layers: &Layers) -> Self {
        let used = |section: &Layer| layers.0.iter().any(|layer| layer.origin == section.origin);
        let of = |layer: &Layer| decide::mistakes(layer, catalog);
        Self {
            everywhere: layers.0.iter().flat_map(of).collect(),
            somewhere: config
                .sections()
                .filter(|section| !used(section))
                .flat_map(|section| of(&section))
                .collect(),
        }
    }
}

/// What is to be said about agentctl. `config` is what reading the configuration came to, besides warnings.
pub fn ourselves(environment: &Environment, config: &Result<Mistakes, Failure>, warnings: &[String]) -> Vec<Check> {
    let mut checks = configuration(environment, config);
    checks.extend(warnings.iter().map(|why| Check::warning("config", why.clone())));
    checks.extend(state(environment));
    checks.extend(private_files());
    checks.extend(variables(environment));
    checks
}

fn configuration(environment: &Environment, config: &Result<Mistakes, Failure>) -> Vec<Check> {
    let path = environment.config_path();
    let hinted = |check: Check, failure: &Failure| {
        let hint = failure.hint.clone();
        check.hint(hint.unwrap_or_else(|| format!("edit {}", path.display())))
    };
    let failed = |failure: &Failure| {
        let check = Check::failure("config", Exit::Usage, failure.message.clone());
        hinted(check, failure)
    };
    let mistakes = match config {
        Ok(mistakes) => mistakes,
        Err(failure) => return vec![failed(failure)],
    };
    let mut checks: Vec<Check> = mistakes.everywhere.iter().map(failed).collect();
    if checks.is_empty() {
        checks.push(Check::ok(
            "config",
            match path.is_file() {
                true => path.display().to_string(),
                false => format!("none; {} would be read", path.display()),
            },
        ));
    }
    checks.extend(mistakes.somewhere.iter().map(|failure| {
        let check = Check::warning("config", failure.message.clone());
        hinted(check, failure)
    }));
    checks
}

fn state(environment: &Environment) -> Vec<Check> {
    let Some(directory) = environment.state_dir() else {
        let check = Check::failure(
            "state",
            Exit::Usage,
            "there is no home directory to keep conversations in",
        );
        return vec![check.hint("set HOME or AGENTCTL_STATE_DIR")];
    };
    let unusable = |why: &str, hint: String| {
        let message = format!("conversations cannot be kept in {}: {why}", directory.display());
        vec![Check::warning("state", message).hint(hint)]
    };
    let store = match Store::open(&directory) {
        Ok(store) => store,
        Err(failure) => {
            let hint = failure.hint.unwrap_or_default();
            return vec![Check::warning("state", failure.message).hint(hint)];
        }
    };
    let existing = directory
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    if !is_writable(existing) {
        return unusable(
            "it cannot be written to",
            format!(
                "chmod u+rwx {}, or set AGENTCTL_STATE_DIR",
                shell::quote(existing.as_os_str())
            ),
        );
    }
    let mut checks = vec![match open_to_others(&directory) {
        true => Check::warning("state", format!("{} is open to other users", directory.display()))
            .hint(format!("chmod 700 {}", shell::quote(directory.as_os_str()))),
        false => Check::ok("state", directory.display().to_string()),
    }];
    let damaged = store.all(&Filter::default()).damaged;
    if let Some(first) = damaged.first() {
        let message = match damaged.len() {
            1 => first.to_string(),
            count => format!("{first}, and {} more", count - 1),
        };
        checks.push(Check::warning("sessions", message).hint("agentctl sessions prune --damaged"));
    }
    checks
}

/// Every run has private files: without a place for them nothing runs.
fn private_files() -> Option<Check> {
    let failure = no_scratch(&Scratch::create().err()?);
    let check = Check::failure("temporary", Exit::AgentFailed, failure.message);
    Some(check.hint(failure.hint.unwrap_or_default()))
}

#[cfg(unix)]
fn open_to_others(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(directory).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn open_to_others(_directory: &Path) -> bool {
    false
}

/// Variables change what a run does, and people forget that they set them.
fn variables(environment: &Environment) -> Vec<Check> {
    let mut checks = Vec::new();
    let set: Vec<&str> = VARIABLES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| environment.get(name).is_some())
        .collect();
    if !set.is_empty() {
        checks.push(Check::ok("environment", format!("set here: {}", set.join(", "))));
    }
    let nested = nested_variables(environment.all());
    if !nested.is_empty() {
        let message = format!(
            "this shell belongs to another agent ({}); runs are kept from noticing",
            nested.join(", ")
        );
        checks.push(Check::warning("environment", message).hint(format!("unset {}", nested.join(" "))));
    }
    checks
}
