//! What is kept about one conversation. Pure data: no clock, no file system.

use super::key::Key;
use super::lock::LockId;
use super::path_text;
use crate::error::ErrorKind;
use crate::event::{EventResult, Resumed, StopReason, Usage};
use crate::request::{Continuation, Effort, Permission, System};
use crate::tool::ToolRule;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of the shape below. It grows only when an older agentctl could not use a record rightly.
pub(super) const VERSION: u32 = 1;

/// One conversation. What a CLI forgets between runs (system prompt, tool rules, directories) is kept here, because a
/// resumed run must have the same rights and the same instructions. Fields of a newer agentctl survive a rewrite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub(super) version: u32,
    pub key: Key,
    /// The lock that every run of this conversation takes, however it was looked up. It never changes.
    pub lock: LockId,
    pub backend: String,
    /// The CLI's own id, as of the last run.
    pub native_id: String,
    /// The ids that it had before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_native_ids: Vec<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// The conversation that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Key>,
    #[serde(with = "path_text")]
    pub cwd: PathBuf,
    #[serde(default, with = "path_text::list", skip_serializing_if = "Vec::is_empty")]
    pub add_dirs: Vec<PathBuf>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// No default: a record that lost it must not come back with more rights.
    pub permission: Permission,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_tools: Vec<ToolRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_tools: Vec<ToolRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// The identity that the first prompt began with; it is not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Where the MCP servers are described. The file is read anew on resume: its secrets are not copied here.
    #[serde(default, with = "path_text::list", skip_serializing_if = "Vec::is_empty")]
    pub mcp_configs: Vec<PathBuf>,
    /// Backend-specific options by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What the backend's protocol asked to remember.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub carried: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "TranscriptPolicy::is_off")]
    pub transcript: TranscriptPolicy,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    /// Runs that were begun.
    pub runs: u32,
    /// The sum over all runs.
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// How the last run ended; nothing while it goes on, or if it was killed before it could tell.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// What a newer agentctl wrote.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub stop_reason: StopReason,
    /// Nothing if the run succeeded.
    pub error: Option<ErrorKind>,
}

/// Whether prompts and answers are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TranscriptPolicy {
    #[default]
    Off,
    Keep,
}

impl TranscriptPolicy {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl Record {
    /// A conversation that nobody has run yet. `lock` is the lock that the caller holds for it.
    pub fn new(key: Key, lock: LockId, backend: impl Into<String>, cwd: impl Into<PathBuf>, now: Timestamp) -> Self {
        Self {
            version: VERSION,
            key,
            lock,
            backend: backend.into(),
            native_id: String::new(),
            earlier_native_ids: Vec::new(),
            name: None,
            parent: None,
            cwd: cwd.into(),
            add_dirs: Vec::new(),
            model: None,
            effort: None,
            permission: Permission::default(),
            allow_tools: Vec::new(),
            deny_tools: Vec::new(),
            system: None,
            identity: None,
            mcp_configs: Vec::new(),
            options: BTreeMap::new(),
            carried: BTreeMap::new(),
            transcript: TranscriptPolicy::default(),
            created_at: now,
            used_at: now,
            runs: 0,
            usage: Usage::default(),
            cost_usd: None,
            outcome: None,
            unknown: serde_json::Map::new(),
        }
    }

    /// A run begins: call it once a run, before the first `put`.
    pub fn begin(&mut self, now: Timestamp) {
        self.used_at = now;
        self.runs = self.runs.saturating_add(1);
        self.outcome = None;
    }

    /// The CLI told its id. Some change it on every resume: the old one is kept in the chain.
    pub fn refresh_native_id(&mut self, native_id: &str) {
        if native_id.is_empty() || native_id == self.native_id {
            return;
        }
        let earlier = std::mem::replace(&mut self.native_id, native_id.to_owned());
        self.earlier_native_ids.retain(|id| id != native_id && *id != earlier);
        if !earlier.is_empty() {
            self.earlier_native_ids.push(earlier);
        }
    }

    /// A run ended: its figures join the sums. `carried` replaces what was carried before, key by key, and all of it if the
    /// CLI began a new conversation.
    pub fn finish(&mut self, result: &EventResult, carried: &BTreeMap<String, String>, now: Timestamp) {
        self.refresh_native_id(&result.session_id);
        self.used_at = now;
        self.usage = self.usage.plus(result.usage);
        if let Some(cost) = result.cost_usd.filter(|cost| cost.is_finite()) {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
        // A new conversation in the place of one that was lost: what was remembered is about that one.
        if result.resumed == Resumed::Fresh && !result.session_id.is_empty() {
            self.carried.clear();
        }
        self.carried
            .extend(carried.iter().map(|(key, value)| (key.clone(), value.clone())));
        self.outcome = Some(Outcome {
            stop_reason: result.stop_reason,
            error: result.error.as_ref().map(|failure| failure.kind),
        });
    }

    /// What a backend needs to go on with it.
    pub fn continuation(&self) -> Continuation {
        Continuation {
            native_id: self.native_id.clone(),
            carried: self.carried.clone(),
        }
    }

    /// Whether this is, or once was, its native id.
    pub fn has_native_id(&self, native_id: &str) -> bool {
        self.native_id == native_id || self.earlier_native_ids.iter().any(|earlier| earlier == native_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_of_a_lost_conversation_is_not_believed_of_the_new_one() {
        let now = Timestamp::UNIX_EPOCH;
        let result = |id: &str, resumed: Resumed| {
            let mut result: EventResult = serde_json::from_value(serde_json::json!({
                "schema": 1, "responseText": "", "sessionId": id, "isError": false, "backend": "codex",
                "session": null, "name": null, "resumed": "fresh", "model": null, "stopReason": "completed",
                "error": null, "structured": null, "markerDetected": null, "media": [], "deniedTools": [], "turns": 1,
                "toolCalls": 0, "usage": {}, "costUsd": null, "durationMs": 1, "exitCode": 0, "signal": null,
                "warnings": []
            }))
            .unwrap();
            result.resumed = resumed;
            result
        };
        let carried = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        let key = Key::fresh();
        let mut record = Record::new(key, LockId::of_key(key), "codex", "/", now);
        record.finish(&result("old", Resumed::Fresh), &carried(&[("system", "x")]), now);
        record.finish(&result("old", Resumed::Resumed), &carried(&[("turns", "2")]), now);
        assert_eq!(record.carried, carried(&[("system", "x"), ("turns", "2")]));
        // It failed before it had begun anything: the old conversation is still what there is.
        record.finish(&result("", Resumed::Fresh), &carried(&[]), now);
        assert_eq!(record.carried.len(), 2);
        // The id is already known when the run ends.
        record.refresh_native_id("new");
        record.finish(&result("new", Resumed::Fresh), &carried(&[("turns", "1")]), now);
        assert_eq!(record.continuation().carried, carried(&[("turns", "1")]));
    }
}
