//! The lines of `pi --mode json`, as far as agentctl reads them. Shapes only: what they mean is `protocol`'s business.

use crate::backend::field::{Text, lenient};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What every line has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
}

/// The first line of a conversation's file.
#[derive(Debug, Deserialize)]
pub struct SessionHeader {
    pub id: String,
    pub cwd: std::path::PathBuf,
}

/// `session`: the first line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Session<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
}

/// `message_update`. The partial message that it carries twice is never looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Update<'a> {
    #[serde(borrow, rename = "assistantMessageEvent", deserialize_with = "lenient")]
    pub event: UpdateEvent<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct UpdateEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub delta: Text<'a>,
}

/// `message_start`, `message_end`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessageLine<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub message: Message<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Message<'a> {
    #[serde(borrow)]
    pub role: Text<'a>,
    /// A list of blocks, or in older shapes the text itself.
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub provider: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(deserialize_with = "lenient")]
    pub usage: Usage,
    #[serde(borrow)]
    pub stop_reason: Text<'a>,
    #[serde(borrow)]
    pub error_message: Text<'a>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Usage {
    #[serde(deserialize_with = "lenient")]
    pub input: u64,
    #[serde(deserialize_with = "lenient")]
    pub output: u64,
    #[serde(deserialize_with = "lenient")]
    pub cache_read: u64,
    #[serde(deserialize_with = "lenient")]
    pub cache_write: u64,
    #[serde(deserialize_with = "lenient")]
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cost {
    #[serde(deserialize_with = "lenient")]
    pub total: f64,
}

/// One block of a message or of a tool's result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Text<'a>,
    #[serde(borrow)]
    pub thinking: Text<'a>,
}

/// The blocks of `content`; a bare string is one block of text.
pub fn blocks(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let Some(content) = content.map(RawValue::get) else {
        return Vec::new();
    };
    if content.starts_with('"') {
        let text: Text<'_> = serde_json::from_str(content).unwrap_or_default();
        return vec![Block {
            kind: Text("text".into()),
            text,
            ..Block::default()
        }];
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    blocks
        .into_iter()
        .filter_map(|block| serde_json::from_str(block.get()).ok())
        .collect()
}

/// `tool_execution_start`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolStart<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow)]
    pub args: Option<&'a RawValue>,
}

/// `tool_execution_end`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolEnd<'a> {
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    #[serde(borrow)]
    pub tool_name: Text<'a>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub result: ToolResult<'a>,
    #[serde(deserialize_with = "lenient")]
    pub is_error: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolResult<'a> {
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    /// The tool's result is the end of the run.
    #[serde(deserialize_with = "lenient")]
    pub terminate: bool,
}

/// `auto_retry_start`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RetryStart<'a> {
    #[serde(deserialize_with = "lenient")]
    pub attempt: u32,
    #[serde(deserialize_with = "lenient")]
    pub max_attempts: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    pub delay_ms: Option<u64>,
    #[serde(borrow)]
    pub error_message: Text<'a>,
}

/// `compaction_start`, `compaction_end`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Compaction<'a> {
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub error_message: Text<'a>,
}

/// `extension_error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ExtensionError<'a> {
    #[serde(borrow)]
    pub error: Text<'a>,
}
