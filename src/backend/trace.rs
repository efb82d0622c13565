//! What a CLI's own terminal UI left behind: which conversation was begun there, as the files tell that the CLI keeps.
//!
//! Nobody reads what such a UI shows, so there is nothing else to know it by. Files are looked at and never changed.

use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What there is to go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The CLI's id of it.
    Conversation(String),
    /// Nothing was said.
    Nothing,
    /// The CLI keeps its conversations where we cannot look.
    Unknown,
}

/// File systems tell times less exactly than the clock does.
const TOLERANCE: Duration = Duration::from_secs(1);

/// More than any first line has.
const FIRST_LINE: u64 = 4 << 20;

/// Whether a file of this name lies so many directories below `root`.
pub fn of_file(root: &Path, depth: usize, fits: impl Fn(&str) -> bool, id: &str) -> Trace {
    if !root.is_dir() {
        return Trace::Unknown;
    }
    let named = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&fits);
    match files(root, depth).iter().any(named) {
        true => Trace::Conversation(id.to_owned()),
        false => Trace::Nothing,
    }
}

/// The conversation that was written to last, of those whose first line says what `read` makes of it.
pub fn of_first_line<T: DeserializeOwned>(
    root: &Path,
    depth: usize,
    since: SystemTime,
    read: impl Fn(T) -> Option<String>,
) -> Trace {
    let since = since.checked_sub(TOLERANCE).unwrap_or(since);
    let mut written: Vec<(SystemTime, PathBuf)> = files(root, depth)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .filter(|(at, _)| *at >= since)
        .collect();
    written.sort();
    let ids = written.iter().rev();
    let newest = ids.filter_map(|(_, path)| read(first_line(path)?)).next();
    newest.map_or(Trace::Nothing, Trace::Conversation)
}

fn first_line<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut line = Vec::new();
    let mut file = BufReader::new(File::open(path).ok()?.take(FIRST_LINE));
    file.read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// The files that lie exactly so many directories below `root`.
fn files(root: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    match depth {
        0 => paths.filter(|path| path.is_file()).collect(),
        _ => paths.flat_map(|path| files(&path, depth - 1)).collect(),
    }
}
