//! Keeps the session record of one run: written as soon as the native id is known, updated at the end. A store that
//! fails costs a warning, never the answer.
//!
//! A disk may take long to say that it has something, and the first record is written while the CLI is being read. So it
//! is there for everybody at once, but the disk is asked only a moment later, in a thread of its own. A run that is over
//! before that waits for the disk once, at its end.

use crate::error::{ErrorKind, Failure};
use crate::event::EventResult;
use crate::session::{Exchange, Guard, Outcome, Record, Store, Unsynced};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long the first record of a run may be missing from the disk.
const SYNC_AFTER: Duration = Duration::from_millis(50);

/// The record of the conversation that a run belongs to, with its lock.
#[derive(Debug)]
pub struct Keeper {
    store: Store,
    record: Record,
    guard: Guard,
    state: State,
    /// The first record, and when the disk is asked for it.
    unsynced: Option<(Unsynced, Instant)>,
    /// The record of a known conversation, as it was before the CLI told another id for it.
    before: Option<Box<Record>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The CLI has not told an id: there is nothing to resume.
    Unknown,
    Stored,
    /// The store failed; it was said once.
    Broken,
}

impl Keeper {
    /// `record` is of the conversation that `guard` locks; it is stored once the CLI has told its id.
    pub fn new(store: Store, record: Record, guard: Guard) -> Self {
        Self {
            store,
            record,
            guard,
            state: State::Unknown,
            unsynced: None,
            before: None,
        }
    }

    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The lock of the conversation, for the guard process to hold as long as anything of the run lives.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// agentctl's key, once the conversation is stored.
    pub fn key(&self) -> Option<String> {
        let is_there = match self.state {
            State::Stored => true,
            State::Unknown => false,
            // As it was before this run.
            State::Broken => self.record.runs > 1,
        };
        is_there.then(|| self.record.key.to_string())
    }

    pub fn name(&self) -> Option<&str> {
        self.record.name.as_deref()
    }

    /// Gets ready what can be, while the CLI starts and nobody waits for us. A failure shows when the record is written.
    pub fn prepare(&self) {
        self.store.make_room(&self.record.key);
    }

    /// The CLI told its id. Returns what the user should know.
    pub fn begin(&mut self, native_id: &str) -> Option<String> {
        let known = self.state == State::Stored && self.record.native_id == native_id;
        if known || self.state == State::Broken {
            return None;
        }
        if self.state == State::Unknown {
            self.record.begin(Timestamp::now());
        }
        let moved = !self.record.native_id.is_empty() && self.record.native_id != native_id;
        if moved && self.before.is_none() {
            self.before = Some(Box::new(self.record.clone()));
        }
        self.record.refresh_native_id(native_id);
        match moved {
            // Either the CLI renames its conversations or it has lost this one: the end of the run tells.
            true => {
                self.state = State::Stored;
                None
            }
            false => {
                let put = self.store.put_unsynced(&self.record);
                let (unsynced, failure) = match put {
                    Ok(unsynced) => (Some((unsynced, Instant::now() + SYNC_AFTER)), None),
                    Err(failure) => (None, Some(failure)),
                };
                self.unsynced = unsynced;
                self.stored(failure)
            }
        }
    }

    /// The CLI's own user interface was closed: what was said there is not known, only how it ended. Returns what the
    /// user should know.
    pub fn closed(&mut self, native_id: &str, outcome: Outcome) -> Option<String> {
        self.record.begin(Timestamp::now());
        self.record.refresh_native_id(native_id);
        self.record.outcome = Some(outcome);
        let put = self.store.put(&self.record);
        self.stored(put.err())
    }

    /// When `sync` should be called.
    pub fn sync_at(&self) -> Option<Instant> {
        self.unsynced.as_ref().map(|(_, at)| *at)
    }

    /// Has the first record brought to the disk if it is time, without waiting for it.
    pub fn sync(&mut self, now: Instant) {
        if let Some((unsynced, _)) = self.unsynced.take_if(|(_, at)| *at <= now) {
            // Without a thread, and with a disk that fails now, there is still the record at the end.
            let _ = std::thread::Builder::new()
                .name("session-sync".to_owned())
                .spawn(move || unsynced.sync());
        }
    }

    /// The run is over. Returns what the user should know.
    pub fn finish(&mut self, result: &EventResult, carried: &BTreeMap<String, String>, prompt: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        let ran = result.exit_code.is_some() || result.signal.is_some();
        if self.state == State::Unknown && self.record.runs > 0 && ran {
            // It failed before the CLI told an id, but which conversation it was of is known.
            self.record.begin(Timestamp::now());
            self.state = State::Stored;
        }
        if self.state != State::Stored {
            return warnings;
        }
        let lost = result
            .error
            .as_ref()
            .is_some_and(|error| error.kind == ErrorKind::SessionNotFound);
        match self.before.take().filter(|_| lost) {
            // What the CLI began instead is not this conversation: its id must not take the place of the right one.
            Some(before) => self.record = *before,
            None => self.record.finish(result, carried, Timestamp::now()),
        }
        self.unsynced = None;
        let put = self.store.put(&self.record);
        warnings.extend(self.stored(put.err()));
        if self.record.transcript == crate::session::TranscriptPolicy::Keep {
            let exchange = Exchange {
                time: Timestamp::now(),
                prompt: prompt.to_owned(),
                answer: result.response_text.clone(),
                is_error: result.is_error,
            };
            if let Err(failure) = self.store.keep_exchange(&self.record.key, &exchange) {
                warnings.push(format!("the transcript was not kept: {failure}"));
            }
        }
        warnings
    }

