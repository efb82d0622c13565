//! Why a run probably failed: the checks that start nothing, only made after a failure.

use super::binary::{installed_version, interpreter_check};
use super::look::{Look, search_path};
use crate::backend::{AuthState, Backend, tested_versions};
use crate::config::Environment;
use crate::error::{ErrorKind, Failure};
use semver::Version;
use std::path::Path;

/// The failure with its probable cause as a hint, if it has none and one can be told. It reads a few files and starts
/// nothing.
pub fn probable_cause(failure: &mut Failure, backend: &dyn Backend, program: Option<&Path>, ours: &Environment) {
    let silent = matches!(failure.kind, ErrorKind::Crashed | ErrorKind::Protocol);
    if backend.name() == "mock" || !(silent || failure.kind == ErrorKind::Auth && failure.hint.is_none()) {
        return;
    }
    let Some(cause) = program.and_then(|program| cause(failure, backend, program, ours)) else {
        return;
    };
    failure.hint = Some(match failure.hint.take() {
        Some(hint) => format!("{cause}; {hint}"),
        None => cause,
    });
}

fn cause(failure: &Failure, backend: &dyn Backend, program: &Path, ours: &Environment) -> Option<String> {
    if !program.exists() {
        return Some(format!(
            "{} has vanished; install it with `{}`",
            program.display(),
            backend.install_hint()
        ));
    }
    if let Some(check) = interpreter_check(program, search_path(ours).as_deref()) {
        return Some(format!("{}; {}", check.message, check.hint.unwrap_or_default()));
    }
    let look = Look::at(backend, program.to_owned(), std::env::temp_dir(), ours);
    let login = (look.checkup.auth)(&look.seen());
    if login.state == AuthState::Missing {
        return Some(format!(
            "probably not logged in ({}): {}",
            login.learned_from,
            backend.login_hint()
        ));
    }
    if failure.kind == ErrorKind::Auth {
        return Some(backend.login_hint().to_owned());
    }
    other_version(backend, program)
}

/// A version that the tests never saw may have lost a flag or changed its output.
fn other_version(backend: &dyn Backend, program: &Path) -> Option<String> {
    let tested = tested_versions(backend.name())?;
    let version = installed_version(program, tested.package)?;
    let own = Version::parse(&version).ok()?;
    let side = if own < Version::parse(tested.oldest).ok()? {
        "older"
    } else if own > Version::parse(tested.newest).ok()? {
        "newer"
    } else {
        return None;
    };
    Some(format!(
        "{version} is {side} than what agentctl was tested with: `agentctl doctor {}` checks its flags",
        backend.name()
    ))
}
