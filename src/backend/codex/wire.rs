//! The lines of `codex exec --json`, as far as they are read. Nothing here decides what they mean.

use crate::backend::field::{Text, lenient};
use crate::event::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One line. Every event is this flat: the fields that it does not have are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub thread_id: Text<'a>,
    #[serde(borrow)]
    pub item: Option<Box<Item<'a>>>,
    #[serde(deserialize_with = "lenient")]
    pub usage: Option<TokenUsage>,
    #[serde(borrow)]
    pub error: Option<Message<'a>>,
    #[serde(borrow)]
    pub message: Text<'a>,
    /// Of the older single message.
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
}

/// The type alone, of a line whose body is not what we expect.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow)]
    pub message: Text<'a>,
}

/// A part of the conversation: what was said, thought or done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Item<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    /// agent_message, reasoning
    #[serde(borrow)]
    pub text: Text<'a>,
    /// error
    #[serde(borrow)]
    pub message: Text<'a>,
    /// command_execution
    #[serde(borrow)]
    pub command: Text<'a>,
    #[serde(borrow)]
    pub aggregated_output: Text<'a>,
    /// file_change
    #[serde(borrow)]
    pub changes: Option<&'a RawValue>,
    /// mcp_tool_call
    #[serde(borrow)]
    pub server: Text<'a>,
    #[serde(borrow)]
    pub tool: Text<'a>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<Message<'a>>,
    /// web_search
    #[serde(borrow)]
    pub query: Text<'a>,
    /// collab_tool_call
    #[serde(borrow)]
    pub prompt: Text<'a>,
    /// todo_list
    #[serde(borrow)]
    pub items: Option<&'a RawValue>,
}

/// One entry of `changes`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Change<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

/// What an MCP server answered.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct McpResult<'a> {
    #[serde(borrow)]
    pub content: Vec<Block<'a>>,
}

/// A block of content with text in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    #[serde(borrow)]
    pub text: Text<'a>,
}

/// Token counts of the whole thread so far. `input_tokens` includes what came from and went into the cache.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

impl From<TokenUsage> for Usage {
    fn from(tokens: TokenUsage) -> Self {
        let cache = tokens
            .cached_input_tokens
            .saturating_add(tokens.cache_write_input_tokens);
        Self {
            input_tokens: tokens.input_tokens.saturating_sub(cache),
            cache_read_tokens: tokens.cached_input_tokens,
            cache_write_tokens: tokens.cache_write_input_tokens,
            output_tokens: tokens.output_tokens,
            reasoning_tokens: tokens.reasoning_output_tokens,
            total_tokens: 0,
        }
        .totalled()
    }
}

/// An error body of the API that Codex passes on unread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ApiError<'a> {
    #[serde(borrow)]
    pub error: ApiErrorBody<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ApiErrorBody<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub code: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
}
