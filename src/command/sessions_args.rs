//! From the typed arguments of `agentctl sessions` to the plain ones of the command.

use super::sessions::{
    self, Color, Format, ListArguments, Look, PruneArguments, RemoveArguments, SessionsCommand, ShowArguments,
};
use super::{color, print, put};
use crate::catalog::Catalog;
use crate::cli::{SessionsAction, SessionsArgs, SessionsListArgs};
use crate::config::{Config, Environment};
use crate::directory;
use crate::duration;
use crate::error::Failure;
use crate::exit::Exit;
use crate::report;
use crate::session::{DamagedPolicy, Filter, PruneMode, Store, nowhere};
use std::path::Path;

pub fn run(args: SessionsArgs) -> Result<Exit, Failure> {
    let command = match args.action {
        None => SessionsCommand::List(list(args.list)),
        Some(SessionsAction::List(args)) => SessionsCommand::List(list(args)),
        Some(SessionsAction::Show { session, json }) => SessionsCommand::Show(ShowArguments {
            session,
            format: format(json),
        }),
        Some(SessionsAction::Rm { sessions }) => SessionsCommand::Remove(RemoveArguments { sessions }),
        Some(SessionsAction::Prune {
            older_than,
            keep,
            damaged,
            dry_run,
            json,
        }) => {
            let older_than = older_than.as_deref().map(duration::parse_age).transpose();
            SessionsCommand::Prune(PruneArguments {
                older_than: older_than.map_err(|why| Failure::usage(format!("--older-than: {why}")))?,
                keep,
                damaged: if damaged {
                    DamagedPolicy::Remove
                } else {
                    DamagedPolicy::Keep
                },
                mode: if dry_run { PruneMode::DryRun } else { PruneMode::Remove },
                format: format(json),
            })
        }
        Some(SessionsAction::Path) => SessionsCommand::Path,
    };
    let environment = Environment::of_process();
    let look = Look {
        now: jiff::Timestamp::now(),
        home: environment.home(),
        color: if color::is_wanted() {
            Color::Colored
        } else {
            Color::Plain
        },
    };
    let state = environment.state_dir().ok_or_else(nowhere)?;
    if let SessionsCommand::List(ListArguments {
        backend: Some(backend), ..
    }) = &command
    {
        check_backend(backend, &state, environment)?;
    }
    let (mut out, mut diagnostics) = (Vec::new(), Vec::new());
    let mut streams = sessions::Streams {
        out: &mut out,
        err: &mut diagnostics,
    };
    let exit = sessions::run(&state, &command, &look, &mut streams);
    let printed = match command.is_table() {
        true => put(&out),
        false => print(&out),
    };
    report::tell(&String::from_utf8_lossy(&diagnostics));
    exit.and_then(|exit| printed.map(|_| exit))
}

/// A backend that nothing is known of is a slip; one that is not declared any more may still have conversations.
fn check_backend(name: &str, state: &Path, environment: Environment) -> Result<(), Failure> {
    let filter = Filter {
        backend: Some(name.to_owned()),
        ..Filter::default()
    };
    if Store::open(state).is_ok_and(|store| !store.recent(&filter, 1).records.is_empty()) {
        return Ok(());
    }
    let config = Config::load(environment, Path::new("."))?;
    Catalog::of(&config)?.find(name).map(|_| ())
}

fn list(args: SessionsListArgs) -> ListArguments {
    ListArguments {
        backend: args.backend,
        name: args.name,
        cwd: args.cwd.map(|path| directory::absolute(&path).unwrap_or(path)),
        limit: args.limit,
        format: format(args.json),
    }
}

fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Text }
}