    /// What the user should know after the record was, or was not, stored.
    fn stored(&mut self, failure: Option<Failure>) -> Option<String> {
        self.state = match failure {
            None => State::Stored,
            Some(_) => State::Broken,
        };
        let consequence = match self.record.runs {
            0..=1 => "it cannot be resumed by agentctl",
            _ => "agentctl knows it as it was before this run",
        };
        failure.map(|failure| format!("the session cannot be stored, so {consequence}: {failure}"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nothing came after the first record.
        if let Some((unsynced, _)) = self.unsynced.take() {
            // It was stored; there is nobody left to tell more.
            let _ = unsynced.sync();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Key, Wait};

    fn result(session_id: &str, error: Option<ErrorKind>) -> EventResult {
        let shape = serde_json::json!({
            "schema": 1, "responseText": "", "sessionId": session_id, "isError": error.is_some(), "backend": "codex",
            "session": null, "name": null, "resumed": "fresh", "model": null, "stopReason": "completed", "error": null,
            "structured": null, "markerDetected": null, "media": [], "deniedTools": [], "turns": 1, "toolCalls": 0,
            "usage": {"inputTokens": 5}, "costUsd": null, "durationMs": 1, "exitCode": 0, "signal": null, "warnings": []
        });
        let mut result: EventResult = serde_json::from_value(shape).unwrap();
        result.error = error.map(|kind| Failure::new(kind, "it failed"));
        result
    }

    /// A conversation that is known as `old` goes on, the CLI says `new`, and the run ends so.
    fn record_after(error: Option<ErrorKind>) -> Record {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let claim = store.claim_name("a name", Wait::No).unwrap();
        let mut record = Record::new(Key::fresh(), claim.guard.id().clone(), "codex", "/", Timestamp::now());
        record.refresh_native_id("old");
        store.put(&record).unwrap();
        let key = record.key;
        let mut keeper = Keeper::new(store.clone(), record, claim.guard);
        assert_eq!(keeper.begin("new"), None);
        assert_eq!(
            store.get(&key).unwrap().unwrap().native_id,
            "old",
            "nothing is certain before the end"
        );
        keeper.finish(
            &result("new", error),
            &BTreeMap::from([("k".to_owned(), "v".to_owned())]),
            "",
        );
        store.get(&key).unwrap().unwrap()
    }

    #[test]
    fn a_conversation_is_there_for_everybody_before_the_disk_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let key = Key::fresh();
        let guard = store.claim_new(key).unwrap();
        let record = Record::new(key, guard.id().clone(), "codex", "/", Timestamp::now());
        let mut keeper = Keeper::new(store.clone(), record, guard);
        assert_eq!(keeper.sync_at(), None, "there is nothing to store yet");
        assert_eq!(keeper.begin("id"), None);
        assert_eq!(store.get(&key).unwrap().unwrap().native_id, "id");
        let due = keeper.sync_at().expect("a time at which the disk is asked");
        keeper.sync(due.checked_sub(SYNC_AFTER).unwrap());
        assert_eq!(keeper.sync_at(), Some(due), "it is too early");
        keeper.sync(due);
        assert_eq!(keeper.sync_at(), None, "the disk was asked once");
        keeper.begin("id");
        assert_eq!(keeper.sync_at(), None, "nothing is new");
    }

    #[test]
    fn a_known_conversation_remembers_a_run_that_failed_before_the_cli_told_its_id() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let after = |runs: u32, exit_code: Option<i32>| {
            let key = Key::fresh();
            let guard = store.claim_new(key).unwrap();
            let mut record = Record::new(key, guard.id().clone(), "codex", "/", Timestamp::now());
            record.refresh_native_id("id");
            record.runs = runs;
            store.put(&record).unwrap();
            let mut keeper = Keeper::new(store.clone(), record, guard);
            let mut result = result("", Some(ErrorKind::Auth));
            result.exit_code = exit_code;
            keeper.finish(&result, &BTreeMap::new(), "");
            let record = store.get(&key).unwrap().unwrap();
            assert_eq!(record.native_id, "id");
            (record.runs, record.outcome.and_then(|outcome| outcome.error))
        };
        assert_eq!(after(1, Some(1)), (2, Some(ErrorKind::Auth)));
        assert_eq!(after(1, None), (1, None), "nothing was started");
        assert_eq!(after(0, Some(1)), (0, None), "there is nothing to go on with");
    }

    #[test]
    fn a_conversation_that_the_cli_renames_keeps_its_chain() {
        let record = record_after(None);
        assert_eq!(
            (record.native_id.as_str(), record.earlier_native_ids),
            ("new", vec!["old".to_owned()])
        );
        assert_eq!(record.usage.input_tokens, 5);
    }

    #[test]
    fn what_a_cli_began_in_place_of_a_lost_conversation_does_not_replace_it() {
        let record = record_after(Some(ErrorKind::SessionNotFound));
        assert_eq!((record.native_id.as_str(), record.earlier_native_ids.len()), ("old", 0));
        assert_eq!((record.carried.len(), record.usage.input_tokens), (0, 0));
    }
}
