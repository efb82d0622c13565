//! Conversations through the program itself, with the agent that is inside it.

use crate::desk::{Desk, Ended as _, RUN};
use agentctl::session::Store;
use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::{contains, ends_with};

/// A run of the mock agent in the conversation of this name.
pub(super) fn run_named(desk: &Desk, name: &str, args: &[&str]) -> serde_json::Value {
    desk.agentctl(RUN).args(["--session", name]).args(args).assert().json()
}

#[test]
fn a_named_conversation_goes_on_by_name_key_prefix_native_id_and_last() {
    let desk = Desk::new();
    let first = run_named(&desk, "a channel 🦀", &["one"]);
    assert_eq!(first["resumed"], "fresh");
    let key = first["session"].as_str().unwrap().to_owned();
    let native_id = first["sessionId"].as_str().unwrap().to_owned();
    let again = ["run", "-o", "json", "--session", "a channel 🦀", "two"];
    let again = desk.run(again).json();
    assert_eq!(
        (&again["resumed"], &again["session"]),
        (&"resumed".into(), &key.as_str().into())
    );
    for selector in [key.as_str(), &key[..6], native_id.as_str(), "a channel 🦀", "--last"] {
        let resumed = desk.run(["resume", "-o", "json", selector, "more"]).json();
        assert_eq!(resumed["resumed"], "resumed", "{selector}: {resumed}");
        assert_eq!(resumed["session"], key.as_str(), "{selector}");
    }
    let record = Store::open(desk.path("state")).unwrap().find(&key).unwrap();
    assert_eq!(record.runs, 7);
    assert_eq!(record.usage.total_tokens, 14);
}

#[test]
fn the_last_conversation_of_a_backend_is_that_of_the_backend() {
    let desk = Desk::new();
    let folder = desk.path("home/.config/agentctl");
    std::fs::create_dir_all(&folder).unwrap();
    let config = "[backends.own]\nprogram = \"/bin/cat\"\ndialect = \"text\"\n";
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let mock = desk.agentctl(RUN).arg("one").assert().json();
    desk.run(["run", "-b", "own", "-o", "json", "two"]).success();
    let resumed = desk
        .run(["resume", "--last", "-b", "mock", "-o", "json", "three"])
        .json();
    assert_eq!(resumed["session"], mock["session"], "{resumed}");
    desk.run(["resume", "--last", "-b", "codex", "four"])
        .code(7)
        .stderr(contains("of codex"));
    desk.run(["resume", "--last", "-b", "moc", "five"])
        .code(2)
        .stderr(contains("did you mean `mock`?"));
}

#[test]
fn a_conversation_that_was_forgotten_can_be_begun_anew() {
    let desk = Desk::new();
    let first = desk.agentctl(RUN).arg("one").assert().json();
    let key = first["session"].as_str().unwrap();
    desk.run(["sessions", "rm", key]).success();
    let resumed = |more: &[&str]| {
        let mut command = desk.agentctl(["resume", key, "-o", "json", "two"]);
        command.args(more).env("AGENT_BACKEND", "mock").assert().json()
    };
    assert_eq!(resumed(&[])["error"]["kind"], "session_not_found");
    let anew = resumed(&["--or-new"]);
    assert_eq!(
        (&anew["resumed"], &anew["isError"]),
        (&"fresh".into(), &false.into()),
        "{anew}"
    );
    assert!(anew["warnings"][0].as_str().unwrap_or_default().contains(key), "{anew}");
}

#[test]
fn a_conversation_that_the_agent_has_lost_keeps_its_id_and_exits_with_seven() {
    let desk = Desk::new();
    let first = run_named(&desk, "lost", &["one"]);
    std::fs::remove_dir_all(desk.path("state/mock")).unwrap();
    desk.run(["resume", "-o", "json", "lost", "two"]).code(7);
    let record = Store::open(desk.path("state")).unwrap().find("lost").unwrap();
    assert_eq!(record.native_id, first["sessionId"].as_str().unwrap());
}

#[test]
fn a_busy_conversation_fails_fast_or_waits() {
    let desk = Desk::new();
    let store = Store::open(desk.path("state")).unwrap();
    let claim = store.claim_name("busy", agentctl::session::Wait::No).unwrap();
    let run = || {
        let mut command = desk.agentctl(RUN);
        command.args(["--session", "busy", "hello"]);
        command
    };
    run().arg("--no-wait").assert().code(75);
    run().arg("--wait=50ms").assert().code(75);
    let waiting = run().spawn().unwrap();
    drop(claim);
    waiting.wait_with_output().unwrap().assert().success();
}

#[test]
fn an_empty_name_and_a_name_for_what_is_not_kept_are_refused() {
    let desk = Desk::new();
    for (arguments, why) in [
        (&["--session", ""][..], "the name is empty"),
        (&["--session", "a name", "--ephemeral"], "--ephemeral keeps nothing"),
    ] {
        let ended = desk.agentctl(RUN).args(arguments).arg("hello").assert();
        let result = ended.code(2).json();
        assert!(result["error"]["message"].as_str().unwrap().contains(why), "{result}");
    }
    assert!(!desk.path("state/sessions").exists());
}

