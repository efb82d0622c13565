//! How answers are cut, held back, broken off and refused.

use std::io::Read;
use std::time::{Duration, Instant};

use super::bodies::*;
use super::http::*;
use crate::model::step::big_text;
use crate::model::*;

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
