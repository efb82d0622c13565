//! From answers to findings, each with what to type. Pure.

use super::ask::Answer;
use super::look::Look;
use super::report::{BackendReport, Check};
use crate::backend::{Auth, AuthState, Backend, Learned, PaidBy, Sandbox, Tested, Topic, tested_versions};
use crate::exit::Exit;
use semver::Version;
use std::path::Path;
use std::time::Duration;

pub fn judge(
    backend: &dyn Backend,
    look: &Look,
    answers: &[(Topic, Answer)],
    cap: Duration,
    report: &mut BackendReport,
) {
    let of = |topic: Topic| {
        answers
            .iter()
            .find(|(about, _)| *about == topic)
            .map(|(_, answer)| answer)
    };
    if let Some(answer) = of(Topic::Version) {
        let (version, check) = version(backend, answer, cap);
        report.version = version;
        report.checks.push(check);
    }
    if let Some(answer) = of(Topic::Flags) {
        report.checks.push(flags(backend, answer, cap));
    }
    let (login, check) = auth(backend, look, of(Topic::Auth), cap);
    report.auth = Some(login);
    report.checks.push(check);
    report.checks.extend(of(Topic::Sandbox).map(sandbox));
    report
        .checks
        .extend(look.checkup.directories.iter().filter_map(|path| directory(path)));
    let traps = (look.checkup.traps)(&look.seen());
    report.checks.extend(
        traps
            .into_iter()
            .map(|trap| Check::warning("trap", trap.message).hint(trap.hint)),
    );
}

fn version(backend: &dyn Backend, answer: &Answer, cap: Duration) -> (Option<String>, Check) {
    let broken = |message: String| {
        Check::failure("version", Exit::AgentFailed, message)
            .hint(format!("install it again: {}", backend.install_hint()))
    };
    match answer {
        Answer::Learned(Learned::Version(version)) => (
            Some(version.clone()),
            match tested_versions(backend.name()) {
                Some(tested) => against(version, tested),
                None => Check::ok("version", version.clone()),
            },
        ),
        Answer::Silent => (
            None,
            Check::failure(
                "version",
                Exit::Timeout,
                format!("`--version` gave no answer in {}", seconds(cap)),
            )
            .hint(format!(
                "on a slow or busy machine: agentctl doctor --cap 30s {}; if that tells the same, install it again",
                backend.name()
            )),
        ),
        Answer::Endless => (None, broken("`--version` printed without end".to_owned())),
        Answer::NotStarted(why) => (None, broken(why.clone())),
        // A backend of the user's own may tell its version in any way.
        _ if tested_versions(backend.name()).is_none() => {
            (None, Check::warning("version", "it does not tell a version number"))
        }
        Answer::Unclear { code, said } => (None, broken(unclear("--version", *code, said))),
        Answer::Learned(_) => (None, broken("`--version` told no version".to_owned())),
    }
}

fn unclear(what: &str, code: Option<i32>, said: &str) -> String {
    let ended = code.map_or("by a signal".to_owned(), |code| format!("with exit {code}"));
    match said {
        "" => format!("`{what}` said nothing and ended {ended}"),
        said => format!("`{what}` ended {ended} and said: {said}"),
    }
}

/// A version measured by the ones that the tests of this project ran with.
fn against(version: &str, tested: &Tested) -> Check {
    let range = match tested.oldest == tested.newest {
        true => tested.newest.to_owned(),
        false => format!("{} to {}", tested.oldest, tested.newest),
    };
    let parse = |text: &str| Version::parse(text).ok();
    let (Some(own), Some(oldest), Some(newest)) = (parse(version), parse(tested.oldest), parse(tested.newest)) else {
        return Check::warning("version", format!("{version}; tested with {range}"));
    };
    if own < oldest {
        Check::warning(
            "version",
            format!("{version} is older than what agentctl was tested with, {range}"),
        )
        .hint(format!("npm install -g {}@{}", tested.package, tested.newest))
    } else if own > newest {
        Check::warning(
            "version",
            format!("{version} is newer than what agentctl was tested with, {range}"),
        )
        .hint(format!(
            "it will most likely do; if not: npm install -g {}@{}",
            tested.package, tested.newest
        ))
    } else {
        Check::ok("version", format!("{version}, tested"))
    }
}

