//! What an agent says cannot take over the terminal, and is whole in a pipe.

use super::pty::USUAL;
use super::{mock, start};
use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::OutputAssertExt as _;

/// Clears the screen, sets the title, asks for the cursor's position, hides what follows, writes to the clipboard.
const HOSTILE: &str = "\x1b[2J\x1b]0;owned\x07\x1b[6n\x1b[8m\x1b]52;c;ZXZpbA==\x07\u{9b}31m\u{202e}over\rwritten";

fn assert_harmless(written: &str, what: &str) {
    for sequence in [
        "\x1b[2J", "\x1b]", "\x1b[6n", "\x1b[8m", "\u{9b}", "\x07", "\u{202e}", "over\rw",
    ] {
        assert!(
            !written.contains(sequence),
            "{what} lets {sequence:?} through: {written:?}"
        );
    }
}

#[test]
fn text_tools_and_errors_are_shown_and_not_obeyed() {
    let looks: [(&str, &[&str]); 6] = [
        ("xterm", &[]),
        ("xterm", &["--no-progress"]),
        ("dumb", &[]),
        ("xterm", &["--verbose"]),
        ("xterm", &["-o", "json"]),
        ("xterm", &["-o", "stream-json", "--raw-events"]),
    ];
    for (term, args) in looks {
        for prompt in [
            format!("[[say:{HOSTILE}]]"),
            format!("[[think:{HOSTILE}]] [[tool:{HOSTILE}]] [[say:ok]]"),
            format!("[[error:{HOSTILE}]]"),
        ] {
            let desk = Desk::new();
            let mut command = mock(&desk, &prompt, args);
            command.env("TERM", term);
            let closed = start(command, USUAL).close();
            assert_harmless(&closed.written, &format!("TERM={term} {args:?} {prompt:?}"));
        }
    }
}

#[test]
fn a_person_sees_that_there_was_something() {
    let desk = Desk::new();
    let closed = start(mock(&desk, &format!("[[say:{HOSTILE}]]"), &[]), USUAL).close();
    assert!(closed.screen.contains("␛[2J␛]0;owned␇"), "{}", closed.screen);
}

#[test]
fn json_on_a_terminal_is_still_the_same_value() {
    let desk = Desk::new();
    let command = mock(&desk, &format!("[[say:{HOSTILE}]]"), &["-o", "json", "--quiet"]);
    let closed = start(command, (24, 4000)).close();
    let line = closed.screen.lines().find(|line| line.starts_with('{')).unwrap();
    let result: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(result["responseText"], HOSTILE);
}

#[test]
fn a_pipe_gets_every_byte_as_it_was() {
    let desk = Desk::new();
    let ended = mock(&desk, &format!("[[say:{HOSTILE}]]"), &[]).assert();
    ended.stdout(format!("{HOSTILE}\n"));
}

#[test]
fn what_agentctl_repeats_of_its_arguments_and_files_is_harmless_too() {
    let desk = Desk::new();
    for args in [
        ["run", "-b", HOSTILE, "x"],
        ["run", "-P", HOSTILE, "x"],
        ["run", "-f", HOSTILE, "x"],
        ["resume", "-b", "mock", HOSTILE],
    ] {
        let closed = start(super::on_a_terminal(&desk, &args), USUAL).close();
        assert_harmless(&closed.written, &format!("{args:?}"));
    }
    desk.run(["run", "-b", "mock", "--session", HOSTILE, "x"]).success();
    for args in [&["sessions"][..], &["sessions", "show", HOSTILE]] {
        let closed = start(super::on_a_terminal(&desk, args), USUAL).close();
        assert_harmless(&closed.written, &format!("{args:?}"));
    }
}

