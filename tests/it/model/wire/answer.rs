//! An answer before it has a wire, and the frames of a stream with the points where it may wait or break.

use serde_json::Value;

use crate::model::step::End;
use crate::model::tools::{NativeCall, NativeInput};

/// Tokens that each answer claims to have cost. Fresh input, and what came from and went to the cache, are
/// three numbers on the Anthropic wire; the others count the cache reads inside the input and no writes.
pub mod tokens {
    pub const FRESH: u64 = 11;
    pub const CACHE_READ: u64 = 5;
    pub const CACHE_WRITE: u64 = 3;
    pub const INPUT: u64 = FRESH + CACHE_READ + CACHE_WRITE;
    /// With the reasoning in it.
    pub const OUTPUT: u64 = 7;
    pub const REASONING: u64 = 2;
}

pub struct Answer {
    pub id: String,
    pub model: String,
    pub blocks: Vec<Block>,
    pub end: End,
}

pub enum Block {
    Thinking(String),
    Text(Vec<String>),
    Call(NativeCall),
}

impl Answer {
    pub fn has_call(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Call(_)))
    }
}

impl NativeCall {
    /// The arguments as an object, for wires that know no free-form tool.
    pub fn arguments(&self) -> Value {
        match &self.input {
            NativeInput::Json(value) => value.clone(),
            NativeInput::FreeForm(text) => serde_json::json!({"input": text}),
        }
    }
}

/// What the server does one after the other while it streams.
#[derive(Debug, PartialEq)]
pub enum Frame {
    Send(String),
    /// Between two chunks of text: the place for a pause or a gate.
    Between,
    Drop,
    Silence,
}

#[derive(Default)]
pub struct Frames {
    frames: Vec<Frame>,
    /// Just after the last piece of content: where a broken stream breaks.
    content_end: Option<usize>,
}

impl Frames {
    /// A server-sent event with a name, which is also the `type` in its data.
    pub fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.frames
            .push(Frame::Send(format!("event: {name}\ndata: {}\n\n", in_order(data))));
    }

    /// A server-sent event without a name.
    pub fn data(&mut self, data: &Value) {
        self.frames.push(Frame::Send(format!("data: {data}\n\n")));
    }

    pub fn raw(&mut self, text: &str) {
        self.frames.push(Frame::Send(text.to_owned()));
    }

    /// Every chunk with a `Between` before all but the first.
    pub fn chunks(&mut self, chunks: &[String], mut one: impl FnMut(&mut Self, &str)) {
        for (index, chunk) in chunks.iter().enumerate() {
            if index > 0 {
                self.frames.push(Frame::Between);
            }
            one(self, chunk);
            self.content_ends_here();
        }
    }

    pub fn content_ends_here(&mut self) {
        self.content_end = Some(self.frames.len());
    }

    /// The frames, broken off after the content where the answer ends badly.
    pub fn finish(mut self, end: End) -> Vec<Frame> {
        let broken = match end {
            End::Complete | End::Length => return self.frames,
            End::Drop => Frame::Drop,
            End::Silence => Frame::Silence,
        };
        self.frames.truncate(self.content_end.unwrap_or(1));
        self.frames.push(broken);
        self.frames
    }
}

/// The order in which the APIs write the fields of a message, and of everything else. A `Value` sorts them, and agentctl
/// knows the layout of what a CLI passes on.
const OF_A_MESSAGE: &[&str] = &["id", "type", "role", "model", "content"];
const OF_ANYTHING: &[&str] = &["type", "index", "delta", "content_block", "thinking"];

fn in_order(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let order = if fields.contains_key("role") {
                OF_A_MESSAGE
            } else {
                OF_ANYTHING
            };
            let place = |name: &&String| order.iter().position(|first| first == name).unwrap_or(order.len());
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(place);
            let field = |name: &String| format!("{}:{}", Value::from(name.as_str()), in_order(&fields[name]));
            format!("{{{}}}", names.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(in_order).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stand_where_the_apis_put_them() {
        let event =
            json!({"index": 1, "delta": {"text": "a \"b\"", "type": "text_delta"}, "type": "content_block_delta"});
        assert_eq!(
            in_order(&event),
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a \"b\""}}"#
        );
        let message =
            json!({"message": {"role": "assistant", "content": [], "id": "m", "type": "message"}, "type": "x"});
        assert_eq!(
            in_order(&message),
            r#"{"type":"x","message":{"id":"m","type":"message","role":"assistant","content":[]}}"#
        );
    }
}
