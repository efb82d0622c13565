//! Records by key, and in the order of their use.

use super::damaged::Damaged;
use super::file::{self, Durability, Root};
use super::index::{Handle, Target};
use super::journal::{Journal, Use, directory_mark};
use super::key::Key;
use super::lock::{self, Guard, LockId, Wait};
use super::place;
use super::record::{Record, VERSION};
use crate::error::Failure;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The conversations of one state directory. Cheap to open; nothing is created before the first write.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) root: Root,
}

/// How long the file of a record grows before it is written anew: a block of most file systems, which it takes anyway.
const LONGEST: u64 = 4096;

/// The record as it was written last. The file also has what was written before; that counts if what came after it is
/// torn, and not if that is whole and cannot be understood.
fn newest(lines: &[u8]) -> serde_json::Result<Record> {
    let mut lines = lines.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut read = serde_json::from_slice(lines.next().unwrap_or_default());
    for line in lines {
        match &read {
            Err(torn) if !torn.is_data() => read = serde_json::from_slice(line),
            _ => break,
        }
    }
    read
}

/// A record that is written but may not be on the disk yet.
#[derive(Debug)]
#[must_use = "the record does not survive a crash of the machine yet"]
pub struct Unsynced(File);

impl Unsynced {
    /// Waits for the disk.
    pub fn sync(self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Which conversations to list. An empty filter takes all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub backend: Option<String>,
    /// A part of the name.
    pub name: Option<String>,
    pub cwd: Option<PathBuf>,
}

impl Filter {
    pub fn accepts(&self, record: &Record) -> bool {
        let backend = self.backend.as_ref().is_none_or(|backend| *backend == record.backend);
        let cwd = self.cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd);
        let name = self.name.as_ref().is_none_or(|part| {
            let name = record.name.as_deref();
            name.is_some_and(|name| name.contains(part.as_str()))
        });
        backend && cwd && name
    }
}

/// Records, newest first, and what could not be read on the way to them.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub records: Vec<Record>,
    pub damaged: Vec<Damaged>,
}

impl Store {
    /// Opens the store in `directory`. Fails if that is no directory, or one where other users could plant records.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, Failure> {
        let root = directory.into();
        place::check(&root)?;
        Ok(Self { root: Root::new(root) })
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Whether this is the first time that the users of this store are told something. If it cannot be noted down they
    /// will be told again.
    pub fn is_news(&self, what: &str) -> bool {
        let mark = self.root.path().join(format!("told-{what}"));
        let news = !mark.exists();
        if news {
            let _ = self.root.write_new(&mark, b"");
        }
        news
    }

    pub(super) fn record_path(&self, key: &Key) -> PathBuf {
        let file = format!("{key}.json");
        self.root.path().join("sessions").join(key.shard()).join(file)
    }

    /// The record of a key; nothing if there is none.
    pub fn get(&self, key: &Key) -> Result<Option<Record>, Damaged> {
        let path = self.record_path(key);
        let damaged = |why: String| Damaged {
            key: *key,
            path: path.clone(),
            why,
        };
        let bytes = match file::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let record = newest(&bytes).map_err(|error| damaged(error.to_string()))?;
        if record.version > VERSION {
            return Err(damaged("a newer agentctl wrote it".to_owned()));
        }
        if record.key != *key {
            return Err(damaged(format!("it is the record of {}", record.key)));
        }
        Ok(Some(record))
    }

    /// Makes the directory of a new record, and has the system look into it if it is there.
    pub fn make_room(&self, key: &Key) {
        let path = self.record_path(key);
        if !path.exists() && !path.parent().is_some_and(Path::exists) {
            let _ = self.root.create_parent(&path);
        }
    }

    /// Writes a record. Whoever calls it holds the record's lock. A failure costs the ability to resume, not the run.
    pub fn put(&self, record: &Record) -> Result<(), Failure> {
        self.write(record, Durability::Machine)
            .map(drop)
            .map_err(|error| place::unusable(self.root.path(), &error.to_string()))
    }

    /// Writes a record that everybody finds at once, and that survives a crash of the machine after `Unsynced::sync`.
    pub fn put_unsynced(&self, record: &Record) -> Result<Unsynced, Failure> {
        self.write(record, Durability::Process)
            .map(Unsynced)
            .map_err(|error| place::unusable(self.root.path(), &error.to_string()))
    }

    fn write(&self, record: &Record, durability: Durability) -> io::Result<File> {
        // Pointers and the order first: a crash in between must not leave a conversation that its name does not find, or
        // that is not listed.
        if let Some(name) = &record.name {
            Handle::Name(name).write(&self.root, record.key)?;
        }
        if !record.native_id.is_empty() {
            let (backend, id) = (record.backend.as_str(), record.native_id.as_str());
            Handle::Native { backend, id }.write(&self.root, record.key)?;
        }
        self.note_use(record);
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let path = self.record_path(&record.key);
        let longest = match durability {
            // What is on the disk should stay there until more is: only runs that never end make it this long.
            Durability::Process => 16 * LONGEST,
            Durability::Machine => LONGEST,
        };
        match self.root.append(&path, &line, longest, durability)? {
            Some(file) => Ok(file),
            None => self.root.write(&path, &line, durability),
        }
    }

    /// The caches may fail, and may be ahead of the record: they are checked against it.
    fn note_use(&self, record: &Record) {
        let journal = Journal::of(&self.root);
        if !journal.exists() {
            let _ = journal.create(&self.uses_of_records());
            self.root.sweep(SystemTime::now());
        }
        let _ = journal.append(&Use::new(record.used_at, record.key, &record.cwd));
        let _ = Handle::Directory(&record.cwd).write(&self.root, record.key);
    }