/// A value of a TOML file.
fn toml(text: &str) -> String {
    let escaped = text.chars().map(|character| format!("\\u{:04x}", u32::from(character)));
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn what_every_command_prints_of_a_strangers_project_is_harmless() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("project").join(HOSTILE)).unwrap();
    desk.run(["run", "-b", "mock", "--session", HOSTILE, "hello"]).success();
    let model = format!("model = {}\n", toml(HOSTILE));
    let key = format!("{} = 1\n", toml(HOSTILE));
    for config in [model, key] {
        desk.file(".agentctl.toml", &config);
        for args in [
            &["doctor", "mock"][..],
            &["doctor", "mock", "--json"],
            &["config", "show"],
            &["config", "show", "--json"],
            &["config", "path"],
            &["backends"],
            &["backends", "claude"],
            &["backends", "claude", "--json"],
            &["run", "-b", "claude", "--cli-path", "/bin/sh", "--dry-run", "hello"],
            &[
                "run",
                "-b",
                "claude",
                "--cli-path",
                "/bin/sh",
                "--dry-run",
                "-o",
                "json",
                "hello",
            ],
            &["run", "-b", "mock", "--dry-run", "-m", HOSTILE, "hello"],
            &["run", "-b", "mock", "--dry-run", "-C", HOSTILE, "hello"],
            &["run", "-b", "mock", "--dry-run", "-o", "json", "-C", HOSTILE, "hello"],
            &["run", "-b", "mock", "-o", "json", "-C", "not there", "hello"],
            &["run", "-b", HOSTILE, "-o", "json", "hello"],
            &["sessions", "list", "--json"],
            &["sessions", "show", "--json", HOSTILE],
            &["sessions", "prune", "--keep", "0", "--dry-run"],
            &["sessions", "prune", "--keep", "0", "--dry-run", "--json"],
        ] {
            let closed = start(super::on_a_terminal(&desk, args), USUAL).close();
            assert_harmless(&closed.written, &format!("{args:?}"));
        }
    }
}

#[test]
fn a_command_line_that_is_refused_is_repeated_harmlessly() {
    let desk = Desk::new();
    let flag = format!("--{HOSTILE}");
    for args in [
        &[HOSTILE][..],
        &["help", HOSTILE],
        &["run", "a", HOSTILE],
        &["run", "-o", HOSTILE],
        &["run", "--max-turns", HOSTILE],
        &["run", &flag],
        &["sessions", HOSTILE],
        &["completions", HOSTILE],
        &["run", "-o", "\x1b[2Jjson"],
    ] {
        let closed = start(super::on_a_terminal(&desk, args), USUAL).close();
        assert_eq!(closed.status.code(), Some(2), "{args:?}: {}", closed.screen);
        assert_harmless(&closed.written, &format!("{args:?}"));
        assert!(closed.screen.contains("␛[2J"), "{args:?}: {}", closed.screen);
    }
}

#[test]
fn a_dry_run_is_the_same_value_on_a_terminal_and_every_byte_in_a_pipe() {
    let desk = Desk::new();
    let args = ["run", "-b", "mock", "--dry-run", "-o", "json", "-m", HOSTILE, "hello"];
    let closed = start(super::on_a_terminal(&desk, &args), (24, 4000)).close();
    let line = closed.screen.lines().find(|line| line.starts_with('{')).unwrap();
    let shown: serde_json::Value = serde_json::from_str(line).unwrap();
    let piped = desk.run(args).out();
    let whole: serde_json::Value = serde_json::from_str(&piped).unwrap();
    // Each has a session id of its own.
    let model = |value: &serde_json::Value| value["argv"].as_array().unwrap().last().cloned();
    assert_eq!(model(&shown), Some(format!("--model={HOSTILE}").into()));
    assert_eq!(model(&shown), model(&whole));
    assert!(piped.contains('\u{9b}'), "{piped:?}");
    let text = desk
        .run(["run", "-b", "mock", "--dry-run", "-m", HOSTILE, "hello"])
        .out();
    assert!(text.contains(HOSTILE), "{text:?}");
}
