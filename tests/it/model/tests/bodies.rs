//! A conversation after its first tool call, as each wire writes it.

use serde_json::{Value, json};

pub fn anthropic(stream: bool) -> Value {
    json!({
        "model": "claude-x", "stream": stream, "system": "be brief",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": true}]},
        ],
        "tools": [
            {"name": "Bash", "input_schema": {"properties": {"command": {}, "description": {}}}},
            {"name": "Write", "input_schema": {"properties": {"file_path": {}, "content": {}}}},
            {"name": "mcp__demo__lookup", "input_schema": {"properties": {"word": {}}}},
        ],
    })
}

pub fn responses(stream: bool) -> Value {
    json!({
        "model": "gpt-x", "stream": stream,
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "out"},
        ],
        "tools": [
            {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}},
            {"type": "custom", "name": "apply_patch", "format": {}},
            {"type": "namespace", "name": "mcp__demo", "tools": [{"type": "function", "name": "lookup", "parameters": {}}]},
        ],
    })
}

pub fn chat(stream: bool) -> Value {
    json!({
        "model": "mock-model", "stream": stream,
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}},
            {"type": "function", "function": {"name": "edit", "parameters": {"properties": {"path": {}, "edits": {}}}}},
        ],
    })
}

pub fn gemini() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "<session_context>x</session_context>"}, {"text": "hello"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "run_shell_command", "response": {"output": "out"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {"properties": {"command": {}, "description": {}}}}]}],
    })
}

pub const MESSAGES: &str = "/v1/messages?beta=true";

pub const RESPONSES: &str = "/v1/responses";

pub const CHAT: &str = "/v1/chat/completions";

pub const GENERATE: &str = "/v1beta/models/gemini-x:generateContent";

pub const STREAM_GENERATE: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
