//! `-i`: the CLI's own user interface on our terminal.

use super::pty::USUAL;
use super::{on_a_terminal, start};
use crate::desk::Desk;

/// A CLI with a user interface of one question: it tells what it was given and ends with 7.
pub fn user_interface(desk: &Desk) {
    desk.script(
        "ui",
        "#!/bin/sh\n\
         trap 'echo caught' INT\n\
         trap 'echo woken' CONT\n\
         [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all a terminal\n\
         for arg; do echo \"arg $arg\"; done\n\
         printf 'what? '\n\
         until read -r line; do :; done\n\
         echo \"heard $line\"\n\
         exit 7\n",
    );
}

#[test]
fn the_cli_gets_the_terminal_the_keys_and_the_same_settings_and_its_exit_code_is_ours() {
    let desk = Desk::new();
    user_interface(&desk);
    let args = [
        "run",
        "-i",
        "-b",
        "claude",
        "-P",
        "edit",
        "-m",
        "opus",
        "--cli-path",
        "./ui",
    ];
    let mut pty = start(on_a_terminal(&desk, &args), USUAL);
    pty.wait_for("all a terminal");
    pty.wait_for("what? ");
    pty.send("\x03");
    pty.wait_for("caught");
    pty.send("hello\r");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(7), "{}", closed.screen);
    assert!(closed.screen.contains("heard hello"), "{}", closed.screen);
    assert!(closed.screen.contains("arg opus"), "{}", closed.screen);
    assert!(!super::has_spinner(&closed.written));
    // Claude Code lets us choose its id, so the conversation is kept.
    let listed = desk.run(&["sessions", "list", "--json"]);
    let sessions: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let id = sessions[0]["sessionId"].as_str().unwrap_or_default();
    assert!(
        !id.is_empty() && closed.screen.contains(id),
        "{sessions}\n{}",
        closed.screen
    );
}

#[test]
fn without_a_terminal_there_is_no_user_interface() {
    let desk = Desk::new();
    user_interface(&desk);
    let ended = desk.run(&["run", "-i", "-b", "claude", "--cli-path", "./ui"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("terminal"), "{ended:?}");
}

#[test]
fn an_agent_without_a_user_interface_says_so() {
    let desk = Desk::new();
    let closed = start(on_a_terminal(&desk, &["run", "-i", "-b", "mock"]), USUAL).close();
    assert_eq!(closed.status.code(), Some(2), "{}", closed.screen);
    assert!(closed.screen.contains("error: "), "{}", closed.screen);
}