#[test]
fn names_of_any_kind_go_on_through_the_command_line() {
    let desk = Desk::new();
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
        let first = desk.agentctl(RUN).args([&session, "one"]).assert().json();
        let second = desk.run(["run", "-o", "json", &session, "[[recall]]"]).json();
        assert_eq!(second["responseText"], "one | [[recall]]", "{name:?}");
        assert_eq!((&second["name"], &second["session"]), (&name.into(), &first["session"]));
    }
    let table = desk.run(["sessions", "list"]).out();
    assert_eq!(table.lines().count(), 8, "{table}");
    assert!(!table.contains(['\u{1b}', '\u{202e}']), "{table:?}");
}

#[test]
fn what_cannot_be_an_id_of_the_agent_gets_near_matches_although_a_backend_is_named() {
    let desk = Desk::new();
    let first = run_named(&desk, "the release", &["one"]);
    let lost = desk.run(["resume", "-b", "mock", "the relase", "two"]).code(7);
    lost.stderr(contains(first["session"].as_str().unwrap()));
}

#[test]
fn pruning_what_is_older_than_nothing_forgets_all_that_is_not_in_use() {
    let desk = Desk::new();
    for name in ["one", "two"] {
        run_named(&desk, name, &["hello"]);
    }
    let store = Store::open(desk.path("state")).unwrap();
    let busy = store.claim_name("two", agentctl::session::Wait::No).unwrap();
    let pruned = desk.run(["sessions", "prune", "--older-than", "0"]);
    pruned.stdout(ends_with("removed 1, kept 0, 1 in use\n"));
    desk.run(["sessions", "rm", "two"]).code(75);
    drop(busy);
    desk.run(["sessions", "rm", "two"]).success();
    desk.run(["sessions", "list", "--json"]).stdout("[]\n");
}

#[test]
fn a_conversation_remembers_that_its_last_run_failed_before_the_agent_said_anything() {
    let desk = Desk::new();
    let first = run_named(&desk, "a name", &["one"]);
    let mut again = desk.agentctl(["run", "-o", "json", "--cli-path", "/bin/false"]);
    let failed = again.args(["--session", "a name", "two"]).assert().json();
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["session"], first["session"]);
    let record = Store::open(desk.path("state")).unwrap().find("a name").unwrap();
    assert_eq!(
        (record.runs, record.native_id.as_str()),
        (2, first["sessionId"].as_str().unwrap())
    );
    assert!(record.outcome.unwrap().error.is_some());
}

#[test]
fn damaged_entries_are_told_skipped_and_removed_when_that_is_asked_for() {
    let desk = Desk::new();
    let first = run_named(&desk, "bad", &["one"]);
    run_named(&desk, "good", &["one"]);
    let key = first["session"].as_str().unwrap();
    let file = desk.path(&format!("state/sessions/{}/{key}.json", &key[..2]));
    std::fs::write(&file, b"{\"version\":1,").unwrap();
    for (arguments, code) in [
        (&["sessions", "list"][..], 0),
        (&["sessions", "list", "--limit", "9", "--json"], 0),
        (&["sessions", "show", "bad"], 7),
        (&["resume", "bad", "two"], 7),
        (&["resume", key, "two"], 7),
    ] {
        desk.run(arguments).code(code).stderr(contains(key));
    }
    let last = desk.run(["resume", "--last", "-o", "json", "two"]).json();
    assert_eq!(last["name"], "good");
    let anew = desk.agentctl(RUN).args(["--session", "bad", "again"]).assert();
    anew.stderr(contains("a new conversation takes its place"));
    let prune = |arguments: &[&str], said: &str| {
        let pruned = desk.agentctl(["sessions", "prune"]).args(arguments).assert();
        pruned.stdout(ends_with(said));
    };
    prune(
        &["--older-than", "1d"],
        "kept 2, 1 damaged left (--damaged removes them)\n",
    );
    prune(&["--damaged", "--dry-run"], "kept 2, 1 damaged would go too\n");
    assert!(file.exists());
    prune(&["--damaged"], "kept 2, 1 damaged removed\n");
    assert!(!file.exists());
}

#[test]
fn a_relative_state_directory_is_one_place_wherever_the_agent_works() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("project/below")).unwrap();
    let run = |prompt: &str| {
        let mut command = desk.agentctl(RUN);
        command.args(["-C", "below", "--session", "a name", prompt]);
        command.env("AGENTCTL_STATE_DIR", "relative").assert().json()
    };
    run("one");
    assert_eq!(run("[[recall]]")["responseText"], "one | [[recall]]");
    assert!(desk.path("project/relative/mock").exists());
    assert!(!desk.path("project/below/relative").exists());
}
