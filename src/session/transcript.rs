//! What was said, for conversations that were begun with `--keep-transcript`. One line a run, only ever added to.

use super::key::Key;
use super::place;
use super::store::Store;
use crate::error::Failure;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

/// One prompt and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    pub time: Timestamp,
    pub prompt: String,
    pub answer: String,
    pub is_error: bool,
}

impl Store {
    pub fn transcript_path(&self, key: &Key) -> PathBuf {
        let file = format!("{key}.jsonl");
        self.root.path().join("transcripts").join(key.shard()).join(file)
    }

    /// Adds one exchange to the transcript of a conversation whose lock the caller holds.
    pub fn keep_exchange(&self, key: &Key, exchange: &Exchange) -> Result<(), Failure> {
        self.append_exchange(key, exchange)
            .map_err(|error| place::unusable(self.root.path(), &error.to_string()))
    }

    fn append_exchange(&self, key: &Key, exchange: &Exchange) -> io::Result<()> {
        let mut line = serde_json::to_vec(exchange)?;
        line.push(b'\n');
        let path = self.transcript_path(key);
        self.root.open(&path, OpenOptions::new().append(true))?.write_all(&line)
    }
}
