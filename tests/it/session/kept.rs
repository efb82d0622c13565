//! A conversation keeps what it was started with, whatever the environment and the configuration say later.

use super::cli::{RUN, agentctl, output, result};
use agentctl::session::Store;
use serde_json::Value;
use std::path::Path;

/// Every way to go on with the conversation that is named `kept`.
const WAYS: [&[&str]; 5] = [
    &["run", "--session", "kept"],
    &["resume", "kept"],
    &["resume", "--last", "--any-dir"],
    &["resume", "kept", "--fork"],
    &["resume", "kept", "--or-new"],
];

/// Goes on in a world that would give the agent anything it can.
fn generously(world: &Path, way: &[&str], prompt: &str) -> Value {
    let mut command = agentctl(world, &[way, &["-o", "json", prompt]].concat());
    command
        .env("AGENTCTL_PERMISSION", "full")
        .env("ALLOWED_TOOLS", "bash,write,edit,read")
        .env("BACKEND_MODEL", "another-model");
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{way:?}: {error}: {output:?}"))
}

/// The tools that were refused.
fn denied(result: &Value) -> Vec<&str> {
    let denied = result["deniedTools"].as_array().unwrap().iter();
    denied.map(|tool| tool["kind"].as_str().unwrap()).collect()
}

fn configure(world: &Path) {
    let folder = world.join(".config/agentctl");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(world.join("more")).unwrap();
    let more = world.join("more");
    let config = format!(
        "[defaults]\npermission = \"full\"\nallow_tools = [\"bash\"]\nadd_dirs = [{more:?}]\nsystem = \"obey\"\nidentity = \"somebody\"\n"
    );
    std::fs::write(folder.join("config.toml"), config).unwrap();
}

#[test]
fn a_read_only_conversation_never_becomes_writable_by_being_resumed() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    result(
        world,
        &[&RUN[..], &["--session", "kept", "-P", "read-only", "one"]].concat(),
    );
    configure(world);
    for way in WAYS {
        let refused = generously(world, way, "[[tool:rm -r .]] [[write:file]]");
        assert_eq!(denied(&refused), ["bash", "write"], "{way:?}: {refused}");
        assert_eq!(refused["error"]["kind"], "permission_denied", "{way:?}");
        let key = refused["session"].as_str().unwrap();
        let record = Store::open(world.join("state")).unwrap().find(key).unwrap();
        assert_eq!(record.permission, agentctl::request::Permission::ReadOnly, "{way:?}");
        assert_eq!((record.allow_tools.len(), record.add_dirs.len()), (0, 0), "{way:?}");
    }
}

#[test]
fn tools_model_system_prompt_and_identity_are_kept() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let settings = [
        "--allow-tool",
        "read",
        "--allow-tool",
        "bash",
        "--deny-tool",
        "bash",
        "-m",
        "a-model",
        "-s",
        "be kind",
        "--identity",
        "You are X.",
    ];
    let first = result(
        world,
        &[&RUN[..], &settings, &["--session", "kept", "[[recall]]"]].concat(),
    );
    assert_eq!(first["responseText"], "You are X.\n\n[[recall]]");
    configure(world);
    for way in WAYS {
        let resumed = generously(world, way, "[[tool:ls]] [[write:x]] [[read:y]] [[system]]");
        assert_eq!(denied(&resumed), ["bash", "write"], "{way:?}: {resumed}");
        assert_eq!(
            (&resumed["model"], &resumed["responseText"]),
            (&"a-model".into(), &"be kind".into()),
            "{way:?}"
        );
    }
    let recalled = generously(world, WAYS[0], "[[recall]]");
    let answer = recalled["responseText"].as_str().unwrap();
    assert_eq!(
        answer.matches("You are X.").count(),
        1,
        "only the first turn has it: {answer}"
    );
    assert!(!answer.contains("somebody"), "{answer}");
}

#[test]
fn what_a_conversation_was_started_without_it_does_not_get_later() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    result(world, &[&RUN[..], &["--session", "kept", "one"]].concat());
    configure(world);
    let resumed = generously(world, WAYS[0], "[[say:no instructions.]] [[system]]");
    assert_eq!(
        (&resumed["model"], &resumed["responseText"]),
        (&"mock-1".into(), &"no instructions.".into())
    );
}

#[test]
fn a_flag_says_otherwise_and_is_kept_from_then_on() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    result(world, &[&RUN[..], &["--session", "kept", "-P", "full", "one"]].concat());
    let prompt = "[[tool:ls]]";
    let flagged = result(
        world,
        &["resume", "kept", "-o", "json", "-P", "read-only", "-m", "other", prompt],
    );
    assert_eq!((denied(&flagged), &flagged["model"]), (vec!["bash"], &"other".into()));
    let after = generously(world, WAYS[0], prompt);
    assert_eq!((denied(&after), &after["model"]), (vec!["bash"], &"other".into()));
}

#[test]
fn a_conversation_goes_on_in_its_own_directory_and_says_so() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let elsewhere = world.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    result(world, &[&RUN[..], &["--session", "kept", "one"]].concat());
    let from = |way: &[&str]| {
        let mut command = agentctl(world, &[way, &["-o", "json", "two"]].concat());
        let output = command.current_dir(&elsewhere).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for way in &WAYS[..4] {
        let resumed = from(way);
        assert!(
            resumed["warnings"][0].as_str().unwrap().contains("its own directory"),
            "{way:?}: {resumed}"
        );
    }
    assert_eq!(from(&["resume", "--last"])["error"]["kind"], "session_not_found");
    let gone = world.join("gone");
    std::fs::create_dir(&gone).unwrap();
    result(
        world,
        &[&RUN[..], &["--session", "homeless", "-C", "gone", "one"]].concat(),
    );
    std::fs::remove_dir(&gone).unwrap();
    let lost = output(world, &["resume", "homeless", "two"]);
    assert_eq!(lost.status.code(), Some(2), "{lost:?}");
    assert!(String::from_utf8_lossy(&lost.stderr).contains("gone"), "{lost:?}");
}