    pub fn by_name(&self, name: &str) -> Result<Option<Record>, Damaged> {
        self.follow(Handle::Name(name), |record| record.name.as_deref() == Some(name))
    }

    /// The conversation that has, or once had, this native id.
    pub fn by_native_id(&self, backend: &str, id: &str) -> Result<Option<Record>, Damaged> {
        self.follow(Handle::Native { backend, id }, |record| {
            record.backend == backend && record.has_native_id(id)
        })
    }

    fn follow(&self, handle: Handle<'_>, fits: impl Fn(&Record) -> bool) -> Result<Option<Record>, Damaged> {
        match handle.read(&self.root) {
            Target::Key(key) => Ok(self.get(&key)?.filter(fits)),
            Target::Nowhere => Ok(None),
            // Slow, and only until the next `put` mends the pointer.
            Target::Unreadable => Ok(self.all(&Filter::default()).records.into_iter().find(fits)),
        }
    }

    /// The conversation that was used last in `cwd`.
    pub fn last_in(&self, cwd: &Path) -> Option<Record> {
        let target = Handle::Directory(cwd).read(&self.root);
        if let Target::Key(key) = target
            && let Ok(Some(record)) = self.get(&key)
            && record.cwd == cwd
        {
            return Some(record);
        }
        // A pointer is written with every record: without one there is nothing, unless all pointers were lost.
        if target == Target::Nowhere && self.root.path().join("cwd").exists() {
            return None;
        }
        let filter = Filter {
            cwd: Some(cwd.to_owned()),
            ..Filter::default()
        };
        self.recent(&filter, 1).records.pop()
    }

    /// The conversation that was used last anywhere.
    pub fn last(&self) -> Option<Record> {
        self.recent(&Filter::default(), 1).records.pop()
    }

    /// At most `limit` records, the last used first.
    pub fn recent(&self, filter: &Filter, limit: usize) -> Listing {
        let mark = filter.cwd.as_deref().map(directory_mark);
        let here = |one: &Use| mark.as_ref().is_none_or(|mark| *mark == one.directory);
        self.listed(self.uses().filter(here), |record| filter.accepts(record), limit)
    }

    /// The same of those that are wanted, however old. No more are read than it takes.
    pub fn recent_such(&self, wanted: impl Fn(&Record) -> bool, limit: usize) -> Listing {
        self.listed(self.uses(), wanted, limit)
    }

    fn listed(&self, uses: impl Iterator<Item = Use>, wanted: impl Fn(&Record) -> bool, limit: usize) -> Listing {
        let mut listing = Listing::default();
        let mut seen = HashSet::new();
        for one in uses {
            if listing.records.len() >= limit {
                break;
            }
            if !seen.insert(one.key) {
                continue;
            }
            match self.get(&one.key) {
                Ok(Some(record)) if wanted(&record) => listing.records.push(record),
                Ok(_) => {}
                Err(damaged) => listing.damaged.push(damaged),
            }
        }
        listing.sort();
        listing
    }

    fn uses(&self) -> Box<dyn Iterator<Item = Use>> {
        let journal = Journal::of(&self.root);
        match journal.newest_first() {
            Some(uses) => Box::new(uses),
            None => {
                let uses = self.uses_of_records();
                if !uses.is_empty() {
                    // A store that cannot be written is still read.
                    let _ = journal.create(&uses);
                }
                Box::new(uses.into_iter().rev())
            }
        }
    }

    /// What the journal would say, oldest first.
    pub(super) fn uses_of_records(&self) -> Vec<Use> {
        let mut records = self.all(&Filter::default()).records;
        records.reverse();
        records
            .iter()
            .map(|record| Use::new(record.used_at, record.key, &record.cwd))
            .collect()
    }

    /// Every record, read from the files themselves, the last used first.
    pub fn all(&self, filter: &Filter) -> Listing {
        let mut listing = Listing::default();
        for key in self.keys(|_| true) {
            match self.get(&key) {
                Ok(Some(record)) if filter.accepts(&record) => listing.records.push(record),
                Ok(_) => {}
                Err(damaged) => listing.damaged.push(damaged),
            }
        }
        listing.sort();
        listing
    }

    /// The keys of the shards that `wanted` takes, in no order.
    pub(super) fn keys(&self, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Key> {
        let shards = std::fs::read_dir(self.root.path().join("sessions"));
        let shards = shards.into_iter().flatten().flatten();
        let shards = shards.filter(move |shard| shard.file_name().to_str().is_some_and(&wanted));
        shards.flat_map(|shard| keys_in(&shard.path(), |_| true))
    }

    /// Takes a lock of this store; see `claim_name` and its like for taking it together with the record.
    pub fn lock(&self, id: &LockId, wait: Wait) -> Result<Guard, Failure> {
        lock::take(&self.root, id, wait)
    }

    /// Whether a run has this conversation now.
    pub fn is_busy(&self, record: &Record) -> bool {
        lock::is_held(&self.root, &record.lock)
    }
}

impl Listing {
    fn sort(&mut self) {
        self.records
            .sort_by(|one, other| other.used_at.cmp(&one.used_at).then(one.key.cmp(&other.key)));
    }
}

/// The keys in one shard whose files' names `fits` takes.
pub(super) fn keys_in(shard: &Path, fits: impl Fn(&str) -> bool) -> Vec<Key> {
    let entries = std::fs::read_dir(shard).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str().filter(|name| fits(name))?;
            name.strip_suffix(".json")?.parse().ok()
        })
        .collect()
}
