//! What an agent says cannot take over the terminal, and is whole in a pipe.

use super::pty::USUAL;
use super::{mock, start};
use crate::desk::Desk;
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
