//! The four wires: each reads a request into a `Conversation` and puts an `Answer` into its own form.

mod answer;
mod anthropic;
mod chat;
mod content;
mod gemini;
mod responses;

pub use answer::{Answer, Block, Frame, Frames, tokens};

use serde_json::Value;

use super::request::Conversation;

/// A vendor's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

impl Wire {
    /// The wire of a path that asks the model something.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Whether the answer is to be a stream of events.
    pub fn streams(self, path: &str, body: &Value) -> bool {
        match self {
            Self::Gemini => path.contains(":streamGenerateContent"),
            _ => body["stream"] == true,
        }
    }

    pub fn read(self, body: &Value) -> Result<Conversation, serde_json::Error> {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(body),
        }
    }

    /// The answer as one JSON document.
    pub fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// The answer as server-sent events.
    pub fn frames(self, answer: &Answer) -> Frames {
        match self {
            Self::Anthropic => anthropic::frames(answer),
            Self::Responses => responses::frames(answer),
            Self::Chat => chat::frames(answer),
            Self::Gemini => gemini::frames(answer),
        }
    }

    /// The body of an HTTP error as this vendor words it.
    pub fn failure(self, status: u16) -> Value {
        match self {
            Self::Anthropic => anthropic::failure(status),
            Self::Responses | Self::Chat => chat::failure(status),
            Self::Gemini => gemini::failure(status),
        }
    }
}

/// The argument names in the JSON Schema of a tool.
fn properties(schema: &Value) -> Vec<String> {
    let properties = schema["properties"].as_object();
    properties.into_iter().flat_map(|map| map.keys().cloned()).collect()
}
