//! Every wire says and reads the same things.

use serde_json::{Value, json};

use super::bodies::*;
use super::http::*;
use crate::model::*;

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
