//! Forgetting many conversations at once, and clearing away what crashes and removals left behind.
//!
//! Conversations that a run has are left alone. Nothing young is swept: it may be half of something that is being made.

use super::damaged::Damaged;
use super::file::{ABANDONED_AFTER, is_older};
use super::index;
use super::journal::Journal;
use super::key::Key;
use super::lock;
use super::record::Record;
use super::remove::Removal;
use super::store::{Filter, Store};
use crate::error::{ErrorKind, Failure};
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What may go. A conversation goes if any of the rules says so.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Not used for longer than this.
    pub older_than: Option<SignedDuration>,
    /// Beyond this many of the last used ones.
    pub keep: Option<usize>,
    pub damaged: DamagedPolicy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DamagedPolicy {
    #[default]
    Keep,
    Remove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneMode {
    DryRun,
    Remove,
}

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default)]
pub struct PruneReport {
    pub removed: Vec<Record>,
    /// Left alone because a run has them.
    pub busy: Vec<Key>,
    /// Could not be read; removed as well if the policy says so.
    pub damaged: Vec<Damaged>,
    pub kept: usize,
}

impl Store {
    pub fn prune(&self, policy: &Policy, mode: PruneMode, now: Timestamp) -> Result<PruneReport, Failure> {
        let all = self.all(&Filter::default());
        let mut report = PruneReport {
            damaged: all.damaged,
            ..PruneReport::default()
        };
        for (position, record) in all.records.into_iter().enumerate() {
            if !policy.drops(position, &record, now) {
                report.kept += 1;
            } else if mode == PruneMode::DryRun {
                report.removed.push(record);
            } else {
                self.prune_one(record, &mut report)?;
            }
        }
        if mode == PruneMode::Remove {
            self.prune_damaged(policy, &mut report)?;
            self.sweep(SystemTime::now());
        }
        Ok(report)
    }

    fn prune_one(&self, record: Record, report: &mut PruneReport) -> Result<(), Failure> {
        match self.remove_if_unused_since(&record) {
            Ok(Removal::Removed) => report.removed.push(record),
            Ok(Removal::Absent) => report.kept += 1,
            Err(failure) if failure.kind == ErrorKind::Busy => report.busy.push(record.key),
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    fn prune_damaged(&self, policy: &Policy, report: &mut PruneReport) -> Result<(), Failure> {
        if policy.damaged == DamagedPolicy::Remove {
            for damaged in &report.damaged {
                self.remove(damaged.key)?;
            }
        }
        Ok(())
    }

    /// Clears away temporary files, pointers and transcripts without a record, and locks that nobody holds, and writes
    /// the journal anew.
    fn sweep(&self, now: SystemTime) {
        self.root.sweep(now);
        for folder in ["names", "native", "cwd"] {
            for path in self.old_files(folder, now) {
                // One that cannot be read stays: it says that there is something to look for.
                if let Ok(Some(pointer)) = index::read(&path)
                    && !self.record_path(&pointer.key).exists()
                {
                    remove_leftover(&path);
                }
            }
        }
        for path in self.old_files("transcripts", now) {
            let key = path.file_stem().and_then(|stem| stem.to_str()?.parse::<Key>().ok());
            if key.is_some_and(|key| !self.record_path(&key).exists()) {
                remove_leftover(&path);
            }
        }
        for path in old_files_in(&self.root.path().join("locks"), now) {
            lock::remove_if_free(&path);
        }
        let journal = Journal::of(&self.root);
        let length = journal.length();
        // A journal that stays as it is only costs time.
        let _ = journal.replace(&self.uses_of_records(), length);
    }

    /// Those in the shards of a folder.
    fn old_files(&self, folder: &str, now: SystemTime) -> Vec<PathBuf> {
        let shards = std::fs::read_dir(self.root.path().join(folder));
        let shards = shards.into_iter().flatten().flatten();
        shards.flat_map(|shard| old_files_in(&shard.path(), now)).collect()
    }
}

fn old_files_in(directory: &Path, now: SystemTime) -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter(|file| is_older(file, now, ABANDONED_AFTER))
        .map(|file| file.path())
        .collect()
}

impl Policy {
    fn drops(&self, position: usize, record: &Record, now: Timestamp) -> bool {
        let unused_for = now.duration_since(record.used_at);
        let too_old = self.older_than.is_some_and(|limit| unused_for > limit);
        let too_many = self.keep.is_some_and(|keep| position >= keep);
        too_old || too_many
    }
}

fn remove_leftover(path: &Path) {
    // The next prune tries again.
    let _ = std::fs::remove_file(path);
}
