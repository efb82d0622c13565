//! `--record` keeps everything that a run was made of, and the mock agent plays it back as it was.

use crate::desk::{Desk, Ended};
use serde_json::{Value, json};

const UNKNOWN: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

fn result(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

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

const PLAY: [&str; 6] = ["-b", "mock", "-o", "json", "--option", "transcript=exchange.rec"];

#[test]
fn every_process_of_an_answer_that_was_asked_for_again_is_recorded_and_played() {
    let desk = Desk::new();
    desk.file("schema.json", r#"{"type": "object"}"#);
    let run = ["run", "--schema", "schema.json", "-b", "mock", "-o", "json"];
    let recorded = desk.run(&[&run[..], &["--record", "exchange.rec", "[[say:no idea]]"]].concat());
    assert_eq!(recorded.code, Some(10), "{recorded:?}");
    let processes = parts(&desk);
    assert!(processes.len() > 1, "it was asked again: {processes:?}");
    assert_eq!(processes[..2], [json!("fresh"), json!("known")]);
    let played = desk.run(&[&["run", "--schema", "schema.json"], &PLAY[..], &["anything"]].concat());
    assert_eq!(played.code, Some(10), "{played:?}");
    assert_eq!(essence(&result(&played)), essence(&result(&recorded)));
}

#[test]
fn an_answer_that_was_mended_is_mended_again_when_it_is_played() {
    let desk = Desk::new();
    desk.file("schema.json", r#"{"type": "object"}"#);
    desk.run(&["run", "-b", "mock", "--record", "first.rec", "[[say:no idea]]"]);
    desk.run(&["resume", "--last", "--record", "second.rec", r#"[[say:{"ok":true}]]"#]);
    desk.shell("cat first.rec second.rec > exchange.rec");
    let with_schema = ["run", "--schema", "schema.json"];
    let played = result(&desk.run(&[&with_schema, &PLAY[..], &["anything"]].concat()));
    assert_eq!(played["structured"], json!({"ok": true}), "{played}");
    assert_eq!((&played["turns"], &played["resumed"]), (&json!(2), &json!("fresh")));
    let without = result(&desk.run(&[&["run"], &PLAY[..], &["anything"]].concat()));
    assert_eq!(without["responseText"], "no idea", "nobody asks again without a schema");
}

#[test]
fn a_conversation_that_was_not_there_is_recorded_with_the_one_that_began_instead() {
    let desk = Desk::new();
    let or_new = ["resume", "--or-new", UNKNOWN];
    let recorded = desk.run(
        &[
            &or_new[..],
            &["-b", "mock", "-o", "json", "--record", "exchange.rec", "hello"],
        ]
        .concat(),
    );
    assert_eq!(result(&recorded)["responseText"], "hello", "{recorded:?}");
    assert_eq!(parts(&desk), [json!("known"), json!("fresh")]);
    for again in [&or_new[..], &["run"]] {
        let played = desk.run(&[again, &PLAY[..], &["anything"]].concat());
        assert_eq!(essence(&result(&played)), essence(&result(&recorded)), "{again:?}");
    }
    let lost = desk.run(&[&["resume", UNKNOWN], &PLAY[..], &["anything"]].concat());
    assert_eq!(lost.code, Some(7), "{lost:?}");
}

#[test]
fn a_recording_takes_the_place_of_the_one_before() {
    let desk = Desk::new();
    for word in ["one", "two"] {
        desk.run(&["run", "-b", "mock", "--record", "exchange.rec", word]);
    }
    assert_eq!(parts(&desk).len(), 1);
    let played = desk.run(&[&["run"], &PLAY[..], &["anything"]].concat());
    assert_eq!(result(&played)["responseText"], "two");
}
