//! Which request takes which step.

use serde_json::{Value, json};

use super::bodies::*;
use super::http::*;
use crate::model::*;

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
fn a_script_can_be_played_from_its_beginning() {
    let model = Model::start().then(text("first")).then(text("second"));
    let said = || whole(&model, MESSAGES, &anthropic(false))["content"][0]["text"].take();
    assert_eq!([said(), said(), said()], ["first", "second", "second"]);
    model.rewind();
    assert_eq!([said(), said(), said()], ["first", "second", "second"]);
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
