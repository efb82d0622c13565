//! Message content as three of the wires write it: a text, or a list of typed blocks.

use serde::Deserialize;

/// Openings of texts that a CLI puts among the user's words without the user having said them.
const INJECTED: [&str; 6] = [
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<session_context>",
    "# AGENTS.md instructions",
    "This is the Qwen Code. We are setting up the context",
];

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Block {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    pub tool_use_id: Option<String>,
    pub content: Option<Content>,
    pub is_error: Option<bool>,
}

impl Content {
    /// The texts of the blocks, one by one.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Content::Text(text) => vec![text],
            Content::Blocks(blocks) => blocks.iter().filter_map(|block| block.text.as_deref()).collect(),
        }
    }

    pub fn joined(&self) -> String {
        self.texts().join("\n")
    }

    pub fn blocks(&self) -> &[Block] {
        match self {
            Content::Text(_) => &[],
            Content::Blocks(blocks) => blocks,
        }
    }
}

/// Parts what the user said from what the CLI put beside it.
pub fn sort_user_texts<'a>(texts: impl IntoIterator<Item = &'a str>, context: &mut Vec<String>) -> Option<String> {
    let (injected, said): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(|text| is_injected(text));
    context.extend(injected.into_iter().map(str::to_owned));
    (!said.is_empty()).then(|| said.join("\n"))
}

fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED.iter().any(|opening| text.starts_with(opening))
}
