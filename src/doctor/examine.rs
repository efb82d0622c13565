//! One backend: found, started, asked, judged.

use super::ask::{Answer, ask};
use super::binary;
use super::judge::judge;
use super::look::Look;
use super::report::{BackendReport, Check, CheckStatus};
use super::together::together;
use crate::backend::{Auth, Backend, PaidBy, Topic};
use crate::config::{Environment, path_variable};
use crate::exit::Exit;
use crate::locate;
use crate::supervise::Scratch;
use std::path::Path;
use std::time::Duration;

/// What is the same for all backends.
pub struct Scope<'a> {
    pub environment: &'a Environment,
    pub cwd: &'a Path,
    /// Most time for each question.
    pub cap: Duration,
    /// The backend that runs when none is named.
    pub default_backend: &'a str,
}

/// Everything about one backend that can be told for free.
pub async fn examine(backend: &dyn Backend, cli_path: Option<&Path>, scope: &Scope<'_>) -> BackendReport {
    let mut report = BackendReport {
        name: backend.name().to_owned(),
        display_name: backend.display_name().to_owned(),
        default: backend.name() == scope.default_backend,
        usable: false,
        path: None,
        version: None,
        auth: None,
        checks: Vec::new(),
        live: None,
    };
    match locate::program(backend, cli_path, scope.environment.search_path(), scope.cwd) {
        Err(failure) => {
            let check = Check::failure("binary", failure.kind.exit(), failure.message);
            report.checks.push(match failure.hint {
                Some(hint) => check.hint(hint),
                None => check,
            });
        }
        Ok(program) => {
            report.path = Some(program.display().to_string());
            found(backend, &program, cli_path, scope, &mut report).await;
        }
    }
    report.usable = report.checks.iter().all(|check| check.status != CheckStatus::Failure);
    report
}

async fn found(
    backend: &dyn Backend,
    program: &Path,
    cli_path: Option<&Path>,
    scope: &Scope<'_>,
    report: &mut BackendReport,
) {
    if backend.name() == "mock" {
        mock(report);
        return;
    }
    let search_path = scope.environment.search_path();
    if let Some(check) = binary::interpreter_check(backend.name(), program, search_path) {
        report.checks.push(check);
        return;
    }
    report.checks.push(Check::ok("binary", program.display().to_string()));
    if cli_path.is_none() {
        shadows(program, backend.program(), search_path, report);
    }
    let scratch = match Scratch::create() {
        Ok(scratch) => scratch,
        Err(error) => {
            let message = format!("no private directory for the questions could be made: {error}");
            report.checks.push(Check::failure("binary", Exit::AgentFailed, message));
            return;
        }
    };
    let look = Look::at(
        backend,
        program.to_owned(),
        scratch.path().map(Path::to_owned).unwrap_or_default(),
        scope.environment,
    );
    let answers = questions(&look, &scratch, scope.cap).await;
    judge(backend, &look, &answers, scope.cap, report);
}

/// Always usable, and what it is for.
fn mock(report: &mut BackendReport) {
    report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    report.auth = Some(Auth::ok("it is part of agentctl and needs none", PaidBy::Nothing));
    report.checks.push(Check::ok(
        "binary",
        "part of agentctl: tries agentctl and tests scripts without a key or a network",
    ));
}

fn shadows(program: &Path, name: &str, search_path: Option<&std::ffi::OsStr>, report: &mut BackendReport) {
    let others = binary::shadowed(program, name, search_path);
    if others.is_empty() {
        return;
    }
    let others: Vec<String> = others.iter().map(|path| path.display().to_string()).collect();
    let variable = path_variable(&report.name);
    report.checks.push(
        Check::warning("binary", format!("it comes before {} on PATH", others.join(", ")))
            .hint(format!("to use another: export {variable}={}", others[0])),
    );
}

/// All questions at once; the order of the answers is that of the questions.
async fn questions(look: &Look, scratch: &Scratch, cap: Duration) -> Vec<(Topic, Answer)> {
    let seen = look.seen();
    let asked = (look.checkup.questions)(&seen);
    let asking = asked
        .iter()
        .map(|question| ask(&look.site.program, question, &look.site.env, scratch, cap));
    together(asking).await
}
