//! From the typed arguments of `agentctl sessions` to the plain ones of the command.

use super::sessions::{
    self, Color, Format, ListArguments, Look, PruneArguments, RemoveArguments, SessionsCommand, ShowArguments,
};
use crate::cli::{SessionsAction, SessionsArgs, SessionsListArgs};
use crate::config::Environment;
use crate::duration;
use crate::error::Failure;
use crate::exit::Exit;
use crate::session::{DamagedPolicy, PruneMode, default_state_directory};
use std::io::IsTerminal;

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
            let older_than = older_than.as_deref().map(duration::parse).transpose();
            SessionsCommand::Prune(PruneArguments {
                older_than: older_than
                    .map_err(|why| Failure::usage(format!("--older-than: {why}")))?
                    .flatten(),
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
    let colored = std::io::stdout().is_terminal()
        && anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let look = Look {
        now: jiff::Timestamp::now(),
        home: Environment::of_process().home(),
        color: if colored { Color::Colored } else { Color::Plain },
    };
    let mut streams = sessions::Streams {
        out: &mut std::io::stdout(),
        err: &mut std::io::stderr(),
    };
    sessions::run(&default_state_directory()?, &command, &look, &mut streams)
}

fn list(args: SessionsListArgs) -> ListArguments {
    ListArguments {
        backend: args.backend,
        name: args.name,
        cwd: args.cwd.map(|path| path.canonicalize().unwrap_or(path)),
        limit: args.limit,
        format: format(args.json),
    }
}

fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Text }
}
