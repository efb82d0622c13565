//! The subcommands: plain arguments in, output over any `Write`, an exit code out.

pub mod backends;
mod color;
mod columns;
pub mod config;
mod conversation;
mod doctor;
mod dry_run;
mod full_rights;
pub mod generate;
mod interactive;
pub mod run;
pub mod sessions;
mod sessions_args;
pub mod topics;

use crate::cli::{Cli, Command};
use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use crate::report::{self, failure_text, tell};
use serde::Serialize;
use std::io::Write;

/// Runs what was typed.
pub fn dispatch(cli: Cli) -> u8 {
    let outcome = match cli.command {
        Command::Run(args) => return run::run(&args),
        Command::Resume(args) => return run::resume(&args),
        Command::Sessions(args) => sessions_args::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Backends(args) => backends::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Completions(args) => generate::completions(args.shell),
        Command::Man { dir } => generate::man(dir.as_deref()),
        Command::Schema { of } => generate::schema(of),
        Command::Help { topic } => topics::help(&topic),
    };
    outcome.unwrap_or_else(|failure| complain(&failure)).code()
}

fn complain(failure: &Failure) -> Exit {
    tell(&failure_text(failure));
    failure.kind.exit()
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        tell(&format!("warning: {warning}\n"));
    }
}

/// Prints one line of JSON. That it cannot be written would be a mistake of ours.
fn print_json(view: &impl Serialize) -> Result<Exit, Failure> {
    let mut line = serde_json::to_vec(view).map_err(|error| {
        Failure::new(
            ErrorKind::Crashed,
            format!("the output cannot be told as JSON: {error}"),
        )
    })?;
    line.push(b'\n');
    print(&line)
}

/// Prints generated text. Whoever closed the pipe has seen enough.
fn print(text: &[u8]) -> Result<Exit, Failure> {
    print_painted(text, str::to_owned)
}

/// The same with each line painted, if a terminal wants colours: after what strangers put there has been made harmless.
fn print_painted(text: &[u8], paint: impl Fn(&str) -> String) -> Result<Exit, Failure> {
    let harmless = report::harmless_output(text);
    match color::is_wanted() {
        false => put(&harmless),
        true => {
            let text = String::from_utf8_lossy(&harmless);
            put(text.split_inclusive('\n').map(paint).collect::<String>().as_bytes())
        }
    }
}

/// Writes bytes that hold nothing of strangers, or that are harmless already.
fn put(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(
            ErrorKind::Crashed,
            format!("the output cannot be written: {error}"),
        )),
        _ => Ok(Exit::Success),
    }
}
