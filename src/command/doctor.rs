//! `agentctl doctor`: is each CLI usable here?

use super::{print_json, print_painted};
use crate::backend::Backend;
use crate::catalog::Catalog;
use crate::cli::DoctorArgs;
use crate::config::{Config, DEFAULT_BACKEND, Environment, Selected};
use crate::doctor::{
    BackendReport, Check, CheckStatus, DoctorReport, Mistakes, OwnReport, SCHEMA, Scope, ask_live, examine, exit_of,
    ourselves, together,
};
use crate::duration;
use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use owo_colors::{OwoColorize, Style};
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let cap = duration::parse_age(&args.cap).map_err(|why| Failure::usage(format!("--cap: {why}")))?;
    if cap.is_zero() {
        return Err(Failure::usage("--cap must be more than nothing"));
    }
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let environment = Environment::of_process();
    let surroundings = Surroundings::of(&environment, &cwd, &args.backends);
    let chosen: Vec<&dyn Backend> = match args.backends.as_slice() {
        [] => surroundings.catalog.all().collect(),
        names => names
            .iter()
            .map(|name| surroundings.catalog.find(name))
            .collect::<Result<_, _>>()?,
    };
    let scope = Scope {
        environment: &environment,
        cwd: &cwd,
        cap,
        default_backend: &surroundings.default,
    };
    let mut reports = examined(&chosen, &surroundings, &scope)?;
    if args.live {
        for (backend, report) in chosen.iter().zip(&mut reports).filter(|(_, report)| report.usable) {
            live(*backend, report, &surroundings, &environment, &cwd);
        }
    }
    let own = ourselves(&environment, &surroundings.told, &surroundings.config.warnings);
    let exit = exit(&own, &reports, args.backends.is_empty());
    let report = DoctorReport {
        schema: SCHEMA,
        usable: exit == Exit::Success,
        agentctl: OwnReport {
            version: env!("CARGO_PKG_VERSION"),
            checks: own,
        },
        backends: reports,
    };
    match args.json {
        true => print_json(&report)?,
        false => print_painted(table(&report).as_bytes(), painted)?,
    };
    Ok(exit)
}

/// What is configured, as far as it can be read: a broken file is a finding, and the rest is examined all the same.
struct Surroundings {
    config: Config,
    catalog: Catalog,
    default: String,
    /// The one backend that variables for "the selected one" are about.
    selected: String,
    /// What the configuration came to.
    told: Result<Mistakes, Failure>,
}

impl Surroundings {
    fn of(environment: &Environment, cwd: &Path, named: &[String]) -> Self {
        let loaded = Config::load(environment.clone(), cwd).and_then(|config| {
            let catalog = Catalog::of(&config)?;
            let (layers, default) = config.layers(None, None)?;
            let mistakes = Mistakes::of(&config, &catalog, &layers);
            Ok((config, catalog, default, mistakes))
        });
        let (config, catalog, default, told) = match loaded {
            Ok((config, catalog, default, mistakes)) => (config, catalog, default, Ok(mistakes)),
            Err(failure) => {
                let config = Config {
                    path: environment.config_path(),
                    environment: environment.clone(),
                    ..Config::default()
                };
                let default = environment.get("AGENT_BACKEND");
                let default = default.unwrap_or_else(|| DEFAULT_BACKEND.to_owned());
                (config, Catalog::default(), default, Err(failure))
            }
        };
        let selected = match named {
            [only] => only.clone(),
            _ => default.clone(),
        };
        Self {
            config,
            catalog,
            default,
            selected,
            told,
        }
    }

    fn cli_path(&self, name: &str) -> Option<PathBuf> {
        self.config.own_cli_path(name, Selected::when(name == self.selected))
    }
}

/// Side by side: the whole takes as long as the slowest.
fn examined(
    chosen: &[&dyn Backend],
    surroundings: &Surroundings,
    scope: &Scope<'_>,
) -> Result<Vec<BackendReport>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(ErrorKind::Crashed, format!("cannot start the runtime: {error}")))?;
    let asking = chosen.iter().map(|backend| async {
        let path = surroundings.cli_path(backend.name());
        examine(*backend, path.as_deref(), scope).await
    });
    Ok(runtime.block_on(together(asking)))
}

fn live(
    backend: &dyn Backend,
    report: &mut BackendReport,
    surroundings: &Surroundings,
    environment: &Environment,
    cwd: &Path,
) {
    let path = surroundings.cli_path(backend.name());
    let model = surroundings
        .config
        .own_model(backend.name(), Selected::when(backend.name() == surroundings.selected));
    let (live, check) = ask_live(backend, path, model, environment, cwd);
    report.usable = live.ok;
    report.live = Some(live);
    report.checks.push(check);
}

/// Named backends must all be usable; without names, the default one must.
fn exit(own: &[Check], reports: &[BackendReport], all: bool) -> Exit {
    let asked = reports.iter().filter(|report| !all || report.default);
    let failed = exit_of(own.iter()).or_else(|| exit_of(asked.flat_map(|report| &report.checks)));
    match failed {
        Some(exit) => exit,
        None if all && !reports.iter().any(|report| report.default) => Exit::Usage,
        None => Exit::Success,
    }
}

fn table(report: &DoctorReport) -> String {
    let mut text = format!("agentctl {}\n", report.agentctl.version);
    checks(&report.agentctl.checks, &mut text);
    for backend in &report.backends {
        let usable = if backend.usable { "usable" } else { "not usable" };
        let default = if backend.default { ", the default" } else { "" };
        let _ = writeln!(text, "\n{}  {usable}{default}", backend.name);
        checks(&backend.checks, &mut text);
    }
    text
}

fn checks(checks: &[Check], text: &mut String) {
    for check in checks {
        let message = check.message.replace('\n', "\n                ");
        let _ = writeln!(text, "  {} {:<12} {message}", mark(check.status), check.id);
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "    hint: {hint}");
        }
    }
}

fn mark(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "✓",
        CheckStatus::Warning => "!",
        CheckStatus::Failure => "✗",
    }
}

/// A line of the table: names of what was examined are bold, marks in a colour of their own.
fn painted(line: &str) -> String {
    let styles = [
        (CheckStatus::Ok, Style::new().green()),
        (CheckStatus::Warning, Style::new().yellow()),
        (CheckStatus::Failure, Style::new().red()),
    ];
    for (mark, style) in styles.map(|(status, style)| (mark(status), style)) {
        let finding = line.strip_prefix("  ").and_then(|line| line.strip_prefix(mark));
        if let Some(rest) = finding.filter(|rest| rest.starts_with(' ')) {
            return format!("  {}{rest}", mark.style(style));
        }
    }
    match line.split_once(' ') {
        Some((name, rest)) if !name.is_empty() => format!("{} {rest}", name.bold()),
        _ => line.to_owned(),
    }
}
