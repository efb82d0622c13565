//! The model by itself, over plain HTTP: what it promises to every test that builds on it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::step::big_text;
use super::*;

/// Sends a request and reads to the end of the connection: head, and body with the chunk sizes taken out.
struct Exchange {
    head: String,
    body: String,
    /// Whether the last chunk was announced as such, so that nothing is missing.
    complete: bool,
}

fn connect(model: &Model, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(model.address()).expect("the model listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: model\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .expect("the request goes out");
    stream
}

fn exchange(model: &Model, method: &str, path: &str, headers: &str, body: &str) -> Exchange {
    let mut raw = Vec::new();
    connect(model, method, path, headers, body)
        .read_to_end(&mut raw)
        .expect("the answer comes in");
    let raw = String::from_utf8(raw).expect("the answer is text");
    let (head, mut rest) = raw.split_once("\r\n\r\n").expect("a head and a body");
    let mut body = String::new();
    let mut complete = false;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            complete = true;
            break;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    Exchange {
        head: head.to_owned(),
        body,
        complete,
    }
}

fn ask(model: &Model, path: &str, body: &Value) -> Exchange {
    exchange(model, "POST", path, "", &body.to_string())
}

fn whole(model: &Model, path: &str, body: &Value) -> Value {
    let exchange = ask(model, path, body);
    serde_json::from_str(&exchange.body).unwrap_or_else(|error| panic!("{error}: {}", exchange.body))
}

fn events(model: &Model, path: &str, body: &Value) -> Vec<Value> {
    let exchange = ask(model, path, body);
    assert!(exchange.complete, "the stream broke off: {}", exchange.body);
    let data = exchange.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("JSON in an event"))
        .collect()
}

