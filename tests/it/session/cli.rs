//! Conversations through the program itself, with the agent that is inside it.

use agentctl::session::Store;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// agentctl in a world of its own.
pub(super) fn agentctl(world: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
    command
        .args(arguments)
        .current_dir(world)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world)
        .env("AGENTCTL_STATE_DIR", world.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(super) fn output(world: &Path, arguments: &[&str]) -> Output {
    agentctl(world, arguments).output().unwrap()
}

pub(super) fn result(world: &Path, arguments: &[&str]) -> Value {
    let output = output(world, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{output:?}"))
}

pub(super) const RUN: [&str; 5] = ["run", "-b", "mock", "-o", "json"];

#[test]
fn a_named_conversation_goes_on_by_name_key_prefix_native_id_and_last() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let first = result(world, &[&RUN[..], &["--session", "a channel 🦀", "one"]].concat());
    assert_eq!(first["resumed"], "fresh");
    let key = first["session"].as_str().unwrap().to_owned();
    let native_id = first["sessionId"].as_str().unwrap().to_owned();
    let again = result(world, &["run", "-o", "json", "--session", "a channel 🦀", "two"]);
    assert_eq!(
        (&again["resumed"], &again["session"]),
        (&"resumed".into(), &key.as_str().into())
    );
    for selector in [key.as_str(), &key[..6], native_id.as_str(), "a channel 🦀", "--last"] {
        let resumed = result(world, &["resume", "-o", "json", selector, "more"]);
        assert_eq!(resumed["resumed"], "resumed", "{selector}: {resumed}");
        assert_eq!(resumed["session"], key.as_str(), "{selector}");
    }
    let record = Store::open(world.join("state")).unwrap().find(&key).unwrap();
    assert_eq!(record.runs, 7);
    assert_eq!(record.usage.total_tokens, 14);
}

#[test]
fn a_conversation_that_the_agent_has_lost_keeps_its_id_and_exits_with_seven() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let first = result(world, &[&RUN[..], &["--session", "lost", "one"]].concat());
    std::fs::remove_dir_all(world.join("state/mock")).unwrap();
    let output = output(world, &["resume", "-o", "json", "lost", "two"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let record = Store::open(world.join("state")).unwrap().find("lost").unwrap();
    assert_eq!(record.native_id, first["sessionId"].as_str().unwrap());
}

#[test]
fn a_busy_conversation_fails_fast_or_waits() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let state = world.join("state");
    let store = Store::open(&state).unwrap();
    let claim = store.claim_name("busy", agentctl::session::Wait::No).unwrap();
    let run = [&RUN[..], &["--session", "busy", "hello"]].concat();
    assert_eq!(
        output(world, &[&run[..], &["--no-wait"]].concat()).status.code(),
        Some(75)
    );
    assert_eq!(
        output(world, &[&run[..], &["--wait=50ms"]].concat()).status.code(),
        Some(75)
    );
    let waiting = agentctl(world, &run).spawn().unwrap();
    drop(claim);
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn an_empty_name_and_a_name_for_what_is_not_kept_are_refused() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    for (arguments, why) in [
        (&["--session", ""][..], "the name is empty"),
        (&["--session", "a name", "--ephemeral"], "--ephemeral keeps nothing"),
    ] {
        let output = output(world, &[&RUN[..], arguments, &["hello"]].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(result["error"]["message"].as_str().unwrap().contains(why), "{result}");
    }
    assert!(!world.join("state/sessions").exists());
}

#[test]
fn names_of_any_kind_go_on_through_the_command_line() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let long = "long ".repeat(20_000);
    for name in [
        "two\nlines",
        "🦀🧵",
        " ",
        "-rf",
        "../../etc/passwd",
        "\u{1b}[31m\u{202e}",
        &long,
    ] {
        let session = format!("--session={name}");
        let first = result(world, &[&RUN[..], &[&session, "one"]].concat());
        let second = result(world, &["run", "-o", "json", &session, "[[recall]]"]);
        assert_eq!(second["responseText"], "one | [[recall]]", "{name:?}");
        assert_eq!((&second["name"], &second["session"]), (&name.into(), &first["session"]));
    }
    let listed = output(world, &["sessions", "list"]);
    let table = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(table.lines().count(), 8, "{table}");
    assert!(!table.contains(['\u{1b}', '\u{202e}']), "{table:?}");
}

#[test]
fn what_cannot_be_an_id_of_the_agent_gets_near_matches_although_a_backend_is_named() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let first = result(world, &[&RUN[..], &["--session", "the release", "one"]].concat());
    let lost = output(world, &["resume", "-b", "mock", "the relase", "two"]);
    assert_eq!(lost.status.code(), Some(7), "{lost:?}");
    let told = String::from_utf8_lossy(&lost.stderr);
    assert!(told.contains(first["session"].as_str().unwrap()), "{told}");
}

