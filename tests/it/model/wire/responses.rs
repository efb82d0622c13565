//! OpenAI Responses.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Block, Frames, tokens};
use super::content::{Content, sort_user_texts};
use crate::model::request::{Conversation, OfferedTool, ToolInput, ToolResult};
use crate::model::step::End;
use crate::model::tools::{NativeCall, NativeInput};

#[derive(Deserialize)]
struct Body {
    instructions: Option<String>,
    input: Input,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default = "message")]
    kind: String,
    #[serde(default)]
    role: String,
    content: Option<Content>,
    call_id: Option<String>,
    #[serde(default)]
    output: Value,
}

#[derive(Deserialize)]
struct Tool {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    #[serde(default)]
    parameters: Value,
    #[serde(default)]
    tools: Vec<Tool>,
}

fn message() -> String {
    "message".to_owned()
}

pub fn read(body: &Value) -> Result<Conversation, serde_json::Error> {
    let body = Body::deserialize(body)?;
    let mut conversation = Conversation::default();
    conversation
        .context
        .extend(body.instructions.filter(|text| !text.is_empty()));
    match &body.input {
        Input::Text(text) => conversation.users.push(text.clone()),
        Input::Items(items) => items.iter().for_each(|item| read_item(item, &mut conversation)),
    }
    for tool in &body.tools {
        offer(tool, None, &mut conversation.tools);
    }
    Ok(conversation)
}

fn read_item(item: &Item, conversation: &mut Conversation) {
    if item.kind.ends_with("_output") {
        conversation.fresh_results += 1;
        conversation.results.push(ToolResult {
            call_id: item.call_id.clone().unwrap_or_default(),
            text: output_text(&item.output),
            is_error: None,
        });
        return;
    }
    if item.kind != "message" {
        conversation.fresh_results = 0;
        return;
    }
    let texts = item.content.as_ref().map(Content::texts).unwrap_or_default();
    match item.role.as_str() {
        "user" => {
            let said = sort_user_texts(texts, &mut conversation.context);
            if said.is_some() {
                conversation.fresh_results = 0;
            }
            conversation.users.extend(said);
        }
        "developer" | "system" => conversation.context.extend(texts.into_iter().map(str::to_owned)),
        _ => conversation.fresh_results = 0,
    }
}

/// A text, a list of blocks, or an object with such in `content`.
fn output_text(output: &Value) -> String {
    match Content::deserialize(output).or_else(|_| Content::deserialize(&output["content"])) {
        Ok(content) => content.joined(),
        Err(_) => output.to_string(),
    }
}

fn offer(tool: &Tool, namespace: Option<&str>, tools: &mut Vec<OfferedTool>) {
    for member in &tool.tools {
        offer(member, tool.name.as_deref(), tools);
    }
    let input = match tool.kind.as_str() {
        "custom" => ToolInput::FreeForm,
        "namespace" => return,
        _ => ToolInput::Json,
    };
    tools.push(OfferedTool {
        name: tool.name.clone().unwrap_or_else(|| tool.kind.clone()),
        namespace: namespace.map(str::to_owned),
        input,
        properties: super::properties(&tool.parameters),
    });
}

fn usage() -> Value {
    json!({
        "input_tokens": tokens::INPUT, "input_tokens_details": {"cached_tokens": tokens::CACHE_READ},
        "output_tokens": tokens::OUTPUT, "output_tokens_details": {"reasoning_tokens": tokens::REASONING},
        "total_tokens": tokens::INPUT + tokens::OUTPUT,
    })
}

pub fn whole(answer: &Answer) -> Value {
    let items: Vec<_> = answer
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| item(answer, index, block))
        .collect();
    let (status, details) = match answer.end {
        End::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        _ => ("completed", Value::Null),
    };
    json!({
        "id": format!("resp_{}", answer.id), "object": "response", "status": status, "incomplete_details": details,
        "model": answer.model, "output": items, "usage": usage(),
    })
}

fn item(answer: &Answer, index: usize, block: &Block) -> Value {
    let id = format!("{}_{index}", answer.id);
    match block {
        Block::Thinking(text) => json!({
            "type": "reasoning", "id": format!("rs_{id}"), "summary": [{"type": "summary_text", "text": text}],
            "content": null, "encrypted_content": null,
        }),
        Block::Text(chunks) => json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": chunks.concat(), "annotations": []}],
        }),
        Block::Call(call) => call_item(&id, call),
    }
}

fn call_item(id: &str, call: &NativeCall) -> Value {
    let mut item = match &call.input {
        NativeInput::FreeForm(text) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": call.id, "name": call.name, "input": text,
        }),
        NativeInput::Json(arguments) => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": call.id, "name": call.name,
            "arguments": arguments.to_string(),
        }),
    };
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

pub fn frames(answer: &Answer) -> Frames {
    let response = whole(answer);
    let mut frames = Frames::default();
    frames.event(&json!({
        "type": "response.created", "response": {"id": response["id"], "status": "in_progress", "output": []},
    }));
    for (index, block) in answer.blocks.iter().enumerate() {
        let item = &response["output"][index];
        let mut added = item.clone();
        if matches!(block, Block::Text(_)) {
            added["content"] = json!([]);
            added["status"] = json!("in_progress");
        }
        frames.event(&json!({"type": "response.output_item.added", "output_index": index, "item": added}));
        block_frames(&mut frames, index, block, &item["id"]);
        frames.event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let last = if answer.end == End::Length {
        "response.incomplete"
    } else {
        "response.completed"
    };
    frames.event(&json!({"type": last, "response": response}));
    frames
}

fn block_frames(frames: &mut Frames, index: usize, block: &Block, id: &Value) {
    match block {
        Block::Thinking(text) => {
            frames.event(&json!({
                "type": "response.reasoning_summary_part.added", "item_id": id, "output_index": index,
                "summary_index": 0, "part": {"type": "summary_text", "text": ""},
            }));
            frames.event(&json!({
                "type": "response.reasoning_summary_text.delta", "item_id": id, "output_index": index,
                "summary_index": 0, "delta": text,
            }));
        }
        Block::Text(chunks) => {
            frames.event(&json!({
                "type": "response.content_part.added", "item_id": id, "output_index": index, "content_index": 0,
                "part": {"type": "output_text", "text": ""},
            }));
            frames.chunks(chunks, |frames, chunk| {
                frames.event(&json!({
                    "type": "response.output_text.delta", "item_id": id, "output_index": index, "content_index": 0,
                    "delta": chunk,
                }));
            });
            frames.event(&json!({
                "type": "response.output_text.done", "item_id": id, "output_index": index, "content_index": 0,
                "text": chunks.concat(),
            }));
        }
        Block::Call(call) => {
            if let NativeInput::Json(arguments) = &call.input {
                frames.event(&json!({
                    "type": "response.function_call_arguments.done", "item_id": id, "output_index": index,
                    "arguments": arguments.to_string(),
                }));
            }
            frames.content_ends_here();
        }
    }
}
