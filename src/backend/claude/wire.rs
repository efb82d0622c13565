//! The lines that Claude Code writes, as far as we read them: small structs that borrow from the line.
//!
//! Every field may be missing or of another type in an older or newer CLI; nothing here decides what a line means.

use crate::backend::field::{Text, count, flag, lenient, object};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What tells the kinds of lines apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub subtype: Text<'a>,
}

/// `system/init`: the start of a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Init<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(rename = "permissionMode", borrow)]
    pub permission_mode: Text<'a>,
    #[serde(rename = "apiKeySource", borrow)]
    pub api_key_source: Text<'a>,
    #[serde(borrow)]
    pub claude_code_version: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub tools: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    pub mcp_servers: Vec<McpServer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct McpServer {
    pub name: String,
    pub status: String,
}

/// `system/api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ApiRetry<'a> {
    #[serde(deserialize_with = "lenient")]
    pub attempt: u32,
    #[serde(deserialize_with = "lenient")]
    pub max_retries: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    pub retry_delay_ms: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub error_status: Option<u16>,
    #[serde(borrow)]
    pub error: Text<'a>,
}

/// `system/model_fallback`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModelFallback<'a> {
    #[serde(borrow)]
    pub original_model: Text<'a>,
    #[serde(borrow)]
    pub fallback_model: Text<'a>,
    #[serde(borrow)]
    pub content: Text<'a>,
}

/// `system/task_started`, `_updated` and `_notification`: work beside the conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Task<'a> {
    #[serde(borrow)]
    pub task_id: Text<'a>,
}

/// `system/permission_denied`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PermissionDenied<'a> {
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
}

/// `rate_limit_event`: how an account stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimitLine<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub rate_limit_info: RateLimit<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RateLimit<'a> {
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(rename = "resetsAt", deserialize_with = "lenient")]
    pub resets_at: Option<i64>,
    #[serde(rename = "rateLimitType", borrow)]
    pub rate_limit_type: Text<'a>,
}

/// `stream_event`: one event of the API's own stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamLine<'a> {
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub event: Option<StreamEvent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub message: Option<StreamMessage<'a>>,
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    #[serde(deserialize_with = "object")]
    pub usage: Option<MessageUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamMessage<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(deserialize_with = "object")]
    pub usage: Option<MessageUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Delta<'a> {
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub thinking: Text<'a>,
}

/// `assistant` and `user`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessageLine<'a> {
    #[serde(borrow)]
    pub message: Option<Message<'a>>,
    #[serde(borrow)]
    pub parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    /// Blocks, or one string.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(deserialize_with = "object")]
    pub usage: Option<MessageUsage>,
}

/// One block of a message's content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub thinking: Text<'a>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// Of a tool's result: blocks, or one string.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(deserialize_with = "flag")]
    pub is_error: bool,
}

/// Token counts as the API tells them: the input excludes what was cached.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessageUsage {
    #[serde(deserialize_with = "count")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub cache_creation_input_tokens: u64,
    #[serde(deserialize_with = "count")]
    pub cache_read_input_tokens: u64,
}

/// One model's share of `modelUsage`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelUsage {
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub cache_read_input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub cache_creation_input_tokens: u64,
}

/// `result`: the end of a turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResultLine<'a> {
    #[serde(borrow)]
    pub subtype: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub is_error: bool,
    #[serde(borrow)]
    pub result: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub errors: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_status: Option<u16>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub num_turns: u32,
    #[serde(deserialize_with = "lenient")]
    pub usage: Option<MessageUsage>,
    #[serde(rename = "modelUsage", deserialize_with = "lenient")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    #[serde(deserialize_with = "lenient")]
    pub total_cost_usd: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub permission_denials: Vec<Denial>,
    #[serde(borrow)]
    pub structured_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub terminal_reason: Text<'a>,
    #[serde(borrow)]
    pub stop_reason: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Denial {
    pub tool_name: String,
    pub tool_use_id: String,
}
