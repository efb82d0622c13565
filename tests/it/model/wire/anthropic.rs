//! Anthropic Messages.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Block, Frames, tokens};
use super::content::{Content, sort_user_texts};
use crate::model::request::{Conversation, OfferedTool, ToolResult};
use crate::model::step::End;

#[derive(Deserialize)]
struct Body {
    messages: Vec<Message>,
    system: Option<Content>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    input_schema: Value,
}

pub fn read(body: &Value) -> Result<Conversation, serde_json::Error> {
    let body = Body::deserialize(body)?;
    let mut conversation = Conversation::default();
    if let Some(system) = &body.system {
        conversation
            .context
            .extend(system.texts().into_iter().map(str::to_owned));
    }
    for message in &body.messages {
        match message.role.as_str() {
            "user" => read_user(&message.content, &mut conversation),
            "system" => conversation.context.push(message.content.joined()),
            _ => conversation.fresh_results = 0,
        }
    }
    conversation.tools = body.tools.iter().map(offered).collect();
    Ok(conversation)
}

fn read_user(content: &Content, conversation: &mut Conversation) {
    let results = content.blocks().iter().filter(|block| block.kind == "tool_result");
    let results: Vec<_> = results
        .map(|block| ToolResult {
            call_id: block.tool_use_id.clone().unwrap_or_default(),
            text: block.content.as_ref().map(Content::joined).unwrap_or_default(),
            is_error: block.is_error,
        })
        .collect();
    conversation.fresh_results = results.len();
    conversation.results.extend(results);
    conversation
        .users
        .extend(sort_user_texts(content.texts(), &mut conversation.context));
}

fn offered(tool: &Tool) -> OfferedTool {
    OfferedTool {
        name: tool.name.clone(),
        properties: super::properties(&tool.input_schema),
        ..OfferedTool::default()
    }
}

fn usage() -> Value {
    json!({
        "input_tokens": tokens::FRESH, "output_tokens": tokens::OUTPUT,
        "cache_creation_input_tokens": tokens::CACHE_WRITE, "cache_read_input_tokens": tokens::CACHE_READ,
    })
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.end == End::Length {
        "max_tokens"
    } else if answer.has_call() {
        "tool_use"
    } else {
        "end_turn"
    }
}

fn message(answer: &Answer, content: &[Value], stop_reason: Option<&str>) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage(),
    })
}

pub fn whole(answer: &Answer) -> Value {
    let content: Vec<_> = answer
        .blocks
        .iter()
        .map(|block| match block {
            Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": "c2ln"}),
            Block::Text(chunks) => json!({"type": "text", "text": chunks.concat()}),
            Block::Call(call) => {
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments()})
            }
        })
        .collect();
    message(answer, &content, Some(stop_reason(answer)))
}

pub fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::default();
    frames.event(&json!({"type": "message_start", "message": message(answer, &[], None)}));
    for (index, block) in answer.blocks.iter().enumerate() {
        block_frames(&mut frames, index, block);
        frames.event(&json!({"type": "content_block_stop", "index": index}));
    }
    frames.event(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null}, "usage": usage(),
    }));
    frames.event(&json!({"type": "message_stop"}));
    frames
}

fn block_frames(frames: &mut Frames, index: usize, block: &Block) {
    let delta = |frames: &mut Frames, delta: Value| {
        frames.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        frames.content_ends_here();
    };
    let start = match block {
        Block::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Text(_) => json!({"type": "text", "text": ""}),
        Block::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        }
    };
    frames.event(&json!({"type": "content_block_start", "index": index, "content_block": start}));
    match block {
        Block::Thinking(text) => {
            delta(frames, json!({"type": "thinking_delta", "thinking": text}));
            delta(frames, json!({"type": "signature_delta", "signature": "c2ln"}));
        }
        Block::Text(chunks) => {
            frames.chunks(chunks, |frames, chunk| {
                delta(frames, json!({"type": "text_delta", "text": chunk}))
            });
        }
        Block::Call(call) => {
            let arguments = call.arguments().to_string();
            delta(frames, json!({"type": "input_json_delta", "partial_json": arguments}));
        }
    }
}

pub fn failure(status: u16) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": format!("mock {kind} ({status})")}})
}
