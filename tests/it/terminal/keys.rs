//! Ctrl-C once and twice, Ctrl-Z and `fg`.

use super::pty::{Pty, USUAL};
use super::{fake_codex, has_spinner, mock, start};
use crate::desk::Desk;
use crate::supervise::binary::{ANSWER, SESSION, TURN};

#[test]
fn one_interrupt_ends_the_run_with_its_code_and_the_way_to_go_on() {
    let desk = Desk::new();
    let mut pty = start(mock(&desk, "[[say:so far]] [[hang]]", &[]), USUAL);
    pty.wait_for("far");
    pty.send("\x03");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(130));
    assert!(closed.screen.contains("so far"), "{}", closed.screen);
    assert!(
        closed.screen.contains("error: interrupted by SIGINT"),
        "{}",
        closed.screen
    );
    assert!(closed.screen.contains("agentctl resume "), "{}", closed.screen);
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
}

#[test]
fn a_second_interrupt_kills_an_agent_that_does_not_listen() {
    let desk = Desk::new();
    let steps = [SESSION, TURN, ANSWER, "ignore INT TERM HUP", "err deaf", "sleep 1000"];
    let mut pty = start(fake_codex(&desk, &steps, &["-P", "edit", "-v"]), USUAL);
    pty.wait_for("deaf");
    pty.send("\x03");
    pty.send("\x03");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(130), "{}", closed.screen);
    assert!(closed.screen.contains("an answer"), "{}", closed.screen);
}

#[test]
fn a_terminal_that_is_stopped_does_not_stop_the_timeout() {
    let desk = Desk::new();
    let mut pty = start(
        mock(&desk, "[[say:so far]] [[tool:bash]] [[hang]]", &["--timeout", "3s"]),
        USUAL,
    );
    pty.wait_for("far");
    pty.send("\x13");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(124), "{}", closed.screen);
}

/// A shell with job control on a terminal.
pub fn shell(desk: &Desk) -> Pty {
    let mut command = desk.program("/bin/bash");
    command.args(["--norc", "--noprofile", "-i"]);
    command.env("TERM", "xterm").env("PS1", "ready> ");
    let pty = Pty::start(command, USUAL);
    pty.wait_for("ready> ");
    pty
}

#[test]
fn a_suspended_run_gives_the_shell_back_and_goes_on_with_fg() {
    let desk = Desk::new();
    desk.file("prompt", "[[say:before it]] [[delay:1s]] [[say:after it]]");
    let mut pty = shell(&desk);
    pty.send("agentctl run -b mock -f prompt\r");
    pty.wait_for("before ");
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.wait_for_times("ready> ", 2);
    pty.send("echo a shell\r");
    pty.wait_for_times("a shell", 2);
    pty.send("fg\r");
    pty.wait_for("after ");
    pty.wait_for("agentctl resume ");
    pty.send("exit $?\r");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(0), "{}", closed.screen);
    assert!(!has_spinner(closed.screen.lines().last().unwrap_or_default()));
}

#[test]
fn a_spinner_makes_room_for_the_shell_and_comes_back_with_fg() {
    let desk = Desk::new();
    desk.file("prompt", "[[tool:ls]] [[hang]]");
    let mut pty = shell(&desk);
    pty.send("agentctl run -b mock -f prompt\r");
    pty.wait_for("✓ bash ls");
    pty.wait_for(" 1s mock");
    pty.send("\x1a");
    pty.wait_for_times("ready> ", 2);
    let screen = pty.parsed().screen().contents();
    assert!(!has_spinner(&screen), "{screen}");
    // In the background the line that is typed is the shell's own.
    pty.send("bg\r");
    pty.wait_for_times("ready> ", 3);
    let so_far = pty.written().len();
    pty.send("echo typed in pea");
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(!has_spinner(&pty.written()[so_far..]), "{:?}", pty.written());
    pty.send("ce\r");
    pty.wait_for_times("typed in peace", 2);
    let drawn = pty.written().matches("s mock").count();
    pty.send("fg\r");
    pty.wait_for_times("s mock", drawn + 1);
    pty.send("\x03");
    pty.wait_for("interrupted");
    pty.send("exit\r");
    let closed = pty.close();
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
}

#[test]
fn a_suspended_user_interface_gives_the_shell_back_and_goes_on_with_fg() {
    let desk = Desk::new();
    super::interactive::user_interface(&desk);
    let mut pty = shell(&desk);
    pty.send("agentctl run -i -b claude -P edit --cli-path ./ui\r");
    pty.wait_for("what? ");
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.wait_for_times("ready> ", 2);
    pty.send("fg\r");
    pty.wait_for("woken");
    pty.send("hello\r");
    pty.wait_for("heard hello");
    pty.wait_for_times("ready> ", 3);
    pty.send("exit $?\r");
    assert_eq!(pty.close().status.code(), Some(7));
}
