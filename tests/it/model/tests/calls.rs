//! Tool calls go to what the CLI offers.

use serde_json::{Value, json};

use super::bodies::*;
use super::http::*;
use crate::model::*;

#[test]
fn a_shell_command_goes_to_the_tool_that_the_cli_offers() {
    let model = Model::start().forever(shell("ls"));
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(message["content"][0]["name"], "Bash");
    assert_eq!(message["content"][0]["input"]["command"], "ls");
    assert_eq!(message["stop_reason"], "tool_use");
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["name"], "exec_command");
    assert_eq!(response["output"][0]["arguments"], r#"{"cmd":"ls"}"#);
    let completion = whole(&model, CHAT, &chat(false));
    assert_eq!(
        completion["choices"][0]["message"]["tool_calls"][0]["function"]["name"],
        "bash"
    );
    let generated = whole(&model, GENERATE, &gemini());
    assert_eq!(
        generated["candidates"][0]["content"]["parts"][0]["functionCall"]["name"],
        "run_shell_command"
    );
}

#[test]
fn files_and_mcp_tools_follow_the_offer_too() {
    let model = Model::start()
        .then(write("a.txt", "one\n"))
        .then(edit("a.txt", "one", "two"))
        .then(edit("a.txt", "one", "two"))
        .then(mcp("lookup", json!({"word": "x"})))
        .then(mcp("lookup", json!({"word": "x"})))
        .then(write("a.txt", "one\n"));
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(
        message["content"][0]["input"],
        json!({"file_path": "a.txt", "content": "one\n"})
    );
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["type"], "custom_tool_call");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n";
    assert_eq!(response["output"][0]["input"], patch);
    let completion = whole(&model, CHAT, &chat(false));
    let arguments = completion["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"].as_str();
    let arguments: Value = serde_json::from_str(arguments.expect("arguments")).expect("JSON");
    assert_eq!(
        arguments,
        json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]})
    );
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(message["content"][0]["name"], "mcp__demo__lookup");
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["name"], "lookup");
    assert_eq!(response["output"][0]["namespace"], "mcp__demo");
    let generated = whole(&model, GENERATE, &gemini());
    let call = &generated["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert_eq!(call["name"], "write_file", "called although it is not on offer");
}

#[test]
fn several_calls_go_into_one_turn() {
    let model = Model::start().then(text("look").and(shell("ls")).and(shell("pwd")));
    let calls: Vec<_> = events(&model, CHAT, &chat(true))
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0").cloned())
        .collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1]["index"], 1);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
}

#[test]
fn a_file_is_read_and_any_tool_called_by_name() {
    let model = Model::start()
        .then(read("a.txt"))
        .then(read("a.txt"))
        .then(tool("apply_patch", json!("free text")))
        .then(tool("Task", json!({"x": 1})));
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(message["content"][0]["name"], "Read");
    assert_eq!(message["content"][0]["input"], json!({"file_path": "a.txt"}));
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["arguments"], r#"{"cmd":"cat 'a.txt'"}"#);
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["input"], "free text");
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(message["content"][0]["input"], json!({"x": 1}));
}

#[test]
fn json_goes_through_the_structured_output_tool_once_where_there_is_one() {
    let model = Model::start().then(json(json!({"a": 1})));
    let mut body = anthropic(false);
    body["tools"] = json!([{"name": "StructuredOutput", "input_schema": {}}]);
    let after = whole(&model, MESSAGES, &body);
    assert_eq!(after["content"][0]["text"], r#"{"a":1}"#, "it follows a tool result");
    body["messages"] = json!([{"role": "user", "content": "hello"}]);
    let first = whole(&model, MESSAGES, &body);
    assert_eq!(first["content"][0]["name"], "StructuredOutput");
    assert_eq!(first["content"][0]["input"], json!({"a": 1}));
}
