//! From the tool a test means to the call a CLI understands.
//!
//! A tool that the CLI does not offer is called all the same, under the name that this kind of CLI usually
//! gives it: a real model can do that too, and the tests of permissions need it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::request::{Conversation, OfferedTool, ToolInput};
use super::step::Call;
use super::wire::Wire;

/// A tool call as it goes over the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeCall {
    pub id: String,
    pub name: String,
    pub namespace: Option<String>,
    pub input: NativeInput,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NativeInput {
    Json(Value),
    FreeForm(String),
}

const SHELL: &[&str] = &[
    "bash",
    "exec_command",
    "run_shell_command",
    "shell_command",
    "shell",
    "local_shell",
];
const WRITE: &[&str] = &["write", "write_file"];
const EDIT: &[&str] = &["edit", "replace"];
const READ: &[&str] = &["read", "read_file"];
const STRUCTURED: &[&str] = &["structuredoutput", "structured_output"];

/// The call that carries a structured answer, if the CLI has a tool for it and has not had it yet.
pub fn structured(value: &Value, conversation: &Conversation) -> Option<NativeCall> {
    if conversation.fresh_results > 0 {
        return None;
    }
    find(conversation, STRUCTURED).map(|tool| native(&tool, NativeInput::Json(value.clone())))
}

/// The call as the CLI that sent this conversation knows it.
pub fn resolve(call: &Call, conversation: &Conversation, wire: Wire) -> NativeCall {
    match call {
        Call::Shell(command) => shell(command, conversation, wire),
        Call::Write { path, content } => write(path, content, conversation, wire),
        Call::Edit { path, old, new } => edit(path, old, new, conversation, wire),
        Call::Read(path) => read(path, conversation, wire),
        Call::Mcp { suffix, arguments } => mcp(suffix, arguments, conversation),
        Call::Named { name, arguments } => named(name, arguments, conversation),
    }
}

fn shell(command: &str, conversation: &Conversation, wire: Wire) -> NativeCall {
    let usual = usual(wire, "Bash", "exec_command", "bash", "run_shell_command");
    let tool = find(conversation, SHELL).unwrap_or(usual);
    let mut arguments = match tool.name.as_str() {
        "shell" | "local_shell" => json!({"command": ["bash", "-lc", command]}),
        "exec_command" => json!({"cmd": command}),
        _ => json!({"command": command}),
    };
    if tool.takes("description") {
        arguments["description"] = json!("a scripted command");
    }
    if tool.takes("is_background") {
        arguments["is_background"] = json!(false);
    }
    native(&tool, NativeInput::Json(arguments))
}

fn write(path: &str, content: &str, conversation: &Conversation, wire: Wire) -> NativeCall {
    if let Some(tool) = find(conversation, WRITE) {
        return native(
            &tool,
            NativeInput::Json(json!({path_key(&tool): path, "content": content})),
        );
    }
    if wire == Wire::Responses {
        let added: String = content.lines().map(|line| format!("+{line}\n")).collect();
        return patch(&format!("*** Add File: {path}\n{added}"), conversation);
    }
    let tool = usual(wire, "Write", "write_file", "write", "write_file");
    native(
        &tool,
        NativeInput::Json(json!({path_key(&tool): path, "content": content})),
    )
}

fn edit(path: &str, old: &str, new: &str, conversation: &Conversation, wire: Wire) -> NativeCall {
    let offered = find(conversation, EDIT);
    if offered.is_none() && wire == Wire::Responses {
        let removed: String = old.lines().map(|line| format!("-{line}\n")).collect();
        let added: String = new.lines().map(|line| format!("+{line}\n")).collect();
        return patch(&format!("*** Update File: {path}\n@@\n{removed}{added}"), conversation);
    }
    let tool = offered.unwrap_or_else(|| usual(wire, "Edit", "edit", "edit", "replace"));
    let mut arguments = json!({path_key(&tool): path});
    if tool.takes("edits") {
        arguments["edits"] = json!([{"oldText": old, "newText": new}]);
    } else if tool.takes("oldString") {
        arguments["oldString"] = json!(old);
        arguments["newString"] = json!(new);
    } else {
        arguments["old_string"] = json!(old);
        arguments["new_string"] = json!(new);
    }
    if tool.takes("instruction") {
        arguments["instruction"] = json!("a scripted change");
    }
    native(&tool, NativeInput::Json(arguments))
}

