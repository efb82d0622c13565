//! Conversations through the program itself, with the agent that is inside it.

use super::files_below;
use agentctl::session::{Filter, Store};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// agentctl in a world of its own.
fn agentctl(world: &Path, arguments: &[&str]) -> Command {
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

fn output(world: &Path, arguments: &[&str]) -> Output {
    agentctl(world, arguments).output().unwrap()
}

fn result(world: &Path, arguments: &[&str]) -> Value {
    let output = output(world, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{output:?}"))
}

const RUN: [&str; 5] = ["run", "-b", "mock", "-o", "json"];

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
fn a_store_that_cannot_be_used_costs_a_warning_and_not_the_answer() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    std::fs::write(world.join("state"), b"a file").unwrap();
    let output = output(world, &["run", "-b", "mock", "--session", "a name", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, b"hello\n");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("it is not a directory"), "{told}");
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
fn sixty_four_runs_of_eight_conversations_take_turns_whoever_is_killed() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    write_agent(world);
    let mut children: Vec<Child> = (0..64).map(|number| start(world, number)).collect();
    for victim in (0..64).step_by(5) {
        std::thread::sleep(Duration::from_millis(u64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 4));
        children[victim].kill().unwrap();
    }
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() || number % 5 == 0, "{number}: {output:?}");
    }
    let store = Store::open(world.join("state")).unwrap();
    let listing = store.all(&Filter::default());
    assert_eq!(listing.damaged, []);
    assert_eq!(listing.records.len(), 8);
    for conversation in 0..8 {
        let log = std::fs::read_to_string(world.join(format!("log-{conversation}"))).unwrap();
        check_turns(&log);
        // The agent of a killed run may come to its end unseen.
        let ended = log
            .lines()
            .filter_map(|line| line.strip_suffix(" end"))
            .filter(|number| !is_victim(number))
            .count();
        let record = store.by_name(&format!("channel {conversation}")).unwrap().unwrap();
        assert!(record.runs as usize >= ended, "{} of {ended} runs", record.runs);
        assert_eq!(
            record.earlier_native_ids, [""; 0],
            "one conversation from the first run to the last"
        );
    }
    assert_eq!(files_below(&world.join("state/names")).len(), 8);
}

/// A run of an agent that notes when it begins and when it ends.
fn start(world: &Path, number: usize) -> Child {
    let conversation = number % 8;
    let name = format!("channel {conversation}");
    let agent = world.join("agent").display().to_string();
    let arguments = [
        "--cli-path",
        &agent,
        "--wait=5m",
        "--session",
        &name,
        "[[delay:30ms]] hello",
    ];
    agentctl(world, &[&RUN[..], &arguments].concat())
        .env("NUMBER", number.to_string())
        .env("LOG", world.join(format!("log-{conversation}")))
        .spawn()
        .unwrap()
}

/// The agent inside agentctl, with a note before and after.
fn write_agent(world: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let program = env!("CARGO_BIN_EXE_agentctl");
    let script = format!(
        "#!/bin/sh\necho $NUMBER begin >>\"$LOG\"\n'{program}' \"$@\"\nstatus=$?\necho $NUMBER end >>\"$LOG\"\nexit $status\n"
    );
    let path = world.join("agent");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// Only the agent of a killed run has no end, and nobody else's lines come between a beginning and its end.
fn check_turns(log: &str) {
    let mut inside: Option<&str> = None;
    for line in log.lines() {
        let (number, what) = line.split_once(' ').unwrap();
        if what == "begin" {
            let before = inside.replace(number);
            let killed = before.is_none_or(is_victim);
            assert!(killed, "{before:?} was still in when {number} began:\n{log}");
        } else {
            assert_eq!(inside.take(), Some(number), "\n{log}");
        }
    }
}

/// Every fifth run is killed.
fn is_victim(number: &str) -> bool {
    number.parse::<usize>().unwrap().is_multiple_of(5)
}
