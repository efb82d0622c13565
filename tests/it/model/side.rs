//! The requests that CLIs make for themselves beside the conversation, and how they are answered.
//!
//! They must take no step of the script: otherwise a script would depend on whether a CLI happens to want a
//! title for the session.

use serde_json::{Map, Value, json};

use super::request::Conversation;
use super::step::{Step, text};

/// Openings of system prompts of helper calls: OpenCode's titles, Qwen's memory, Gemini's routing.
const HELPERS: [&str; 3] = [
    "You are a title generator",
    "You are now acting as the managed memory extraction subagent",
    "You are a specialized Task Routing AI",
];

/// How to answer the request if it is a side request.
pub fn answer(body: &Value, conversation: &Conversation) -> Option<Step> {
    let config = &body["generationConfig"];
    let without_tools = conversation.tools.is_empty();
    if without_tools && config["responseMimeType"] == "application/json" {
        let schema = config
            .get("responseJsonSchema")
            .or_else(|| config.get("responseSchema"));
        return Some(text(instance(schema.unwrap_or(&Value::Null)).to_string()));
    }
    let opens_as_helper = |told: &String| HELPERS.iter().any(|opening| told.trim_start().starts_with(opening));
    if conversation
        .context
        .iter()
        .chain(&conversation.users)
        .any(opens_as_helper)
    {
        return Some(text("mock title"));
    }
    let small_model = body["model"].as_str().is_some_and(|name| name.contains("haiku"));
    let probe = body["max_tokens"] == 1;
    (without_tools && (small_model || probe)).then(|| text("mock"))
}

/// The smallest value that fits a JSON Schema of the kind that the CLIs send.
fn instance(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("object").to_lowercase().as_str() {
        "string" => json!("mock"),
        "integer" | "number" => json!(1),
        "boolean" => json!(false),
        "array" => json!([]),
        "null" => Value::Null,
        _ => {
            let properties = schema["properties"].as_object();
            let filled: Map<_, _> = properties
                .into_iter()
                .flatten()
                .map(|(key, of)| (key.clone(), instance(of)))
                .collect();
            Value::Object(filled)
        }
    }
}