#[test]
fn pruning_what_is_older_than_nothing_forgets_all_that_is_not_in_use() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    for name in ["one", "two"] {
        result(world, &[&RUN[..], &["--session", name, "hello"]].concat());
    }
    let store = Store::open(world.join("state")).unwrap();
    let busy = store.claim_name("two", agentctl::session::Wait::No).unwrap();
    let pruned = output(world, &["sessions", "prune", "--older-than", "0"]);
    let told = String::from_utf8_lossy(&pruned.stdout).into_owned();
    assert!(told.ends_with("removed 1, kept 0, 1 in use\n"), "{told}");
    assert_eq!(output(world, &["sessions", "rm", "two"]).status.code(), Some(75));
    drop(busy);
    assert!(output(world, &["sessions", "rm", "two"]).status.success());
    assert_eq!(output(world, &["sessions", "list", "--json"]).stdout, b"[]\n");
}

#[test]
fn a_conversation_remembers_that_its_last_run_failed_before_the_agent_said_anything() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let first = result(world, &[&RUN[..], &["--session", "a name", "one"]].concat());
    let failed = result(
        world,
        &[
            "run",
            "-o",
            "json",
            "--cli-path",
            "/bin/false",
            "--session",
            "a name",
            "two",
        ],
    );
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["session"], first["session"]);
    let record = Store::open(world.join("state")).unwrap().find("a name").unwrap();
    assert_eq!(
        (record.runs, record.native_id.as_str()),
        (2, first["sessionId"].as_str().unwrap())
    );
    assert!(record.outcome.unwrap().error.is_some());
}

#[test]
fn damaged_entries_are_told_skipped_and_removed_when_that_is_asked_for() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let first = result(world, &[&RUN[..], &["--session", "bad", "one"]].concat());
    result(world, &[&RUN[..], &["--session", "good", "one"]].concat());
    let key = first["session"].as_str().unwrap();
    let file = world.join(format!("state/sessions/{}/{key}.json", &key[..2]));
    std::fs::write(&file, b"{\"version\":1,").unwrap();
    for (arguments, code) in [
        (&["sessions", "list"][..], 0),
        (&["sessions", "list", "--limit", "9", "--json"], 0),
        (&["sessions", "show", "bad"], 7),
        (&["resume", "bad", "two"], 7),
        (&["resume", key, "two"], 7),
    ] {
        let output = output(world, arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(key), "{arguments:?}: {told}");
    }
    assert_eq!(
        result(world, &["resume", "--last", "-o", "json", "two"])["name"],
        "good"
    );
    let anew = output(world, &[&RUN[..], &["--session", "bad", "again"]].concat());
    assert!(String::from_utf8_lossy(&anew.stderr).contains("a new conversation takes its place"));
    let said = |arguments: &[&str]| {
        let output = output(world, &[&["sessions", "prune"], arguments].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&["--older-than", "1d"]).ends_with("kept 2, 1 damaged left (--damaged removes them)\n"));
    assert!(said(&["--damaged", "--dry-run"]).ends_with("kept 2, 1 damaged would go too\n"));
    assert!(file.exists());
    assert!(said(&["--damaged"]).ends_with("kept 2, 1 damaged removed\n"));
    assert!(!file.exists());
}

#[test]
fn a_relative_state_directory_is_one_place_wherever_the_agent_works() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    std::fs::create_dir(world.join("below")).unwrap();
    let run = |prompt: &str| {
        let mut command = agentctl(
            world,
            &[&RUN[..], &["-C", "below", "--session", "a name", prompt]].concat(),
        );
        let output = command.env("AGENTCTL_STATE_DIR", "relative").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    run("one");
    assert_eq!(run("[[recall]]")["responseText"], "one | [[recall]]");
    assert!(world.join("relative/mock").exists());
    assert!(!world.join("below/relative").exists());
}