fn anthropic(stream: bool) -> Value {
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

fn responses(stream: bool) -> Value {
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

fn chat(stream: bool) -> Value {
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

fn gemini() -> Value {
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

const MESSAGES: &str = "/v1/messages?beta=true";
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GENERATE: &str = "/v1beta/models/gemini-x:generateContent";
const STREAM_GENERATE: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

#[test]
fn every_wire_is_read_into_the_same_terms() {
    let model = Model::start().then(text("hi"));
    ask(&model, MESSAGES, &anthropic(true));
    ask(&model, RESPONSES, &responses(true));
    ask(&model, CHAT, &chat(true));
    ask(&model, STREAM_GENERATE, &gemini());
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.user_texts(), ["hello"], "{}", request.path);
        assert!(request.system_text().contains("be brief"), "{}", request.path);
        assert_eq!(request.tool_results().len(), 1, "{}", request.path);
        assert_eq!(request.tool_results()[0].text, "out", "{}", request.path);
        assert!(request.is_after_tool(), "{}", request.path);
    }
    let models: Vec<_> = requests.iter().map(Request::model).collect();
    assert_eq!(models, ["claude-x", "gpt-x", "mock-model", "gemini-x"]);
    assert_eq!(requests[0].tool_results()[0].is_error, Some(true));
    assert_eq!(
        requests[1].tool_names(),
        ["exec_command", "apply_patch", "mcp__demo/lookup"]
    );
}

#[test]
fn a_text_arrives_in_the_scripted_number_of_chunks_on_every_wire() {
    let model = Model::start().then(text("one two three").chunks(4));
    let anthropic_events = events(&model, MESSAGES, &anthropic(true));
    let responses_events = events(&model, RESPONSES, &responses(true));
    let chat_events = events(&model, CHAT, &chat(true));
    let gemini_events = events(&model, STREAM_GENERATE, &gemini());
    let collect = |events: &[Value], pointer: &str| -> Vec<String> {
        let found = events.iter().filter_map(|event| event.pointer(pointer)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    };
    let expected = ["one ", "two ", "thre", "e"];
    assert_eq!(collect(&anthropic_events, "/delta/text"), expected);
    assert_eq!(collect(&responses_events, "/delta"), expected);
    assert_eq!(collect(&chat_events, "/choices/0/delta/content"), expected);
    assert_eq!(collect(&gemini_events, "/candidates/0/content/parts/0/text"), expected);
}

#[test]
fn without_streaming_the_answer_is_one_document_on_every_wire() {
    let model = Model::start().then(thinking("hmm").and(text("hi")));
    let message = whole(&model, MESSAGES, &anthropic(false));
    assert_eq!(message["content"][0]["thinking"], "hmm");
    assert_eq!(message["content"][1]["text"], "hi");
    let response = whole(&model, RESPONSES, &responses(false));
    assert_eq!(response["output"][0]["summary"][0]["text"], "hmm");
    assert_eq!(response["output"][1]["content"][0]["text"], "hi");
    let completion = whole(&model, CHAT, &chat(false));
    assert_eq!(completion["choices"][0]["message"]["reasoning_content"], "hmm");
    assert_eq!(completion["choices"][0]["message"]["content"], "hi");
    let generated = whole(&model, GENERATE, &gemini());
    assert_eq!(generated["candidates"][0]["content"]["parts"][0]["thought"], true);
    assert_eq!(generated["candidates"][0]["content"]["parts"][1]["text"], "hi");
}

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
fn the_last_step_repeats_but_a_tool_call_does_not() {
    let model = Model::start().then(text("first")).then(shell("ls"));
    let said = |message: Value| message["content"][0]["text"].as_str().map(str::to_owned);
    assert_eq!(
        said(whole(&model, MESSAGES, &anthropic(false))).as_deref(),
        Some("first")
    );
    assert_eq!(said(whole(&model, MESSAGES, &anthropic(false))), None);
    assert_eq!(said(whole(&model, MESSAGES, &anthropic(false))).as_deref(), Some(OVER));
    assert_eq!(said(whole(&model, MESSAGES, &anthropic(false))).as_deref(), Some(OVER));
    model.push(text("second"));
    assert_eq!(
        said(whole(&model, MESSAGES, &anthropic(false))).as_deref(),
        Some("second")
    );
}

#[test]
fn a_rule_answers_before_the_script_and_takes_no_step() {
    let model = Model::start()
        .then(text("script"))
        .on(|request| request.is_after_tool().then(|| text("rule")));
    let mut fresh = anthropic(false);
    fresh["messages"] = json!([{"role": "user", "content": "hello"}]);
    assert_eq!(whole(&model, MESSAGES, &anthropic(false))["content"][0]["text"], "rule");
    assert_eq!(whole(&model, MESSAGES, &fresh)["content"][0]["text"], "script");
}

#[test]
fn recall_repeats_what_the_user_said() {
    let model = Model::start().then(recall());
    let mut body = chat(false);
    body["messages"] = json!([
        {"role": "user", "content": "one"}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "two"},
    ]);
    assert_eq!(
        whole(&model, CHAT, &body)["choices"][0]["message"]["content"],
        "one | two"
    );
}

#[test]
fn an_http_error_has_its_status_headers_and_body() {
    let model = Model::start()
        .then(status(429).header("retry-after", "7"))
        .then(status(500).body("oops"));
    let limited = ask(&model, MESSAGES, &anthropic(true));
    assert!(limited.head.starts_with("HTTP/1.1 429"), "{}", limited.head);
    assert!(limited.head.contains("retry-after: 7"), "{}", limited.head);
    assert!(limited.body.contains("rate_limit_error"), "{}", limited.body);
    assert_eq!(ask(&model, STREAM_GENERATE, &gemini()).body, "oops");
}

#[test]
fn a_dropped_answer_breaks_off_after_its_text() {
    for (path, body) in [
        (MESSAGES, anthropic(true)),
        (RESPONSES, responses(true)),
        (CHAT, chat(true)),
        (STREAM_GENERATE, gemini()),
    ] {
        let model = Model::start().then(text("halfway").chunks(1).then_drop());
        let broken = ask(&model, path, &body);
        assert!(broken.body.contains("halfway"), "{path}: {}", broken.body);
        assert!(!broken.complete, "{path}");
        assert!(
            !broken.body.contains("message_stop") && !broken.body.contains("[DONE]"),
            "{path}"
        );
    }
}

#[test]
fn a_silent_model_keeps_the_connection_and_ends_with_the_test() {
    let model = Model::start().then(silence());
    let mut stream = connect(&model, "POST", MESSAGES, "", &anthropic(true).to_string());
    assert!(model.wait_for_requests(1, Duration::from_secs(20)));
    stream.set_read_timeout(Some(ms(50))).expect("a timeout");
    let read = stream.read(&mut [0; 16]).expect_err("nothing is said");
    assert!(matches!(
        read.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    ));
    drop(model);
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
}

#[test]
fn a_model_that_falls_silent_has_said_its_text_first() {
    let model = Model::start().then(text("halfway").chunks(1).then_silence());
    let mut stream = connect(&model, "POST", CHAT, "", &chat(true).to_string());
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "halfway");
    stream.set_read_timeout(Some(ms(50))).expect("a timeout");
    assert!(
        stream.read(&mut [0; 16]).is_err(),
        "the connection stays open and quiet"
    );
}

#[test]
fn an_answer_can_stop_at_the_output_limit() {
    let model = Model::start().then(text("cut").then_length());
    let stop_reason = whole(&model, MESSAGES, &anthropic(false))["stop_reason"].take();
    assert_eq!(stop_reason, "max_tokens");
    let response = events(&model, RESPONSES, &responses(true)).pop().expect("an event");
    assert_eq!(response["type"], "response.incomplete");
    let finish_reason = whole(&model, CHAT, &chat(false))["choices"][0]["finish_reason"].take();
    assert_eq!(finish_reason, "length");
    let generated = events(&model, STREAM_GENERATE, &gemini()).pop().expect("an event");
    assert_eq!(generated["candidates"][0]["finishReason"], "MAX_TOKENS");
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
fn images_are_counted_in_every_form() {
    let model = Model::start().then(text("seen"));
    let mut body = chat(false);
    body["messages"] = json!([{"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]}]);
    ask(&model, CHAT, &body);
    ask(
        &model,
        GENERATE,
        &json!({"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}]}),
    );
    let images: Vec<_> = model.requests().iter().map(Request::images).collect();
    assert_eq!(images, [1, 1]);
    assert_eq!(model.requests()[0].last_user_text(), "look");
}

#[test]
fn a_gate_holds_the_next_chunk_until_the_test_opens_it() {
    let gate = Gate::new();
    let model = Model::start().then(text("AAAABBBBCCCC").chunks(3).gated(&gate));
    let mut stream = connect(&model, "POST", CHAT, "", &chat(true).to_string());
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "AAAA");
    stream.set_read_timeout(Some(ms(100))).expect("a timeout");
    let mut more = Vec::new();
    stream.read_to_end(&mut more).expect_err("the gate is closed");
    assert!(!String::from_utf8_lossy(&more).contains("BBBB"));
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    gate.open();
    read_until(&mut stream, &mut seen, "BBBB");
    assert!(!seen.contains("CCCC"));
    gate.open_wide();
    read_until(&mut stream, &mut seen, "CCCC");
}

fn read_until(stream: &mut TcpStream, seen: &mut String, wanted: &str) {
    let mut buffer = [0; 4096];
    while !seen.contains(wanted) {
        let count = stream.read(&mut buffer).expect("more of the answer");
        assert_ne!(count, 0, "the answer ended before {wanted}: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
}

#[test]
fn a_pause_is_kept_between_chunks() {
    let model = Model::start().then(text("ab").chunks(2).pause(ms(120)));
    let started = Instant::now();
    events(&model, CHAT, &chat(true));
    assert!(started.elapsed() >= ms(120));
}

#[test]
fn a_big_answer_has_exactly_its_size() {
    let model = Model::start().then(big(300_000));
    let text: String = events(&model, CHAT, &chat(true))
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(text.len(), 300_000);
    assert!(text == big_text(300_000));
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

#[test]
fn side_requests_take_no_step_of_the_script() {
    let model = Model::start().then(text("first")).then(text("second"));
    let title = json!({"model": "m", "messages": [{"role": "system", "content": "You are a title generator. Go."}, {"role": "user", "content": "x"}]});
    assert_eq!(
        whole(&model, CHAT, &title)["choices"][0]["message"]["content"],
        "mock title"
    );
    let routing = json!({"contents": [], "generationConfig": {"responseMimeType": "application/json",
        "responseJsonSchema": {"type": "OBJECT", "properties": {"complexity_score": {"type": "INTEGER"}, "next_speaker": {"enum": ["user", "model"]}}}}});
    let routed = whole(&model, GENERATE, &routing);
    assert_eq!(
        routed["candidates"][0]["content"]["parts"][0]["text"],
        r#"{"complexity_score":1,"next_speaker":"user"}"#
    );
    let topic = json!({"model": "claude-haiku-4", "messages": [{"role": "user", "content": "x"}]});
    whole(&model, MESSAGES, &topic);
    assert_eq!(
        whole(&model, CHAT, &chat(false))["choices"][0]["message"]["content"],
        "first"
    );
    assert_eq!(model.requests().len(), 1);
    assert_eq!(model.all_requests().len(), 4);
}

#[test]
fn lists_counts_and_upgrades_are_answered_without_the_script() {
    let model = Model::start().then(status(500));
    assert!(
        exchange(&model, "GET", "/v1/models", "", "")
            .body
            .contains("mock-model")
    );
    assert!(
        exchange(&model, "GET", RESPONSES, "upgrade: websocket\r\n", "")
            .head
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        ask(&model, "/v1/messages/count_tokens", &json!({}))
            .body
            .contains("input_tokens")
    );
    assert!(
        ask(&model, "/v1beta/models/gemini-x:countTokens", &json!({}))
            .body
            .contains("totalTokens")
    );
    assert!(
        exchange(&model, "POST", CHAT, "content-encoding: gzip\r\n", "x")
            .head
            .starts_with("HTTP/1.1 415")
    );
    assert!(
        ask(&model, CHAT, &json!({"nonsense": true}))
            .head
            .starts_with("HTTP/1.1 400")
    );
    assert!(model.requests().is_empty());
}
