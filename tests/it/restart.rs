//! A CLI that gives up before it does anything, because of something that passes, is started again.

use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::{Assert, OutputAssertExt as _};
use serde_json::Value;

const GIVES_UP: &str = r#"printf 'Error: Unexpected error\n\ndatabase is locked\n' >&2; exit 1"#;
const STEP: &str = r#"{"type":"step_start","sessionID":"ses_1","part":{"messageID":"msg_1"}}"#;
const ANSWERS: &str = r#"cat >/dev/null; cat <<'END'
{"type":"step_start","sessionID":"ses_1","part":{"messageID":"msg_1"}}
{"type":"text","sessionID":"ses_1","part":{"messageID":"msg_1","text":"there"}}
{"type":"step_finish","sessionID":"ses_1","part":{"messageID":"msg_1","reason":"stop"}}
END"#;

/// An OpenCode that runs the line with the number of its start, the last one from then on.
fn opencode(desk: &Desk, starts: &[&str]) {
    let case = |(number, line): (usize, &&str)| format!("{}) {line}\n;;\n", number + 1);
    let cases: String = starts.iter().enumerate().map(case).collect();
    let last = starts.last().unwrap();
    let script = format!("#!/bin/sh\necho x >>starts\ncase $(wc -l <starts) in\n{cases}*) {last}\n;;\nesac\n");
    desk.script("opencode", &script);
}

fn run(desk: &Desk, args: &[&str]) -> (Assert, Vec<Value>) {
    let mut command = desk.agentctl(["run", "-b", "opencode", "--cli-path", "./opencode"]);
    let ended = command.args(["-o", "stream-json", "hello"]).args(args).assert();
    let events = ended
        .out()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (ended, events)
}

fn told<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn starts(desk: &Desk) -> usize {
    std::fs::read_to_string(desk.path("project/starts"))
        .unwrap()
        .lines()
        .count()
}

#[test]
fn a_run_that_collided_twice_has_its_answer_and_one_record() {
    let desk = Desk::new();
    opencode(&desk, &[GIVES_UP, GIVES_UP, ANSWERS]);
    let (ended, events) = run(&desk, &["--record", "it.rec", "--effort", "high"]);
    ended.success();
    assert_eq!(starts(&desk), 3);
    let attempts: Vec<_> = told(&events, "retry")
        .iter()
        .map(|event| event["attempt"].as_u64())
        .collect();
    assert_eq!(attempts, [Some(1), Some(2)]);
    let result = events.last().unwrap();
    assert_eq!(
        (&result["responseText"], &result["exitCode"]),
        (&"there".into(), &0.into())
    );
    let warnings = result["warnings"].as_array().unwrap();
    assert_eq!(
        (told(&events, "warning").len(), warnings.len()),
        (1, 1),
        "what was said once is not said again: {events:?}"
    );
    let listed = desk.run(["sessions", "list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    // What did nothing is not in the recording: it plays as it went.
    let played = desk.run(["run", "-b", "mock", "--option", "transcript=it.rec", "hello"]);
    played.success().stdout("there\n");
}

#[test]
fn nobody_tries_for_ever_and_max_retries_is_heeded() {
    for (args, wanted) in [(&[][..], 6), (&["--max-retries", "0"], 1), (&["--max-retries", "2"], 3)] {
        let desk = Desk::new();
        opencode(&desk, &[GIVES_UP]);
        let (ended, events) = run(&desk, args);
        assert_eq!(starts(&desk), wanted, "{ended}");
        ended.code(1);
        let result = events.last().unwrap();
        assert_eq!(result["error"]["kind"], "crashed");
        assert_eq!(result["error"]["retryable"], true);
        assert_eq!(result["exitCode"], 1, "it is told how the last one ended");
    }
}

#[test]
fn what_has_begun_is_not_begun_again() {
    let desk = Desk::new();
    opencode(&desk, &[&format!("echo '{STEP}'; {GIVES_UP}"), ANSWERS]);
    let (ended, events) = run(&desk, &[]);
    assert_eq!(starts(&desk), 1, "{ended}");
    ended.code(1);
    assert_eq!(told(&events, "retry").len(), 0);
}

#[test]
fn the_time_of_a_run_is_the_time_of_all_its_processes() {
    let desk = Desk::new();
    let slowly = format!("sleep 0.4; {GIVES_UP}");
    opencode(&desk, &[&slowly]);
    let (ended, events) = run(&desk, &["--timeout", "1s"]);
    ended.code(124);
    assert_eq!(events.last().unwrap()["responseText"], "Query timed out");
    assert!(starts(&desk) <= 3, "the clock was not set back");
}
