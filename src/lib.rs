//! One command in front of the coding-agent CLIs.
//!
//! A run flows one way: `cli → config → request → backend.plan → supervise → lines → protocol → event → session,
//! report → exit`. The pure parts (request, plan, protocol, event) have no async, no clock and no file system, but for a
//! backend's looks before and after a run (`Backend::inspect`, `Backend::left_behind`).

// What was typed and configured, down to one validated request.
pub mod catalog; // the backends of this user, built in and declared
pub mod cli; // the command line as it was typed
pub mod complete; // values for the shell's completion
pub mod config; // files and environment, each value with its origin
pub mod decide; // from all of that to a request: every usage error is found here
pub mod prompt; // from an argument, a file or standard input
pub mod request; // one run, decided

// A run.
pub mod backend; // what to start, and what its bytes mean: one folder a CLI, pure
pub mod engine; // joins the others: plan, supervise, decode, settle, keep
pub mod event; // what every backend is translated to
pub mod lines; // bytes to lines
pub mod locate; // the backend's program, before anything is spawned
pub mod outcome; // how a run is judged
pub mod supervise; // the only place that spawns, signals, waits and kills

// What becomes of it.
pub mod report; // events to text, JSON and a terminal
pub mod session; // stored conversations

// What an answer may be asked for.
pub mod marker; // --marker
pub mod media; // --media
pub mod schema; // --schema, with a validator of our own

// Who begins a run, or something else.
pub mod agent; // programs in Rust
pub mod command; // the subcommands
pub mod doctor; // is each CLI usable here?

// Small things that many use.
pub mod bytes; // looked for, many at once
pub mod directory; // the form that every program takes
pub mod duration; // 90s, 10m, 1h30m
pub mod error; // what can go wrong, with advice
pub mod exit; // the table of exit codes
pub mod json_text; // strings and numbers of JSON, many bytes at once
pub mod mask; // keeps secrets out of what is shown
pub mod mcp; // the common form of MCP servers
pub mod owner; // whose files we heed
pub mod shell; // commands as a person would type them
pub mod suggest; // what was probably meant
pub mod tool; // the canonical names of tools

use std::ffi::OsString;
use std::io::IsTerminal;

/// The command: arguments in, exit code out.
pub fn main() -> u8 {
    locate::we_are_agentctl();
    let args: Vec<OsString> = std::env::args_os().collect();
    // The mock agent is a program of its own: it starts often and needs none of the rest.
    if let [_, mode, rest @ ..] = args.as_slice()
        && mode == "__mock"
    {
        return backend::mock::agent::run(rest.to_vec());
    }
    if complete::answer(&args) {
        return exit::Exit::Success.code();
    }
    match cli::parse(&args) {
        Ok(cli) => command::dispatch(cli),
        Err(error) => refuse(error, &args),
    }
}

/// Tells why a command line cannot be run; help and version are such reasons too.
fn refuse(error: clap::Error, args: &[OsString]) -> u8 {
    if !error.use_stderr() {
        return command::topics::print_asked_for(&error).code();
    }
    if let Some(color) = cli::typed_color(args) {
        report::choose_color(color);
    }
    let (mut error, args) = shown(error, args);
    let advice = cli::advise(&mut error, &args);
    // Whoever reads no errors still gets the exit code.
    let _ = error.print();
    if let Some(advice) = advice {
        report::tell(&format!("hint: {advice}\n"));
    }
    exit::Exit::Usage.code()
}

/// A terminal must not obey what a stranger put into an argument, and clap repeats it: there the same error is made from
/// harmless words.
fn shown(error: clap::Error, args: &[OsString]) -> (clap::Error, Vec<OsString>) {
    let harmless: Vec<OsString> = match std::io::stderr().is_terminal() {
        true => args.iter().map(|arg| report::harmless_word(arg)).collect(),
        false => args.to_vec(),
    };
    if harmless == args {
        return (error, harmless);
    }
    let same = cli::parse(&harmless).err().unwrap_or_else(|| {
        // What was wrong with it cannot be shown.
        clap::Error::raw(error.kind(), "an argument has characters that cannot be shown\n")
    });
    (same, harmless)
}