fn read(path: &str, conversation: &Conversation, wire: Wire) -> NativeCall {
    let offered = find(conversation, READ);
    if offered.is_none() && wire == Wire::Responses {
        return shell(&format!("cat '{path}'"), conversation, wire);
    }
    let tool = offered.unwrap_or_else(|| usual(wire, "Read", "read_file", "read", "read_file"));
    native(&tool, NativeInput::Json(json!({path_key(&tool): path})))
}

/// Codex edits files by patches: with the free-form tool, or with the command that it watches for.
fn patch(body: &str, conversation: &Conversation) -> NativeCall {
    let patch = format!("*** Begin Patch\n{body}*** End Patch\n");
    match find(conversation, &["apply_patch"]) {
        Some(tool) if tool.input == ToolInput::FreeForm => native(&tool, NativeInput::FreeForm(patch)),
        Some(tool) => native(&tool, NativeInput::Json(json!({"input": patch}))),
        None => shell(
            &format!("apply_patch <<'EOF'\n{patch}EOF"),
            conversation,
            Wire::Responses,
        ),
    }
}

fn mcp(suffix: &str, arguments: &Value, conversation: &Conversation) -> NativeCall {
    let offered = conversation
        .tools
        .iter()
        .find(|tool| tool.name.ends_with(suffix))
        .cloned();
    let tool = offered.unwrap_or_else(|| OfferedTool {
        name: announced(suffix, conversation).unwrap_or(suffix).to_owned(),
        ..OfferedTool::default()
    });
    native(&tool, NativeInput::Json(arguments.clone()))
}

/// Newer versions of Claude Code only name MCP tools to the model, and describe them when it asks.
fn announced<'a>(suffix: &str, conversation: &'a Conversation) -> Option<&'a str> {
    let words = conversation.context.iter().flat_map(|told| told.split_whitespace());
    words
        .into_iter()
        .find(|word| word.starts_with("mcp__") && word.ends_with(suffix))
}

fn named(name: &str, arguments: &Value, conversation: &Conversation) -> NativeCall {
    let offered = conversation.tools.iter().find(|tool| tool.name == name);
    let tool = offered.cloned().unwrap_or_else(|| OfferedTool {
        name: name.to_owned(),
        ..OfferedTool::default()
    });
    let input = match arguments {
        Value::String(free) => NativeInput::FreeForm(free.clone()),
        other => NativeInput::Json(other.clone()),
    };
    native(&tool, input)
}

fn find(conversation: &Conversation, names: &[&str]) -> Option<OfferedTool> {
    let known = |tool: &&OfferedTool| names.contains(&tool.name.to_lowercase().as_str());
    conversation.tools.iter().find(known).cloned()
}

/// The name of a tool with the CLIs that speak this wire.
fn usual(wire: Wire, anthropic: &str, responses: &str, chat: &str, gemini: &str) -> OfferedTool {
    let name = match wire {
        Wire::Anthropic => anthropic,
        Wire::Responses => responses,
        Wire::Chat => chat,
        Wire::Gemini => gemini,
    };
    let properties = if wire == Wire::Chat {
        vec!["filePath".to_owned(), "path".to_owned()]
    } else {
        Vec::new()
    };
    OfferedTool {
        name: name.to_owned(),
        properties,
        ..OfferedTool::default()
    }
}

fn path_key(tool: &OfferedTool) -> &'static str {
    ["file_path", "filePath", "path"]
        .into_iter()
        .find(|key| tool.takes(key))
        .unwrap_or("file_path")
}

fn native(tool: &OfferedTool, input: NativeInput) -> NativeCall {
    NativeCall {
        id: format!("call_{}", &Uuid::new_v4().simple().to_string()[..12]),
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input,
    }
}