fn flags(backend: &dyn Backend, answer: &Answer, cap: Duration) -> Check {
    match answer {
        Answer::Learned(Learned::RefusedFlags(refused)) if refused.is_empty() => {
            Check::ok("flags", "every flag that agentctl uses is known")
        }
        Answer::Learned(Learned::RefusedFlags(refused)) => {
            let message = format!("it does not know {}, which agentctl uses", refused.join(", "));
            let check = Check::failure("flags", Exit::AgentFailed, message);
            match tested_versions(backend.name()) {
                Some(tested) => check.hint(format!("npm install -g {}@{}", tested.package, tested.newest)),
                None => check,
            }
        }
        Answer::Silent => Check::warning("flags", format!("no answer about its flags in {}", seconds(cap)))
            .hint("--cap 30s waits longer for it"),
        Answer::Unclear { said, .. } if !said.is_empty() => {
            Check::warning("flags", format!("it did not tell which flags it knows, but: {said}"))
        }
        _ => Check::warning("flags", "it did not tell which flags it knows"),
    }
}

/// The CLI's own word counts most, then what its files and variables tell.
fn auth(backend: &dyn Backend, look: &Look, answer: Option<&Answer>, cap: Duration) -> (Auth, Check) {
    let evident = (look.checkup.auth)(&look.seen());
    let told = match answer {
        Some(Answer::Learned(Learned::Auth(told))) => Some(told.clone()),
        _ => None,
    };
    let mut login = match told {
        // A key in the environment is not always what the CLI's command looks at.
        Some(told) if told.state == AuthState::Missing && evident.state == AuthState::Ok => evident,
        Some(mut told) => {
            told.paid_by = match evident.paid_by {
                Some(PaidBy::Gateway) => evident.paid_by,
                evident => told.paid_by.or(evident),
            };
            told
        }
        None => evident,
    };
    if matches!(answer, Some(Answer::Silent)) {
        login
            .learned_from
            .push_str(&format!(" (the CLI itself gave no answer in {})", seconds(cap)));
        // It may know of a login that leaves no trace where we look.
        if login.state == AuthState::Missing {
            login = Auth::unknown(login.learned_from);
        }
    }
    if login.state != AuthState::Ok
        && let Some((path, why)) = look.seen().unreadable()
    {
        login = Auth::unknown(format!("{} cannot be read: {why}", path.display()));
        let check = Check::warning("auth", login.learned_from.clone()).hint(format!(
            "let it be read: ls -ld {}",
            crate::shell::quote(path.as_os_str())
        ));
        return (login, check);
    }
    let check = match login.state {
        AuthState::Ok => Check::ok("auth", format!("{}{}", login.learned_from, paid(login.paid_by))),
        AuthState::Missing => Check::failure(
            "auth",
            Exit::Authentication,
            format!("not logged in: {}", login.learned_from),
        )
        .hint(backend.login_hint()),
        AuthState::Unknown => Check::warning("auth", login.learned_from.clone())
            .hint(format!("agentctl doctor --live {}", backend.name())),
    };
    (login, check)
}

fn paid(by: Option<PaidBy>) -> &'static str {
    match by {
        Some(PaidBy::ApiKey) => "; an API key pays",
        Some(PaidBy::Subscription) => "; a subscription pays",
        Some(PaidBy::Gateway) => "; another provider or a gateway pays",
        Some(PaidBy::Nothing) | None => "",
    }
}

fn sandbox(answer: &Answer) -> Check {
    match answer {
        Answer::Learned(Learned::Sandbox(Sandbox::Works)) => Check::ok("sandbox", "commands can be confined"),
        Answer::Learned(Learned::Sandbox(Sandbox::Broken(why))) => {
            Check::warning("sandbox", format!("commands cannot be confined: {why}"))
                .hint("-P read-only and -P edit need it; in a container, allow user namespaces")
        }
        _ => Check::warning("sandbox", "whether commands can be confined is not known"),
    }
}

/// Only what is wrong: a directory that is not there yet is made at the first run.
fn directory(path: &Path) -> Option<Check> {
    let metadata = std::fs::metadata(path).ok()?;
    let quoted = crate::shell::quote(path.as_os_str());
    if !metadata.is_dir() {
        let message = format!("{} is not a directory", path.display());
        return Some(Check::failure("directory", Exit::AgentFailed, message).hint(format!("mv {quoted} {quoted}.old")));
    }
    if !is_writable(path) {
        let message = format!(
            "{} cannot be written to, so no conversation can be kept",
            path.display()
        );
        return Some(Check::warning("directory", message).hint(format!("chmod u+rwx {quoted}")));
    }
    None
}

#[cfg(unix)]
pub fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
pub fn is_writable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.permissions().readonly())
}

fn seconds(cap: Duration) -> String {
    match cap.subsec_millis() {
        0 => format!("{} s", cap.as_secs()),
        _ => format!("{} ms", cap.as_millis()),
    }
}
