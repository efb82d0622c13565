//! Where the prompt comes from: an argument, a file, standard input, or an argument with standard input after it.

use crate::decide::read_text;
use crate::error::Failure;
use std::io::{IsTerminal, Read};
use std::path::Path;

/// A prompt on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// A word of its own, of which `-` is standard input.
    Word(&'a str),
    /// The value of `--prompt`: text, whatever it is.
    Text(&'a str),
}

impl<'a> Argument<'a> {
    pub fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Text(text) => text,
        }
    }
}

/// The prompt, whole and as it was given. Empty if there is none.
pub fn gather(argument: Option<Argument<'_>>, file: Option<&Path>) -> Result<String, Failure> {
    let is_stdin = |argument: &Argument<'_>| *argument == Argument::Word("-");
    let stdin_wanted = argument.as_ref().is_some_and(is_stdin) || file == Some(Path::new("-"));
    let argument = argument.filter(|argument| !is_stdin(argument)).map(Argument::text);
    let from_file = match file.filter(|path| *path != Path::new("-")) {
        Some(path) => Some(read_text(path, "the prompt")?),
        None => None,
    };
    let given: Vec<String> = argument.map(str::to_owned).into_iter().chain(from_file).collect();
    let piped = match (stdin_wanted, given.is_empty()) {
        (true, _) => read_stdin()?,
        (false, true) if std::io::stdin().is_terminal() => String::new(),
        (false, true) => read_stdin()?,
        (false, false) => read_waiting_stdin()?,
    };
    let parts = given.into_iter().chain((!piped.is_empty()).then_some(piped));
    Ok(parts.collect::<Vec<_>>().join("\n\n"))
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read the prompt from standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Failure::usage(format!(
            "the prompt on standard input is not UTF-8 text (at byte {position})"
        ))
        .hint("convert it first, e.g. with iconv")
    })
}

/// Standard input beside a prompt that was given otherwise. A pipe that somebody left open without writing must not
/// hold the run up for ever, so it is read only if something, or its end, comes soon.
fn read_waiting_stdin() -> Result<String, Failure> {
    match std::io::stdin().is_terminal() || !is_ready_soon() {
        true => Ok(String::new()),
        false => read_stdin(),
    }
}

#[cfg(unix)]
fn is_ready_soon() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
    poll(&mut waited, Some(&patience)).is_ok_and(|ready| ready > 0)
}

#[cfg(not(unix))]
fn is_ready_soon() -> bool {
    true
}
