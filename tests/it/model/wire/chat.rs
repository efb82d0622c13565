//! OpenAI Chat Completions.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Block, Frames, tokens};
use super::content::{Content, sort_user_texts};
use crate::model::request::{Conversation, OfferedTool, ToolResult};
use crate::model::step::End;
use crate::model::tools::NativeCall;

#[derive(Deserialize)]
struct Body {
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Option<Content>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct Tool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    parameters: Value,
}

pub fn read(body: &Value) -> Result<Conversation, serde_json::Error> {
    let body = Body::deserialize(body)?;
    let mut conversation = Conversation::default();
    for message in &body.messages {
        let texts = message.content.as_ref().map(Content::texts).unwrap_or_default();
        match message.role.as_str() {
            "user" => {
                conversation.fresh_results = 0;
                conversation
                    .users
                    .extend(sort_user_texts(texts, &mut conversation.context));
            }
            "tool" => {
                conversation.fresh_results += 1;
                conversation.results.push(ToolResult {
                    call_id: message.tool_call_id.clone().unwrap_or_default(),
                    text: texts.join("\n"),
                    is_error: None,
                });
            }
            "system" | "developer" => conversation.context.push(texts.join("\n")),
            _ => conversation.fresh_results = 0,
        }
    }
    conversation.tools = body.tools.iter().map(offered).collect();
    Ok(conversation)
}

fn offered(tool: &Tool) -> OfferedTool {
    OfferedTool {
        name: tool.function.name.clone(),
        properties: super::properties(&tool.function.parameters),
        ..OfferedTool::default()
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": tokens::INPUT, "completion_tokens": tokens::OUTPUT, "total_tokens": tokens::INPUT + tokens::OUTPUT,
        "prompt_tokens_details": {"cached_tokens": tokens::CACHE_READ},
        "completion_tokens_details": {"reasoning_tokens": tokens::REASONING},
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.end == End::Length {
        "length"
    } else if answer.has_call() {
        "tool_calls"
    } else {
        "stop"
    }
}

fn tool_call(index: usize, call: &NativeCall) -> Value {
    json!({
        "index": index, "id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": call.arguments().to_string()},
    })
}

pub fn whole(answer: &Answer) -> Value {
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut calls = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Thinking(text) => reasoning.push_str(text),
            Block::Text(chunks) => content.push_str(&chunks.concat()),
            Block::Call(call) => calls.push(tool_call(calls.len(), call)),
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": format!("chatcmpl-{}", answer.id), "object": "chat.completion", "created": 1, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}], "usage": usage(),
    })
}

fn chunk(answer: &Answer, delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.id), "object": "chat.completion.chunk", "created": 1, "model": answer.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    })
}

pub fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::default();
    frames.data(&chunk(answer, &json!({"role": "assistant", "content": ""}), None));
    let mut calls = 0;
    for block in &answer.blocks {
        match block {
            Block::Thinking(text) => frames.data(&chunk(answer, &json!({"reasoning_content": text}), None)),
            Block::Text(chunks) => frames.chunks(chunks, |frames, text| {
                frames.data(&chunk(answer, &json!({"content": text}), None));
            }),
            Block::Call(call) => {
                frames.data(&chunk(answer, &json!({"tool_calls": [tool_call(calls, call)]}), None));
                calls += 1;
            }
        }
        frames.content_ends_here();
    }
    frames.data(&chunk(answer, &json!({}), Some(finish_reason(answer))));
    let mut bill = chunk(answer, &json!({}), None);
    bill["choices"] = json!([]);
    bill["usage"] = usage();
    frames.data(&bill);
    frames.raw("data: [DONE]\n\n");
    frames
}

pub fn failure(status: u16) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", "invalid_api_key"),
        429 => ("requests", "rate_limit_exceeded"),
        400..=499 => ("invalid_request_error", "invalid_request"),
        _ => ("server_error", "server_error"),
    };
    json!({"error": {"message": format!("mock {code} ({status})"), "type": kind, "param": null, "code": code}})
}
