//! A conversation and its lock in one step. What is read before a lock was waited for is old when the lock is had, so
//! the record is always read under the lock.

use super::damaged::Damaged;
use super::key::Key;
use super::lock::{Guard, LockId, Wait};
use super::record::Record;
use super::store::Store;
use crate::error::{ErrorKind, Failure};

/// A conversation that is ours: to go on with if there is a record, to begin if there is none.
#[derive(Debug)]
pub struct Claim {
    pub guard: Guard,
    pub record: Option<Record>,
    /// There was a record, but it cannot be read: worth a warning, since a new conversation takes its place.
    pub damaged: Option<Damaged>,
}

impl Store {
    /// A conversation that nobody knows yet, under a new key.
    pub fn claim_new(&self, key: Key) -> Result<Guard, Failure> {
        self.lock(&LockId::of_key(key), Wait::No)
    }

    /// The conversation of this name: found or to be begun, in one step. The name is locked first, so of two that begin
    /// it at once the second finds what the first began.
    pub fn claim_name(&self, name: &str, wait: Wait) -> Result<Claim, Failure> {
        self.claim(LockId::of_name(name), wait, || self.by_name(name))
    }

    /// The conversation of this native id: one of ours, or one that was begun outside of agentctl.
    pub fn claim_native_id(&self, backend: &str, id: &str, wait: Wait) -> Result<Claim, Failure> {
        let known = self.by_native_id(backend, id).ok().flatten();
        let lock = known.map_or_else(|| LockId::of_native_id(backend, id), |record| record.lock);
        self.claim(lock, wait, || self.by_native_id(backend, id))
    }

    /// The conversation of this key, which was found before.
    pub fn claim_key(&self, key: Key, wait: Wait) -> Result<(Guard, Record), Failure> {
        let found = self.get(&key)?.ok_or_else(|| gone(key))?;
        let claim = self.claim(found.lock, wait, || self.get(&key))?;
        match (claim.record, claim.damaged) {
            (Some(record), _) => Ok((claim.guard, record)),
            (None, Some(damaged)) => Err(damaged.into()),
            (None, None) => Err(gone(key)),
        }
    }

    /// The lock first taken covers the lookup and a beginning. A record that names another lock is locked by that one,
    /// and the first is given back: whoever comes next is led to the same record and waits there.
    fn claim(
        &self,
        first: LockId,
        wait: Wait,
        find: impl Fn() -> Result<Option<Record>, Damaged>,
    ) -> Result<Claim, Failure> {
        let mut guard = self.lock(&first, wait)?;
        loop {
            let record = match find() {
                Ok(record) => record,
                Err(damaged) => {
                    return Ok(Claim {
                        guard,
                        record: None,
                        damaged: Some(damaged),
                    });
                }
            };
            let other = record
                .as_ref()
                .map(|record| &record.lock)
                .filter(|lock| *lock != guard.id());
            match other {
                Some(other) => {
                    let next = self.lock(other, wait)?;
                    guard = next;
                }
                None => {
                    return Ok(Claim {
                        guard,
                        record,
                        damaged: None,
                    });
                }
            }
        }
    }
}

fn gone(key: Key) -> Failure {
    Failure::new(
        ErrorKind::SessionNotFound,
        format!("the session {key} does not exist any more"),
    )
    .hint("`agentctl sessions list` shows what there is")
}
