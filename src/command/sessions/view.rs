//! A stored conversation as `--json` shows it. The names are those of a run's result.

use super::PruneArguments;
use crate::event::Usage;
use crate::request::{Effort, Permission, Placement};
use crate::session::{DamagedPolicy, Key, Outcome, PruneMode, PruneReport, Record, Store, TranscriptPolicy};
use crate::tool::ToolRule;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One conversation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// agentctl's key, for `agentctl resume`.
    pub session: Key,
    /// The CLI's own id.
    pub session_id: String,
    /// The ids that the CLI gave it before.
    pub earlier_session_ids: Vec<String>,
    pub backend: String,
    pub name: Option<String>,
    /// The conversation that this one was forked from.
    pub parent: Option<Key>,
    pub cwd: String,
    pub add_dirs: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<Effort>,
    pub permission: Permission,
    pub allow_tools: Vec<ToolRule>,
    pub deny_tools: Vec<ToolRule>,
    pub system: Option<String>,
    /// The system prompt takes the place of the backend's own.
    pub replaces_system: bool,
    pub identity: Option<String>,
    pub mcp_configs: Vec<String>,
    pub options: BTreeMap<String, String>,
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    #[schemars(with = "String")]
    pub used_at: Timestamp,
    pub runs: u32,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    /// A run has the conversation now.
    pub running: bool,
    /// How the last run ended; `null` while it goes on, or if it was killed before it could tell.
    pub outcome: Option<Outcome>,
    /// The file with the prompts and answers, if they are kept.
    pub transcript: Option<String>,
    pub resume_command: String,
}

impl SessionView {
    pub(super) fn new(store: &Store, record: &Record) -> Self {
        let texts = |paths: &[std::path::PathBuf]| paths.iter().map(|path| text(path)).collect();
        Self {
            session: record.key,
            session_id: record.native_id.clone(),
            earlier_session_ids: record.earlier_native_ids.clone(),
            backend: record.backend.clone(),
            name: record.name.clone(),
            parent: record.parent,
            cwd: text(&record.cwd),
            add_dirs: texts(&record.add_dirs),
            model: record.model.clone(),
            effort: record.effort,
            permission: record.permission,
            allow_tools: record.allow_tools.clone(),
            deny_tools: record.deny_tools.clone(),
            system: record.system.as_ref().map(|system| system.text.clone()),
            replaces_system: record
                .system
                .as_ref()
                .is_some_and(|system| system.placement == Placement::Replace),
            identity: record.identity.clone(),
            mcp_configs: texts(&record.mcp_configs),
            options: record.options.clone(),
            created_at: record.created_at,
            used_at: record.used_at,
            runs: record.runs,
            usage: record.usage,
            cost_usd: record.cost_usd,
            // Only a run that has not told its end can be going on.
            running: record.outcome.is_none() && store.is_busy(record),
            outcome: record.outcome,
            transcript: (record.transcript == TranscriptPolicy::Keep)
                .then(|| text(&store.transcript_path(&record.key))),
            resume_command: format!("agentctl resume {} PROMPT", record.key),
        }
    }

    /// The last run in one word.
    pub(super) fn state(&self) -> String {
        match (&self.outcome, self.running) {
            (_, true) => "running".to_owned(),
            (None, false) => "unfinished".to_owned(),
            (Some(outcome), false) => outcome.error.map_or_else(|| "ok".to_owned(), word),
        }
    }
}

/// What a prune did, or would do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PruneView {
    pub dry_run: bool,
    pub removed: Vec<SessionView>,
    /// Left alone because a run has them.
    pub busy: Vec<Key>,
    /// Keys of records that cannot be read.
    pub damaged: Vec<Key>,
    /// They go too.
    pub damaged_removed: bool,
    pub kept: usize,
}

impl PruneView {
    pub(super) fn new(store: &Store, report: &PruneReport, arguments: &PruneArguments) -> Self {
        Self {
            dry_run: arguments.mode == PruneMode::DryRun,
            removed: report
                .removed
                .iter()
                .map(|record| SessionView::new(store, record))
                .collect(),
            busy: report.busy.clone(),
            damaged: report.damaged.iter().map(|damaged| damaged.key).collect(),
            damaged_removed: arguments.damaged == DamagedPolicy::Remove,
            kept: report.kept,
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The stable name of a plain enum value.
pub(super) fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
