//! Forgetting a conversation: its record first, so that whatever is left after a crash points to nothing.
//!
//! Only agentctl forgets it; what the CLI itself keeps is the CLI's.

use super::index::Handle;
use super::key::Key;
use super::lock::{self, LockId, Wait};
use super::place;
use super::record::Record;
use super::store::Store;
use crate::error::Failure;
use std::io;

impl Store {
    /// Forgets a conversation, also one that cannot be read. Fails if a run has it, and tells whether it was there.
    pub fn remove(&self, key: Key) -> Result<Removal, Failure> {
        match self.claim_key_for_removal(key)? {
            Some((guard, record)) => {
                self.forget(key, record.as_ref())?;
                lock::remove_held(guard, &self.root);
                Ok(Removal::Removed)
            }
            None => Ok(Removal::Absent),
        }
    }

    /// The same, unless it was used since `seen` was read.
    pub(super) fn remove_if_unused_since(&self, seen: &Record) -> Result<Removal, Failure> {
        match self.claim_key_for_removal(seen.key)? {
            Some((guard, Some(record))) if record.used_at == seen.used_at => {
                self.forget(seen.key, Some(&record))?;
                lock::remove_held(guard, &self.root);
                Ok(Removal::Removed)
            }
            _ => Ok(Removal::Absent),
        }
    }

    /// The lock and the record as it is under the lock; a damaged one has the lock of its key.
    fn claim_key_for_removal(&self, key: Key) -> Result<Option<(lock::Guard, Option<Record>)>, Failure> {
        let lock = match self.get(&key) {
            Ok(None) => return Ok(None),
            Ok(Some(record)) => record.lock,
            Err(_) => LockId::of_key(key),
        };
        let guard = self.lock(&lock, Wait::No)?;
        Ok(Some((guard, self.get(&key).ok().flatten())))
    }

    fn forget(&self, key: Key, record: Option<&Record>) -> Result<(), Failure> {
        match std::fs::remove_file(self.record_path(&key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(place::unusable(self.root.path(), &error.to_string()));
            }
            _ => {}
        }
        // The rest is ignored once the record is gone; prune finds what cannot be removed now.
        let _ = std::fs::remove_file(self.transcript_path(&key));
        let Some(record) = record else {
            return Ok(());
        };
        if let Some(name) = &record.name {
            Handle::Name(name).remove(&self.root, key);
        }
        let backend = record.backend.as_str();
        for id in record.earlier_native_ids.iter().chain([&record.native_id]) {
            Handle::Native { backend, id }.remove(&self.root, key);
        }
        Ok(())
    }
}

/// Whether there was something to forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    Absent,
}
