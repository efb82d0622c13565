//! Why a run probably failed: the checks that start nothing, made only after a failure.

use super::binary::{installed_version, interpreter_check};
use super::look::Look;
use crate::backend::{AuthState, Backend, tested_versions};
use crate::config::Environment;
use crate::error::{ErrorKind, Failure};
use semver::Version;
use std::path::{Path, PathBuf};

/// Adds the probable cause to the hint of a failure that says too little. A few files are read, and nothing is started.
/// `program` is what looking for it again came to, `theirs` the environment that the CLI had.
pub fn probable_cause(
    failure: &mut Failure,
    backend: &dyn Backend,
    program: Result<PathBuf, Failure>,
    theirs: &Environment,
) {
    if backend.name() == "mock" {
        return;
    }
    let cause = match (failure.kind, program) {
        // Whoever told what is wrong knows better.
        (ErrorKind::Crashed, _) if failure.hint.is_some() => None,
        (ErrorKind::Crashed | ErrorKind::Protocol, Err(missing)) => Some(sentence(&missing.message, missing.hint)),
        (ErrorKind::Crashed | ErrorKind::Protocol, Ok(program)) => {
            no_login(backend, &program, theirs).or_else(|| other_version(backend, &program))
        }
        (ErrorKind::NotInstalled | ErrorKind::NotExecutable, Ok(program)) => {
            interpreter_check(backend.name(), &program, theirs.search_path())
                .map(|check| sentence(&check.message, check.hint))
        }
        (ErrorKind::Auth, Ok(program)) if failure.hint.is_none() => {
            no_login(backend, &program, theirs).or_else(|| Some(backend.login_hint().to_owned()))
        }
        _ => None,
    };
    if let Some(cause) = cause {
        failure.hint = Some(cause);
    }
}

fn sentence(message: &str, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{message}: {hint}"),
        None => message.to_owned(),
    }
}

fn no_login(backend: &dyn Backend, program: &Path, theirs: &Environment) -> Option<String> {
    let look = Look::at(backend, program.to_owned(), std::env::temp_dir(), theirs);
    let login = (look.checkup.auth)(&look.seen());
    (login.state == AuthState::Missing).then(|| {
        format!(
            "probably not logged in ({}): {}",
            login.learned_from,
            backend.login_hint()
        )
    })
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
        "its version {version} is {side} than what agentctl was tested with; `agentctl doctor {}` checks its flags",
        backend.name()
    ))
}
