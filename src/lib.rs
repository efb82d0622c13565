//! One command in front of the coding-agent CLIs.
//!
//! A run flows one way: `cli → config → request → backend.plan → supervise → lines → protocol → event → session,
//! report → exit`. The pure parts (request, plan, protocol, event) have no async, no clock and no file system.

pub mod agent;
pub mod backend;
pub mod catalog;
pub mod cli;
pub mod command;
pub mod complete;
pub mod config;
pub mod decide;
pub mod doctor;
pub mod duration;
pub mod engine;
pub mod error;
pub mod event;
pub mod exit;
pub mod lines;
pub mod locate;
pub mod marker;
pub mod mask;
pub mod mcp;
pub mod media;
pub mod outcome;
pub mod prompt;
pub mod report;
pub mod request;
pub mod schema;
pub mod session;
pub mod shell;
pub mod suggest;
pub mod supervise;
pub mod tool;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command: arguments in, exit code out.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // The mock agent is a program of its own: it starts often and needs none of the rest.
    if let [_, mode, rest @ ..] = args.as_slice()
        && mode == "__mock"
    {
        return ExitCode::from(backend::mock::agent::run(rest.to_vec()));
    }
    if complete::answer(&args) {
        return ExitCode::SUCCESS;
    }
    match cli::Cli::try_parse_from(args) {
        Ok(cli) => command::dispatch(cli),
        Err(error) => {
            // Help and version are no errors; a closed pipe is not ours to complain about.
            let printed = error.print();
            if let Some(advice) = cli::advice(&error) {
                report::tell(&format!("hint: {advice}\n"));
            }
            match (error.use_stderr(), printed) {
                (true, _) => exit::Exit::Usage.into(),
                (false, Err(why)) if why.kind() != std::io::ErrorKind::BrokenPipe => {
                    report::tell(&format!("error: the output cannot be written: {why}\n"));
                    exit::Exit::AgentFailed.into()
                }
                (false, _) => exit::Exit::Success.into(),
            }
        }
    }
}
