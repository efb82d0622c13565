//! The session store as programs meet it: many processes, crashes, strange names, unusable places.

#[cfg(unix)]
mod cli;
mod command;
#[cfg(unix)]
mod crash;
#[cfg(unix)]
mod crowd;
#[cfg(unix)]
mod helper;
#[cfg(unix)]
mod kept;
mod lookup;
#[cfg(unix)]
mod place;
mod prune;
#[cfg(unix)]
mod unusable;

use agentctl::session::{Key, LockId, Record, Store};
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};

/// A store in a directory of its own.
struct Fixture {
    /// Goes with it.
    _directory: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("state")).unwrap();
        Self {
            _directory: directory,
            store,
        }
    }

    fn path(&self) -> &Path {
        self.store.path()
    }

    /// Stores a conversation that was used `seconds` after the beginning of the test's time.
    fn put(&self, seconds: i64, change: impl FnOnce(&mut Record)) -> Record {
        let mut record = record(Key::fresh(), seconds);
        change(&mut record);
        self.store.put(&record).unwrap();
        record
    }

    /// The files of the records.
    fn record_files(&self) -> Vec<PathBuf> {
        files_below(&self.path().join("sessions"))
    }

    /// Makes a record unreadable.
    fn damage(&self, record: &Record) {
        let file = self.record_files().into_iter().find(|path| {
            let stem = path.file_stem().unwrap();
            stem.to_str() == Some(record.key.as_str())
        });
        std::fs::write(file.unwrap(), b"{\"version\":1,").unwrap();
    }
}

fn at(seconds: i64) -> Timestamp {
    "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

fn record(key: Key, seconds: i64) -> Record {
    let mut record = Record::new(key, LockId::of_key(key), "mock", "/project", at(seconds));
    record.refresh_native_id(&format!("native-{key}"));
    record.begin(at(seconds));
    record
}

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(files_below(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    files
}

/// Every file and directory below `state` is closed to others, and open to its owner.
#[cfg(unix)]
fn check_private(state: &Path, umask: &str) {
    use std::os::unix::fs::MetadataExt;
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().mode() & 0o777;
    let files = files_below(state);
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "umask {umask}: {}", file.display());
        for parent in file.ancestors().skip(1).take_while(|parent| parent.starts_with(state)) {
            assert_eq!(mode(parent), 0o700, "umask {umask}: {}", parent.display());
        }
    }
}
