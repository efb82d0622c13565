//! A conversation keeps what it was started with, whatever the environment and the configuration say later.

use super::cli::run_named;
use crate::desk::{Desk, Ended as _, RUN};
use agentctl::session::Store;
use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use serde_json::Value;

/// Every way to go on with the conversation that is named `kept`.
const WAYS: [&[&str]; 5] = [
    &["run", "--session", "kept"],
    &["resume", "kept"],
    &["resume", "--last", "--any-dir"],
    &["resume", "kept", "--fork"],
    &["resume", "kept", "--or-new"],
];

/// Goes on in a world that would give the agent anything it can.
fn generously(desk: &Desk, way: &[&str], prompt: &str) -> Value {
    let mut command = desk.agentctl(way);
    command
        .args(["-o", "json", prompt])
        .env("AGENTCTL_PERMISSION", "full")
        .env("ALLOWED_TOOLS", "bash,write,edit,read")
        .env("BACKEND_MODEL", "another-model");
    command.assert().json()
}

/// The tools that were refused.
fn denied(result: &Value) -> Vec<&str> {
    let denied = result["deniedTools"].as_array().unwrap().iter();
    denied.map(|tool| tool["kind"].as_str().unwrap()).collect()
}

fn configure(desk: &Desk) {
    let folder = desk.path("home/.config/agentctl");
    std::fs::create_dir_all(&folder).unwrap();
    let more = desk.path("project/more");
    std::fs::create_dir_all(&more).unwrap();
    let config = format!(
        "[defaults]\npermission = \"full\"\nallow_tools = [\"bash\"]\nadd_dirs = [{more:?}]\nsystem = \"obey\"\nidentity = \"somebody\"\n"
    );
    std::fs::write(folder.join("config.toml"), config).unwrap();
}

#[test]
fn a_read_only_conversation_never_becomes_writable_by_being_resumed() {
    let desk = Desk::new();
    run_named(&desk, "kept", &["-P", "read-only", "one"]);
    configure(&desk);
    for way in WAYS {
        let refused = generously(&desk, way, "[[tool:rm -r .]] [[write:file]]");
        assert_eq!(denied(&refused), ["bash", "write"], "{way:?}: {refused}");
        assert_eq!(refused["error"]["kind"], "permission_denied", "{way:?}");
        let key = refused["session"].as_str().unwrap();
        let record = Store::open(desk.path("state")).unwrap().find(key).unwrap();
        assert_eq!(record.permission, agentctl::request::Permission::ReadOnly, "{way:?}");
        assert_eq!((record.allow_tools.len(), record.add_dirs.len()), (0, 0), "{way:?}");
    }
}

#[test]
fn tools_model_system_prompt_and_identity_are_kept() {
    let desk = Desk::new();
    let mut command = desk.agentctl(RUN);
    command.args(["--allow-tool", "read", "--allow-tool", "bash", "--deny-tool", "bash"]);
    command.args(["-m", "a-model", "-s", "be kind", "--identity", "You are X."]);
    let first = command.args(["--session", "kept", "[[recall]]"]).assert().json();
    assert_eq!(first["responseText"], "You are X.\n\n[[recall]]");
    configure(&desk);
    for way in WAYS {
        let resumed = generously(&desk, way, "[[tool:ls]] [[write:x]] [[read:y]] [[system]]");
        assert_eq!(denied(&resumed), ["bash", "write"], "{way:?}: {resumed}");
        assert_eq!(
            (&resumed["model"], &resumed["responseText"]),
            (&"a-model".into(), &"be kind".into()),
            "{way:?}"
        );
    }
    let recalled = generously(&desk, WAYS[0], "[[recall]]");
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
    let desk = Desk::new();
    run_named(&desk, "kept", &["one"]);
    configure(&desk);
    let resumed = generously(&desk, WAYS[0], "[[say:no instructions.]] [[system]]");
    assert_eq!(
        (&resumed["model"], &resumed["responseText"]),
        (&"mock-1".into(), &"no instructions.".into())
    );
}

#[test]
fn a_profile_that_was_typed_says_otherwise_and_one_of_the_environment_does_not() {
    let desk = Desk::new();
    run_named(&desk, "kept", &["-m", "a-model", "one"]);
    let folder = desk.path("home/.config/agentctl");
    std::fs::create_dir_all(&folder).unwrap();
    let config = "[profiles.review]\npermission = \"read-only\"\n[profiles.other]\nbackend = \"codex\"\n";
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let go_on = |profile: &[&str]| {
        let typed = ["run", "-o", "json", "--session", "kept", "[[tool:ls]]"];
        let mut command = desk.agentctl(typed);
        command.args(profile).env("AGENTCTL_PROFILE", "review").assert().json()
    };
    assert_eq!(denied(&go_on(&[])), [""; 0]);
    let reviewed = go_on(&["--profile", "review"]);
    assert_eq!(
        (denied(&reviewed), &reviewed["model"]),
        (vec!["bash"], &"a-model".into())
    );
    let other = go_on(&["--profile", "other"]);
    assert_eq!(other["error"]["kind"], "usage", "{other}");
    let flagged = go_on(&["--profile", "other", "-b", "mock"]);
    assert_eq!(flagged["resumed"], "resumed", "a flag goes above it: {flagged}");
}

#[test]
fn a_flag_says_otherwise_and_is_kept_from_then_on() {
    let desk = Desk::new();
    run_named(&desk, "kept", &["-P", "full", "one"]);
    let prompt = "[[tool:ls]]";
    let mut command = desk.agentctl(["resume", "kept", "-o", "json", prompt]);
    let flagged = command.args(["-P", "read-only", "-m", "other"]).assert().json();
    assert_eq!((denied(&flagged), &flagged["model"]), (vec!["bash"], &"other".into()));
    let after = generously(&desk, WAYS[0], prompt);
    assert_eq!((denied(&after), &after["model"]), (vec!["bash"], &"other".into()));
}

#[test]
fn a_conversation_goes_on_in_its_own_directory_and_says_so() {
    let desk = Desk::new();
    let elsewhere = desk.path("project/elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    run_named(&desk, "kept", &["one"]);
    let from = |way: &[&str]| {
        let mut command = desk.agentctl(way);
        command.args(["-o", "json", "two"]).current_dir(&elsewhere);
        command.assert().json()
    };
    for way in &WAYS[..4] {
        let resumed = from(way);
        assert!(
            resumed["warnings"][0].as_str().unwrap().contains("its own directory"),
            "{way:?}: {resumed}"
        );
    }
    assert_eq!(from(&["resume", "--last"])["error"]["kind"], "session_not_found");
    let gone = desk.path("project/gone");
    std::fs::create_dir(&gone).unwrap();
    run_named(&desk, "homeless", &["-C", "gone", "one"]);
    std::fs::remove_dir(&gone).unwrap();
    let lost = desk.run(["resume", "homeless", "two"]);
    lost.code(2).stderr(contains("gone"));
}
