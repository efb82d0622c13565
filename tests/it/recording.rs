//! `--record` keeps everything that a run was made of, and the mock agent plays it back as it was.

use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::{Assert, OutputAssertExt as _};
use serde_json::{Value, json};

const UNKNOWN: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

/// What the processes in a recording were asked for.
fn parts(desk: &Desk) -> Vec<Value> {
    let recording = std::fs::read_to_string(desk.path("project/exchange.rec")).unwrap();
    let entries = recording
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .filter_map(|entry| entry["recording"].get("conversation").cloned())
        .collect()
}

/// What of a result does not depend on the clock or on where it is kept.
fn essence(result: &Value) -> Value {
    let fields = [
        "responseText",
        "sessionId",
        "resumed",
        "structured",
        "turns",
        "usage",
        "warnings",
        "exitCode",
    ];
    fields.map(|field| result[field].clone()).into()
}

/// Has the mock agent say what is in the recording.
fn play(desk: &Desk, command: &[&str]) -> Assert {
    let mut command = desk.agentctl(command);
    command.args([
        "-b",
        "mock",
        "-o",
        "json",
        "--option",
        "transcript=exchange.rec",
        "anything",
    ]);
    command.assert()
}

#[test]
fn every_process_of_an_answer_that_was_asked_for_again_is_recorded_and_played() {
    let desk = Desk::new();
    desk.file("schema.json", r#"{"type": "object"}"#);
    let mut run = desk.agentctl(["run", "--schema", "schema.json", "-b", "mock", "-o", "json"]);
    let recorded = run.args(["--record", "exchange.rec", "[[say:no idea]]"]).assert();
    let recorded = recorded.code(10).json();
    let processes = parts(&desk);
    assert!(processes.len() > 1, "it was asked again: {processes:?}");
    assert_eq!(processes[..2], [json!("fresh"), json!("known")]);
    let played = play(&desk, &["run", "--schema", "schema.json"]).code(10).json();
    assert_eq!(essence(&played), essence(&recorded));
}

#[test]
fn an_answer_that_was_mended_is_mended_again_when_it_is_played() {
    let desk = Desk::new();
    desk.file("schema.json", r#"{"type": "object"}"#);
    desk.run(["run", "-b", "mock", "--record", "first.rec", "[[say:no idea]]"]);
    desk.run(["resume", "--last", "--record", "second.rec", r#"[[say:{"ok":true}]]"#]);
    desk.shell("cat first.rec second.rec > exchange.rec");
    let played = play(&desk, &["run", "--schema", "schema.json"]).json();
    assert_eq!(played["structured"], json!({"ok": true}), "{played}");
    assert_eq!((&played["turns"], &played["resumed"]), (&json!(2), &json!("fresh")));
    let without = play(&desk, &["run"]).json();
    assert_eq!(without["responseText"], "no idea", "nobody asks again without a schema");
}

#[test]
fn a_conversation_that_was_not_there_is_recorded_with_the_one_that_began_instead() {
    let desk = Desk::new();
    let or_new = ["resume", "--or-new", UNKNOWN];
    let mut run = desk.agentctl(or_new);
    let recorded = run.args(["-b", "mock", "-o", "json", "--record", "exchange.rec", "hello"]);
    let recorded = recorded.assert().json();
    assert_eq!(recorded["responseText"], "hello", "{recorded}");
    assert_eq!(parts(&desk), [json!("known"), json!("fresh")]);
    for again in [&or_new[..], &["run"]] {
        let played = play(&desk, again).json();
        assert_eq!(essence(&played), essence(&recorded), "{again:?}");
    }
    play(&desk, &["resume", UNKNOWN]).code(7);
}

#[test]
fn a_recording_takes_the_place_of_the_one_before() {
    let desk = Desk::new();
    for word in ["one", "two"] {
        desk.run(["run", "-b", "mock", "--record", "exchange.rec", word]);
    }
    assert_eq!(parts(&desk).len(), 1);
    assert_eq!(play(&desk, &["run"]).json()["responseText"], "two");
}
