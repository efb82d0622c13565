//! The one seam between agents and everything that reads them: `Event`, `Usage`, `EventResult`.
//!
//! Decoders make these, reporters and the session store eat them, and the JSON Schema comes from here. Events borrow
//! from the line that they were decoded from, so a stream is normalized without copying it.

use crate::error::Failure;
use crate::tool::ToolKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The version of the JSON shapes below. It grows only when something is removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// One thing that happened in a run: one line of `stream-json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event<'a> {
    /// The CLI told its session id. It may come again when more is known.
    Session {
        session_id: Cow<'a, str>,
        /// agentctl's own key, unless the run is ephemeral.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Cow<'a, str>>,
    },
    /// A piece of the agent's text. Concatenated, the pieces are all that it said.
    Text {
        text: Cow<'a, str>,
    },
    /// A piece of the agent's reasoning, where the CLI shows it.
    Thinking {
        text: Cow<'a, str>,
    },
    ToolStart {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        kind: ToolKind,
        /// The tool's arguments as the CLI told them.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        input: Option<Cow<'a, RawValue>>,
    },
    ToolEnd {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        kind: ToolKind,
        ok: bool,
        /// The tool did not run because it was not permitted.
        denied: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Cow<'a, str>>,
    },
    /// The CLI refused something on the user's behalf, or asked for it.
    Permission {
        tool: Cow<'a, str>,
        kind: ToolKind,
        decision: Decision,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'a, str>>,
    },
    /// Tokens used so far in this run, and what they cost where the CLI tells it on the way.
    Usage {
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// The CLI tries again by itself.
    Retry {
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        reason: Cow<'a, str>,
    },
    Warning {
        message: Cow<'a, str>,
    },
    /// A line of the CLI as it came, with `--raw-events`.
    Raw {
        line: Cow<'a, str>,
    },
    /// The end of the run. Always the last event, and there is always one.
    Result(Box<EventResult>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Asked,
    Denied,
}

/// Token counts with one meaning for every backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input that was neither read from nor written to a cache.
    pub input_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Output, reasoning included.
    pub output_tokens: u64,
    /// The part of the output that was reasoning, where it is told.
    pub reasoning_tokens: u64,
    /// Input, cache and output together.
    pub total_tokens: u64,
}

impl Usage {
    /// The same counts with `total_tokens` made to fit them.
    #[must_use]
    pub fn totalled(mut self) -> Self {
        self.total_tokens = self
            .input_tokens
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
            .saturating_add(self.output_tokens);
        self
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// What was used since `earlier`, for CLIs that report figures of the whole conversation.
    #[must_use]
    pub fn minus(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    fn zip(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: combine(self.input_tokens, other.input_tokens),
            cache_read_tokens: combine(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: combine(self.cache_write_tokens, other.cache_write_tokens),
            output_tokens: combine(self.output_tokens, other.output_tokens),
            reasoning_tokens: combine(self.reasoning_tokens, other.reasoning_tokens),
            total_tokens: 0,
        }
        .totalled()
    }
}

/// Whether the conversation was continued, as the CLI reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resumed {
    #[default]
    Fresh,
    Resumed,
    Forked,
}

/// Why the run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Completed,
    /// The answer was cut at the model's output limit.
    Length,
    TurnLimit,
    BudgetLimit,
    PermissionDenied,
    Timeout,
    Interrupted,
    #[default]
    Error,
}

/// A tool call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeniedTool {
    pub name: String,
    pub kind: ToolKind,
    pub reason: Option<String>,
}

/// The end of a run, the same for every backend: the line that `-o json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventResult {
    /// The version of this shape.
    pub schema: u32,
    /// The answer, or what went wrong if there is none.
    pub response_text: String,
    /// The CLI's own session id; empty if it told none.
    pub session_id: String,
    pub is_error: bool,
    pub backend: String,
    /// agentctl's key of the conversation, for `agentctl resume`.
    pub session: Option<String>,
    pub name: Option<String>,
    pub resumed: Resumed,
    pub model: Option<String>,
    pub stop_reason: StopReason,
    pub error: Option<Failure>,
    /// The value that was asked for with `--schema`.
    pub structured: Option<serde_json::Value>,
    /// `null` unless a marker was asked for.
    pub marker_detected: Option<bool>,
    pub media: Vec<String>,
    pub denied_tools: Vec<DeniedTool>,
    pub turns: u32,
    pub tool_calls: u32,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    pub duration_ms: u64,
    /// The CLI's own exit code; it proves nothing by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended the CLI.
    pub signal: Option<i32>,
    pub warnings: Vec<String>,
}
