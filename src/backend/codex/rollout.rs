//! The files that Codex keeps its threads in: `sessions/YEAR/MONTH/DAY/rollout-….jsonl`. Their first line tells which
//! thread it is, where it began and on what.

use crate::backend::trace::{self, Trace};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Deserialize)]
struct First {
    payload: Meta,
}

#[derive(Deserialize)]
struct Meta {
    id: String,
    cwd: PathBuf,
    /// A word, or more than that for what the CLI begins by itself.
    source: serde_json::Value,
}

/// The thread of the terminal UI in `cwd` that was written to last since then.
pub fn newest(home: &Path, cwd: &Path, since: SystemTime) -> Trace {
    trace::of_first_line(&home.join("sessions"), 3, since, |First { payload }| {
        (payload.source == "cli" && payload.cwd == cwd).then_some(payload.id)
    })
}
