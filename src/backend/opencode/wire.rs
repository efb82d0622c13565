//! The lines of `opencode run --format json`, as borrowed structs. Shapes only: what they mean is the protocol's matter.

use crate::backend::field::{Text, count, lenient, object};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Any line. Which of the bodies is there depends on `kind`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow, rename = "sessionID")]
    pub session: Text<'a>,
    #[serde(borrow)]
    pub part: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    /// The older single-line shape: `{"type":"result","text":…,"session_id":…}`.
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow, rename = "session_id")]
    pub older_session: Text<'a>,
}

/// The part of `step_start`, `text`, `reasoning` and `step_finish`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Part<'a> {
    #[serde(borrow, rename = "messageID")]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(deserialize_with = "object")]
    pub tokens: Option<Tokens>,
    #[serde(deserialize_with = "lenient")]
    pub cost: f64,
}

/// `input` excludes cached tokens and `output` excludes reasoning.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    #[serde(deserialize_with = "count")]
    pub input: u64,
    #[serde(deserialize_with = "count")]
    pub output: u64,
    #[serde(deserialize_with = "count")]
    pub reasoning: u64,
    #[serde(deserialize_with = "object")]
    pub cache: Option<Cache>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cache {
    #[serde(deserialize_with = "count")]
    pub read: u64,
    #[serde(deserialize_with = "count")]
    pub write: u64,
}

/// The part of `tool_use`: a call that is over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolPart<'a> {
    #[serde(borrow)]
    pub tool: Text<'a>,
    #[serde(borrow, rename = "callID")]
    pub call: Text<'a>,
    #[serde(borrow)]
    pub state: ToolState<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolState<'a> {
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub output: Text<'a>,
    #[serde(borrow)]
    pub error: Text<'a>,
    #[serde(deserialize_with = "object")]
    pub metadata: Option<ToolMetadata>,
}

impl ToolState<'_> {
    /// The exit code of a shell command; such a call is `completed` whatever it is.
    pub fn exit(&self) -> Option<i64> {
        self.metadata.as_ref()?.exit
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolMetadata {
    #[serde(deserialize_with = "lenient")]
    pub exit: Option<i64>,
}

/// The input of the `invalid` tool: a call of a tool that is not on offer, or with arguments that are no JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct InvalidInput<'a> {
    #[serde(borrow)]
    pub tool: Text<'a>,
    #[serde(borrow)]
    pub error: Text<'a>,
}

/// The body of `error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorBody<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    /// What a request to OpenCode's own server failed with.
    #[serde(borrow, rename = "_tag")]
    pub tag: Text<'a>,
    #[serde(borrow)]
    pub data: ErrorData<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ErrorData<'a> {
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub status_code: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub response_headers: ResponseHeaders,
    #[serde(borrow)]
    pub response_body: Text<'a>,
    /// Set when the cause is in the logs only.
    #[serde(borrow, rename = "ref")]
    pub reference: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ResponseHeaders {
    pub retry_after: Option<String>,
    pub retry_after_ms: Option<String>,
}

impl ResponseHeaders {
    /// How long the provider asked to wait.
    pub fn milliseconds(&self) -> Option<u64> {
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.trim().parse::<f64>().ok());
        let milliseconds = number(&self.retry_after_ms).or(number(&self.retry_after).map(|seconds| seconds * 1000.0))?;
        // A float cast saturates: whatever the header holds, this is a number.
        (milliseconds >= 0.0).then_some(milliseconds as u64)
    }
}
