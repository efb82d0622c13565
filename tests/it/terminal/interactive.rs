//! `-i`: the CLI's own user interface on our terminal.

use super::pty::USUAL;
use super::{on_a_terminal, start};
use crate::desk::{Desk, Ended as _};
use predicates::str::contains;
use std::process::Command;

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

/// `agentctl run -i` with that CLI in the place of Claude Code.
fn interactive(desk: &Desk, more: &[&str]) -> Command {
    let args = ["run", "-i", "-b", "claude", "-P", "edit", "--cli-path", "./ui"];
    on_a_terminal(desk, &[&args, more].concat())
}

#[test]
fn the_cli_gets_the_terminal_the_keys_and_the_same_settings_and_its_exit_code_is_ours() {
    let desk = Desk::new();
    user_interface(&desk);
    let mut pty = start(interactive(&desk, &["-m", "opus"]), USUAL);
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
    let sessions = desk.run(["sessions", "list", "--json"]).json();
    let id = sessions[0]["sessionId"].as_str().unwrap_or_default();
    assert!(
        !id.is_empty() && closed.screen.contains(id),
        "{sessions}\n{}",
        closed.screen
    );
}

#[test]
fn a_user_interface_that_was_closed_has_ended() {
    for (code, told) in [(0, "ok"), (3, "crashed"), (130, "interrupted")] {
        let desk = Desk::new();
        desk.script("ui", &format!("#!/bin/sh\nexit {code}\n"));
        let closed = start(interactive(&desk, &[]), USUAL).close();
        assert_eq!(closed.status.code(), Some(code), "{}", closed.screen);
        let listed = desk.run(["sessions"]).out();
        let last = listed.lines().last().unwrap_or_default();
        assert!(last.contains(&format!(" {told} ")), "{code}: {listed}");
    }
}

#[test]
fn without_a_terminal_there_is_no_user_interface() {
    let desk = Desk::new();
    user_interface(&desk);
    let ended = desk.run(["run", "-i", "-b", "claude", "--cli-path", "./ui"]);
    ended.code(2).stderr(contains("terminal"));
}

#[test]
fn what_nobody_would_do_there_is_refused() {
    let desk = Desk::new();
    user_interface(&desk);
    desk.file("schema.json", "{}");
    for option in [
        &["--schema", "schema.json"][..],
        &["--timeout", "5s"],
        &["--max-turns", "3"],
        &["--record", "file"],
        &["--marker"],
        &["-o", "json"],
    ] {
        let closed = start(interactive(&desk, option), USUAL).close();
        assert_eq!(closed.status.code(), Some(2), "{option:?}: {}", closed.screen);
        assert!(closed.screen.contains("--interactive"), "{option:?}: {}", closed.screen);
    }
    // Values of the configuration and the environment are for headless runs: they do not get in the way.
    desk.file("task", "from a file");
    let mut command = interactive(&desk, &["-f", "task"]);
    command.env("AGENTCTL_TIMEOUT", "5s").env("BACKEND_MAX_TURNS", "3");
    let mut pty = start(command, USUAL);
    pty.wait_for("arg from a file");
    pty.wait_for("what? ");
    pty.send("hello\r");
    assert_eq!(pty.close().status.code(), Some(7));
}

#[test]
fn an_agent_without_a_user_interface_says_so() {
    let desk = Desk::new();
    let closed = start(on_a_terminal(&desk, &["run", "-i", "-b", "mock"]), USUAL).close();
    assert_eq!(closed.status.code(), Some(2), "{}", closed.screen);
    assert!(closed.screen.contains("error: "), "{}", closed.screen);
}

/// What the CLIs leave in the user's home when something was said in their interface: where, and the first line of it.
const LEFT_BEHIND: &[(&str, &str, &str)] = &[
    (
        "codex",
        ".codex/sessions/2026/11/18/rollout-2026-11-18T21-11-30-01a1f080-1f82-7880-bc5e-cd4c26cfdb25.jsonl",
        r#"{"timestamp":"2026-11-18T21:11:31.034Z","type":"session_meta","payload":{"id":"01a1f080-1f82-7880-bc5e-cd4c26cfdb25","cwd":"CWD","source":"cli"}}"#,
    ),
    (
        "pi",
        ".pi/agent/sessions/--project--/2026-11-18T21-11-33-198Z_01a1f080-1f82-7880-bc5e-cd4c26cfdb25.jsonl",
        r#"{"type":"session","version":3,"id":"01a1f080-1f82-7880-bc5e-cd4c26cfdb25","cwd":"CWD"}"#,
    ),
];

