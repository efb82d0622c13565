//! `agentctl sessions`: what is stored, and how to be rid of it. Plain arguments in, text or JSON out over any `Write`.
//!
//! Standard output carries what was asked for; damaged entries and refusals are told on standard error and cost
//! themselves alone.

mod table;
mod view;

pub use table::{Color, Look};
pub use view::{PruneView, SessionView};

use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use crate::session::{DamagedPolicy, Filter, Key, Policy, PruneMode, Resolution, Store};
use jiff::SignedDuration;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do with the store.
#[derive(Clone, Debug)]
pub enum SessionsCommand {
    List(ListArguments),
    Show(ShowArguments),
    Remove(RemoveArguments),
    Prune(PruneArguments),
    Path,
}

impl SessionsCommand {
    /// Whether the output is coloured, and harmless for a terminal as it is.
    pub fn is_table(&self) -> bool {
        match self {
            Self::List(arguments) => arguments.format == Format::Text,
            Self::Show(arguments) => arguments.format == Format::Text,
            Self::Remove(_) | Self::Prune(_) | Self::Path => false,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ListArguments {
    pub backend: Option<String>,
    /// A part of the name.
    pub name: Option<String>,
    /// Absolute.
    pub cwd: Option<PathBuf>,
    /// All of them without one.
    pub limit: Option<usize>,
    pub format: Format,
}

#[derive(Clone, Debug)]
pub struct ShowArguments {
    /// A key, the beginning of one, a name or a native id.
    pub session: String,
    pub format: Format,
}

#[derive(Clone, Debug)]
pub struct RemoveArguments {
    pub sessions: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct PruneArguments {
    pub older_than: Option<Duration>,
    pub keep: Option<usize>,
    pub damaged: DamagedPolicy,
    pub mode: PruneMode,
    pub format: Format,
}

/// For people or for programs. A list in JSON is an array with one session a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// The two streams of a command.
pub struct Streams<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}

/// Runs one command on the store in `state_directory`.
pub fn run(
    state_directory: &Path,
    command: &SessionsCommand,
    look: &Look,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    let result = match command {
        SessionsCommand::Path => writeln!(streams.out, "{}", state_directory.display()).map(|()| Exit::Success),
        SessionsCommand::List(arguments) => list(&Store::open(state_directory)?, arguments, look, streams),
        SessionsCommand::Remove(arguments) => remove(&Store::open(state_directory)?, arguments, streams),
        SessionsCommand::Show(arguments) => {
            let store = Store::open(state_directory)?;
            let record = store.find(&arguments.session)?;
            let view = SessionView::new(&store, &record);
            match arguments.format {
                Format::Text => table::details(&view, look, streams.out),
                Format::Json => json(&view, streams.out),
            }
            .map(|()| Exit::Success)
        }
        SessionsCommand::Prune(arguments) => {
            let store = Store::open(state_directory)?;
            let view = prune(&store, arguments, look)?;
            match arguments.format {
                Format::Text => table::pruned(&view, streams.out),
                Format::Json => json(&view, streams.out),
            }
            .map(|()| Exit::Success)
        }
    };
    match result {
        // Whoever read this has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        Err(error) => Err(Failure::new(
            ErrorKind::Crashed,
            format!("the output cannot be written: {error}"),
        )),
        Ok(exit) => Ok(exit),
    }
}

fn list(store: &Store, arguments: &ListArguments, look: &Look, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let filter = Filter {
        backend: arguments.backend.clone(),
        name: arguments.name.clone(),
        cwd: arguments.cwd.clone(),
    };
    let listing = match arguments.limit {
        Some(limit) => store.recent(&filter, limit),
        None => store.all(&filter),
    };
    for damaged in &listing.damaged {
        writeln!(streams.err, "warning: {damaged}")?;
    }
    let views: Vec<SessionView> = listing
        .records
        .iter()
        .map(|record| SessionView::new(store, record))
        .collect();
    match arguments.format {
        Format::Text => table::list(&views, look, streams.out)?,
        Format::Json => json_lines(&views, streams.out)?,
    }
    Ok(Exit::Success)
}

/// Removes what can be removed; the exit code is that of the first that could not.
fn remove(store: &Store, arguments: &RemoveArguments, streams: &mut Streams<'_>) -> io::Result<Exit> {
    let mut exit = Exit::Success;
    for selector in &arguments.sessions {
        match find_and_remove(store, selector) {
            Ok(key) => writeln!(streams.out, "{key}")?,
            Err(failure) => {
                writeln!(streams.err, "error: {failure}")?;
                if let Some(hint) = &failure.hint {
                    writeln!(streams.err, "hint: {hint}")?;
                }
                if exit == Exit::Success {
                    exit = failure.kind.exit();
                }
            }
        }
    }
    Ok(exit)
}

fn find_and_remove(store: &Store, selector: &str) -> Result<Key, Failure> {
    let key = match store.resolve(selector) {
        Resolution::Damaged(damaged) => damaged.key,
        Resolution::Found(record) => record.key,
        _ => store.find(selector)?.key,
    };
    store.remove(key).map_err(|failure| match failure.kind {
        ErrorKind::Busy => failure.hint("it can be removed when that run has ended"),
        _ => failure,
    })?;
    Ok(key)
}

fn prune(store: &Store, arguments: &PruneArguments, look: &Look) -> Result<PruneView, Failure> {
    let policy = Policy {
        older_than: arguments
            .older_than
            .map(|age| SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX)),
        keep: arguments.keep,
        damaged: arguments.damaged,
    };
    if policy.older_than.is_none() && policy.keep.is_none() && policy.damaged == DamagedPolicy::Keep {
        return Err(Failure::usage("nothing was said about what may go")
            .hint("say --older-than 30d, --keep 100 or --damaged; --dry-run shows what would go"));
    }
    let report = store.prune(&policy, arguments.mode, look.now)?;
    Ok(PruneView::new(store, &report, arguments))
}

fn json(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// One array for programs that read it whole, one element a line for those that don't.
fn json_lines(views: &[SessionView], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "[")?;
    for (position, view) in views.iter().enumerate() {
        writeln!(out, "{}", if position == 0 { "" } else { "," })?;
        serde_json::to_writer(&mut *out, view)?;
    }
    writeln!(out, "{}]", if views.is_empty() { "" } else { "\n" })
}
