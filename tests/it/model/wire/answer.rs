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
            .push(Frame::Send(format!("event: {name}\ndata: {data}\n\n")));
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