#[test]
fn a_conversation_that_was_begun_in_the_clis_own_interface_goes_on_by_its_name() {
    for (backend, file, line) in LEFT_BEHIND {
        let desk = Desk::new();
        let file = desk.path("home").join(file);
        let cwd = desk.path("project").canonicalize().unwrap();
        let folder = file.parent().unwrap();
        // A run of another program at the same time is not ours.
        let other = line.replace("CWD", "/elsewhere").replace("01a1f080", "ffffffff");
        let line = line.replace("CWD", cwd.to_str().unwrap());
        desk.script(
            "ui",
            &format!(
                "#!/bin/sh\nfor arg; do echo \"arg $arg\"; done\nmkdir -p {0}\necho '{line}' > {1}\necho '{other}' > {0}/other.jsonl\n",
                folder.display(),
                file.display()
            ),
        );
        let args = ["run", "-i", "-b", backend, "--cli-path", "./ui", "--session", "mychat"];
        let first = start(on_a_terminal(&desk, &args), USUAL).close();
        assert_eq!(first.status.code(), Some(0), "{}", first.screen);
        assert!(first.screen.contains("hint: `agentctl resume "), "{}", first.screen);
        let listed = desk.run(["sessions", "list", "--json"]).json();
        assert_eq!(
            listed[0]["sessionId"], "01a1f080-1f82-7880-bc5e-cd4c26cfdb25",
            "{backend}: {listed}"
        );
        assert_eq!(listed[0]["name"], "mychat", "{listed}");
        let again = start(on_a_terminal(&desk, &args), USUAL).close();
        let id = "arg 01a1f080-1f82-7880-bc5e-cd4c26cfdb25";
        assert!(again.screen.contains(id), "{backend}: {}", again.screen);
    }
}

#[test]
fn an_interface_in_which_nothing_was_said_leaves_no_conversation() {
    for (backend, folder) in [
        ("claude", ".claude/projects"),
        ("codex", ".codex/sessions"),
        ("gemini", ".gemini/tmp"),
        ("pi", ".pi/agent/sessions"),
    ] {
        let desk = Desk::new();
        std::fs::create_dir_all(desk.path("home").join(folder)).unwrap();
        desk.script("ui", "#!/bin/sh\nexit 0\n");
        let args = [
            "run",
            "-i",
            "-b",
            backend,
            "-P",
            "edit",
            "--cli-path",
            "./ui",
            "--session",
            "mychat",
        ];
        let closed = start(on_a_terminal(&desk, &args), USUAL).close();
        assert_eq!(closed.status.code(), Some(0), "{backend}: {}", closed.screen);
        assert!(
            closed.screen.contains("warning: nothing was said"),
            "{backend}: {}",
            closed.screen
        );
        assert_eq!(
            desk.run(["sessions", "list", "--json"]).json(),
            serde_json::json!([]),
            "{backend}"
        );
    }
}

#[test]
fn an_interface_that_keeps_everything_cannot_be_ephemeral() {
    for backend in ["claude", "codex"] {
        let desk = Desk::new();
        user_interface(&desk);
        let args = [
            "run",
            "-i",
            "-b",
            backend,
            "-P",
            "edit",
            "--cli-path",
            "./ui",
            "--ephemeral",
        ];
        let closed = start(on_a_terminal(&desk, &args), USUAL).close();
        assert_eq!(closed.status.code(), Some(2), "{backend}: {}", closed.screen);
        assert!(closed.screen.contains("--ephemeral"), "{backend}: {}", closed.screen);
    }
}

#[test]
fn an_interface_that_is_killed_leaves_the_terminal_as_it_was() {
    let desk = Desk::new();
    desk.script("ui", "#!/bin/sh\nstty raw -echo\nkill -9 $$\n");
    let line = "stty -a > before; agentctl run -i -b codex -P edit --cli-path ./ui; echo \"code $?\"; stty -a > after";
    let mut command = desk.program("/bin/sh");
    command.args(["-c", line]).env("TERM", "xterm");
    let closed = start(command, USUAL).close();
    assert!(closed.screen.contains("code 137"), "{}", closed.screen);
    let told = |name: &str| std::fs::read_to_string(desk.path("project").join(name)).unwrap();
    assert_eq!(told("before"), told("after"));
}

#[test]
fn an_interface_that_is_killed_leaves_no_hidden_cursor_and_no_other_screen() {
    let desk = Desk::new();
    // What the CLIs ask for, in the other screen (the mouse too) or in the usual one.
    for other in ["\\033[?1049h\\033[?1003h\\033[?1006h", ""] {
        let ask = format!("{other}\\033[?25l\\033[?2004h\\033[?1h\\033[>7u\\033[31m");
        desk.script(
            "ui",
            &format!("#!/bin/sh\nprintf '{ask}drawn\\nmore\\033[A'\nkill -9 $$\n"),
        );
        let line = "echo line before; agentctl run -i -b codex -P edit --cli-path ./ui; echo \"code $?\"; read -r end";
        let mut command = desk.program("/bin/sh");
        command.args(["-c", line]).env("TERM", "xterm");
        let mut pty = start(command, USUAL);
        pty.wait_for("code 137");
        let parser = pty.parsed();
        let screen = parser.screen();
        let asked = (
            screen.alternate_screen(),
            screen.hide_cursor(),
            screen.bracketed_paste(),
            screen.application_cursor(),
            screen.mouse_protocol_mode(),
            screen.fgcolor(),
        );
        let usual = vt100::Parser::default();
        let mouse = usual.screen().mouse_protocol_mode();
        assert_eq!(asked, (false, false, false, false, mouse, vt100::Color::Default));
        assert!(pty.written().contains("\x1b[<u"), "keys have their usual codes");
        let contents = screen.contents();
        assert!(contents.starts_with("line before\n"), "{contents}");
        assert!(contents.contains("\ncode 137"), "{contents}");
        assert!(!contents.contains("more"), "what is drawn below is gone: {contents}");
        pty.send("\r");
        pty.close();
    }
}
