//! Gemini generateContent and streamGenerateContent.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Answer, Block, Frames, tokens};
use super::content::sort_user_texts;
use crate::model::request::{Conversation, OfferedTool, ToolResult};
use crate::model::step::End;
use crate::model::tools::NativeCall;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    contents: Vec<Content>,
    system_instruction: Option<Content>,
    #[serde(default)]
    tools: Vec<ToolGroup>,
}

#[derive(Deserialize)]
struct Content {
    role: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    function_response: Option<FunctionResponse>,
}

#[derive(Deserialize)]
struct FunctionResponse {
    id: Option<String>,
    name: String,
    #[serde(default)]
    response: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolGroup {
    #[serde(default)]
    function_declarations: Vec<Function>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Function {
    name: String,
    #[serde(alias = "parameters", default)]
    parameters_json_schema: Value,
}

impl Content {
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| part.text.as_deref())
    }
}

pub fn read(body: &Value) -> Result<Conversation, serde_json::Error> {
    let body = Body::deserialize(body)?;
    let mut conversation = Conversation::default();
    if let Some(system) = &body.system_instruction {
        conversation.context.extend(system.texts().map(str::to_owned));
    }
    for content in &body.contents {
        if content.role.as_deref().unwrap_or("user") != "user" {
            conversation.fresh_results = 0;
            continue;
        }
        let results: Vec<_> = content
            .parts
            .iter()
            .filter_map(|part| part.function_response.as_ref())
            .collect();
        conversation.fresh_results = results.len();
        conversation.results.extend(results.into_iter().map(result));
        conversation
            .users
            .extend(sort_user_texts(content.texts(), &mut conversation.context));
    }
    let functions = body.tools.iter().flat_map(|group| &group.function_declarations);
    conversation.tools = functions.map(offered).collect();
    Ok(conversation)
}

fn result(response: &FunctionResponse) -> ToolResult {
    let output = response.response["output"].as_str();
    let error = response.response["error"].as_str();
    ToolResult {
        call_id: response.id.clone().unwrap_or_else(|| response.name.clone()),
        text: output
            .or(error)
            .map_or_else(|| response.response.to_string(), str::to_owned),
        is_error: Some(error.is_some()),
    }
}

fn offered(function: &Function) -> OfferedTool {
    OfferedTool {
        name: function.name.clone(),
        properties: super::properties(&function.parameters_json_schema),
        ..OfferedTool::default()
    }
}

fn response(answer: &Answer, parts: &[Value]) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": answer.model, "responseId": answer.id,
    })
}

/// The last response of a stream, or the only one.
fn finished(answer: &Answer, parts: &[Value]) -> Value {
    let mut response = response(answer, parts);
    response["candidates"][0]["finishReason"] = json!(if answer.end == End::Length {
        "MAX_TOKENS"
    } else {
        "STOP"
    });
    response["usageMetadata"] = json!({
        "promptTokenCount": tokens::INPUT, "cachedContentTokenCount": tokens::CACHE_READ,
        "candidatesTokenCount": tokens::OUTPUT - tokens::REASONING, "thoughtsTokenCount": tokens::REASONING,
        "totalTokenCount": tokens::INPUT + tokens::OUTPUT,
    });
    response
}

fn thought(text: &str) -> Value {
    json!({"text": format!("**Thinking** {text}"), "thought": true})
}

fn function_call(call: &NativeCall) -> Value {
    json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments()}})
}

pub fn whole(answer: &Answer) -> Value {
    let part = |block: &Block| match block {
        Block::Thinking(text) => thought(text),
        Block::Text(chunks) => json!({"text": chunks.concat()}),
        Block::Call(call) => function_call(call),
    };
    let parts: Vec<_> = answer.blocks.iter().map(part).collect();
    finished(answer, &parts)
}

pub fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::default();
    for block in &answer.blocks {
        match block {
            Block::Thinking(text) => frames.data(&response(answer, &[thought(text)])),
            Block::Text(chunks) => frames.chunks(chunks, |frames, text| {
                frames.data(&response(answer, &[json!({"text": text})]));
            }),
            Block::Call(call) => frames.data(&response(answer, &[function_call(call)])),
        }
        frames.content_ends_here();
    }
    frames.data(&finished(answer, &[json!({"text": ""})]));
    frames
}

pub fn failure(status: u16) -> Value {
    let kind = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": format!("mock {kind} ({status})"), "status": kind}})
}
