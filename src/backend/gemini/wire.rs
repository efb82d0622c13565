//! The lines of `gemini -o stream-json` and the one document of `-o json`, as serde structs. Shapes only: what they mean
//! is told in `protocol`.

use crate::backend::field::{Text, lenient};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What every line begins with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Init<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolUse<'a> {
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub tool_id: Text<'a>,
    #[serde(borrow)]
    pub parameters: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolResult<'a> {
    #[serde(borrow)]
    pub tool_id: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow)]
    pub output: Text<'a>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub error: Option<ErrorBody<'a>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorBody<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
    /// The exit code; only in documents.
    #[serde(deserialize_with = "lenient")]
    pub code: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Notice<'a> {
    #[serde(borrow)]
    pub severity: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Outcome<'a> {
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub error: Option<ErrorBody<'a>>,
    #[serde(deserialize_with = "lenient")]
    pub stats: Stats,
}

/// Tokens of one process, all models together and each by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stats {
    #[serde(flatten)]
    pub tokens: Tokens,
    pub models: BTreeMap<String, Tokens>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub total_tokens: u64,
    /// Cached ones included.
    pub input_tokens: u64,
    /// Thoughts not included.
    pub output_tokens: u64,
    pub cached: u64,
}

/// The whole output of `-o json`; with `error` alone it is what a failed run prints on stderr.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    pub response: Option<Text<'a>>,
    #[serde(deserialize_with = "lenient")]
    pub stats: DocumentStats,
    #[serde(borrow, deserialize_with = "lenient")]
    pub error: Option<ErrorBody<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub warnings: Vec<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DocumentStats {
    pub models: BTreeMap<String, DocumentModel>,
    pub tools: DocumentTools,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DocumentModel {
    pub api: DocumentRequests,
    pub tokens: DocumentTokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DocumentRequests {
    pub total_requests: u32,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DocumentTokens {
    /// Cached ones included.
    pub prompt: u64,
    pub candidates: u64,
    pub cached: u64,
    pub thoughts: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DocumentTools {
    pub total_calls: u32,
}

/// What the API said, as the CLI quotes it inside `[API Error: …]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ApiError<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub error: ApiErrorBody<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ApiErrorBody<'a> {
    #[serde(deserialize_with = "lenient")]
    pub code: Option<u16>,
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub details: Vec<ApiErrorDetail<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ApiErrorDetail<'a> {
    #[serde(borrow)]
    pub reason: Text<'a>,
    /// `"37s"`, in a `google.rpc.RetryInfo`.
    #[serde(borrow)]
    pub retry_delay: Text<'a>,
}
