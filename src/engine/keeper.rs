//! Keeps the session record of one run: written as soon as the native id is known, updated at the end. A store that
//! fails costs a warning, never the answer.

use crate::event::EventResult;
use crate::session::{Exchange, Guard, Record, Store};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// The record of the conversation that a run belongs to, with its lock.
#[derive(Debug)]
pub struct Keeper {
    store: Store,
    record: Record,
    guard: Guard,
    state: State,
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
        (self.state == State::Stored).then(|| self.record.key.to_string())
    }

    pub fn name(&self) -> Option<&str> {
        self.record.name.as_deref()
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
        self.record.refresh_native_id(native_id);
        self.put()
    }

    /// The run is over. Returns what the user should know.
    pub fn finish(&mut self, result: &EventResult, carried: &BTreeMap<String, String>, prompt: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.state != State::Stored {
            return warnings;
        }
        self.record.finish(result, carried, Timestamp::now());
        warnings.extend(self.put());
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

    fn put(&mut self) -> Option<String> {
        match self.store.put(&self.record) {
            Ok(()) => {
                self.state = State::Stored;
                None
            }
            Err(failure) => {
                self.state = State::Broken;
                Some(format!(
                    "the session cannot be stored, so it cannot be resumed by agentctl: {failure}"
                ))
            }
        }
    }
}
