//! The answer as it comes, the spinner, the closing line, and who wants less of it.

use super::pty::{Streams, USUAL};
use super::{Pty, has_spinner, mock, on_a_terminal, start};
use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

/// Long enough for the spinner to be drawn several times.
const WORK: &str = "[[tool:ls -l]] [[delay:700ms]] [[say:All is well.]]";

#[test]
fn text_is_shown_while_the_agent_still_works() {
    let desk = Desk::new();
    let mut pty = start(mock(&desk, "[[say:halfway there]] [[hang]]", &[]), USUAL);
    // The agent never ends by itself, so this is not the end.
    pty.wait_for("there");
    pty.send("\x03");
    assert_eq!(pty.close().status.code(), Some(130));
}

#[test]
fn the_screen_ends_with_tools_answer_and_the_exact_command_that_goes_on() {
    let desk = Desk::new();
    let closed = start(mock(&desk, WORK, &[]), USUAL).close();
    assert_eq!(closed.status.code(), Some(0));
    assert!(has_spinner(&closed.written), "{:?}", closed.written);
    let lines: Vec<&str> = closed.screen.lines().collect();
    let [tool, answer, closing] = lines[..] else {
        panic!("{}", closed.screen);
    };
    assert_eq!((tool, answer), ("✓ bash ls -l", "All is well."));
    assert!(closing.starts_with("mock · mock-1 · "), "{closing}");
    let (_, resume) = closing.rsplit_once("agentctl resume ").unwrap();
    let next = desk.shell(&format!("agentctl resume {resume} '[[recall]]'"));
    next.success().stdout(contains("[[tool:ls -l]]"));
}

#[test]
fn a_run_that_waits_its_turn_says_so() {
    let desk = Desk::new();
    let store = agentctl::session::Store::open(desk.path("state")).unwrap();
    let claim = store.claim_name("busy", agentctl::session::Wait::No).unwrap();
    let pty = start(mock(&desk, "[[say:my turn]]", &["--session", "busy"]), USUAL);
    pty.wait_for("waiting for another run of this conversation");
    drop(claim);
    pty.wait_for("my turn");
    assert_eq!(pty.close().status.code(), Some(0));
}

#[test]
fn the_spinner_tells_time_and_tool() {
    let desk = Desk::new();
    let steps = [
        r#"say {"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#,
        r#"say {"type":"turn.started"}"#,
        r#"say {"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"make everything","status":"in_progress"}}"#,
        "sleep 1000",
    ];
    let mut pty = start(super::fake_codex(&desk, &steps, &["-P", "edit"]), USUAL);
    pty.wait_for("codex · bash make everything");
    pty.wait_for(" 1s ");
    pty.send("\x03");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(130));
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
}

#[test]
fn the_spinner_tells_what_it_took_so_far() {
    let desk = Desk::new();
    // A recording as far as its tool call: one answer of the model is paid for.
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pi/text-around-tool/stdout");
    desk.script(
        "pi",
        &format!("#!/bin/sh\nsed '/tool_execution_start/q' '{recording}'\nexec sleep 1000\n"),
    );
    let args = ["run", "-b", "pi", "-P", "full", "--cli-path", "./pi", "hello"];
    let mut pty = start(on_a_terminal(&desk, &args), USUAL);
    pty.wait_for("pi · 26 tokens · $0.0001 · bash echo hi");
    pty.send("\x03");
    assert_eq!(pty.close().status.code(), Some(130));
}

/// What is expected of the display.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    colored: bool,
    spinner: bool,
    closing_line: bool,
}

#[test]
fn everybody_gets_as_much_display_as_they_want() {
    let all = Seen {
        colored: true,
        spinner: true,
        closing_line: true,
    };
    let plain = Seen { colored: false, ..all };
    let none = || Seen {
        colored: false,
        spinner: false,
        closing_line: false,
    };
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a Seen);
    let cases: [Case<'_>; 12] = [
        (&[], &[], &all),
        (&[("NO_COLOR", "1")], &[], &plain),
        (&[("NO_COLOR", "")], &[], &all),
        (&[("CLICOLOR_FORCE", "1")], &[], &all),
        (&[("CLICOLOR", "0")], &[], &plain),
        (&[("NO_COLOR", "1")], &["--color", "always"], &all),
        (&[("CLICOLOR_FORCE", "1")], &["--color", "never"], &plain),
        (&[], &["--no-progress"], &none()),
        (&[("TERM", "dumb")], &[], &none()),
        (&[("TERM", "")], &[], &none()),
        (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], &[], &none()),
        (&[], &["--quiet"], &none()),
    ];
    for (env, args, expected) in cases {
        let desk = Desk::new();
        let mut command = mock(&desk, WORK, args);
        command.envs(env.iter().copied());
        let closed = start(command, USUAL).close();
        let seen = Seen {
            colored: closed.written.contains("\x1b[2m"),
            spinner: has_spinner(&closed.written),
            closing_line: closed.screen.contains("agentctl resume "),
        };
        assert_eq!(seen, *expected, "{env:?} {args:?}: {:?}", closed.written);
        assert!(closed.screen.contains("All is well."), "{}", closed.screen);
        assert!(!has_spinner(&closed.screen), "{env:?} {args:?}: {}", closed.screen);
        if *expected == none() {
            assert!(!closed.written.contains('\x1b'), "{:?}", closed.written);
        }
    }
}

#[test]
fn a_quiet_run_says_nothing_but_its_answer_and_errors() {
    let desk = Desk::new();
    let prompt = format!("[[retry:1]] {WORK}");
    let closed = start(mock(&desk, &prompt, &["--quiet"]), USUAL).close();
    assert_eq!(closed.written, "All is well.\r\n");
    let failed = start(mock(&desk, "[[error:auth]]", &["--quiet"]), USUAL).close();
    assert!(failed.screen.contains("error: "), "{}", failed.screen);
}

#[test]
fn an_answer_in_a_pipe_leaves_the_spinner_on_the_terminal() {
    let desk = Desk::new();
    let closed = Pty::start_on(mock(&desk, WORK, &[]), USUAL, Streams::AllButOutput).close();
    assert!(has_spinner(&closed.written));
    assert!(!closed.screen.contains("All is well."), "{}", closed.screen);
    assert!(closed.screen.contains("agentctl resume "), "{}", closed.screen);
}

#[test]
fn in_a_pipe_there_is_nothing_but_the_answer() {
    let desk = Desk::new();
    let mut command = mock(&desk, WORK, &[]);
    let ended = command.env("CLICOLOR_FORCE", "1").assert();
    ended.stdout("All is well.\n").stderr("");
}

#[test]
fn a_narrow_window_gets_no_leftovers_of_the_spinner() {
    let desk = Desk::new();
    let prompt = "[[tool:a command that is a good deal longer than the window]] [[delay:700ms]] [[say:fine]]";
    let closed = start(mock(&desk, prompt, &[]), (24, 20)).close();
    assert!(has_spinner(&closed.written));
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
    assert!(closed.screen.contains("\nfine\n"), "{}", closed.screen);
    let joined = closed.screen.replace('\n', "");
    assert!(joined.contains("agentctl resume "), "{}", closed.screen);
}

#[test]
fn a_window_that_shrinks_and_grows_during_a_run_is_followed() {
    let desk = Desk::new();
    let steps = [
        r#"say {"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#,
        r#"say {"type":"turn.started"}"#,
        r#"say {"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"find everything","status":"in_progress"}}"#,
        "sleep 1000",
    ];
    let mut pty = start(super::fake_codex(&desk, &steps, &["-P", "edit"]), (24, 80));
    pty.wait_for("bash find everything");
    pty.resize((24, 20));
    // In the wide window there is nothing to be cut.
    pty.wait_for("…");
    let written = pty.written();
    let frame = written.split('…').next().unwrap().rsplit(super::FRAMES).next().unwrap();
    assert!(frame.contains("codex · b") && frame.chars().count() < 20, "{frame:?}");
    let whole = pty.written().matches("find everything").count();
    pty.resize((24, 80));
    pty.wait_for_times("find everything", whole + 1);
    pty.send("\x03");
    let closed = pty.close();
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
}

/// What Pi says of a tool call that begins.
fn begun(id: &str, command: &str) -> String {
    format!(
        r#"{{"type":"tool_execution_start","toolCallId":"{id}","toolName":"bash","args":{{"command":"{command}"}}}}"#
    )
}

/// A Pi that says this and never ends.
fn endless_pi(desk: &Desk, lines: &[String]) -> Vec<&'static str> {
    let session = r#"{"type":"session","id":"01a1ec16-4689-70f6-a48a-938cdaa9380c"}"#;
    desk.file("lines", &format!("{session}\n{}\n", lines.join("\n")));
    desk.script("pi", "#!/bin/sh\ncat lines\nexec sleep 1000\n");
    vec!["run", "-b", "pi", "-P", "full", "--cli-path", "./pi", "hello"]
}

#[test]
fn of_tools_at_the_same_time_one_that_is_still_at_work_is_shown() {
    let desk = Desk::new();
    let ended = r#"{"type":"tool_execution_end","toolCallId":"short","toolName":"bash","result":{"content":[]},"isError":false}"#;
    let lines = [begun("long", "make everything"), begun("short", "ls"), ended.to_owned()];
    let args = endless_pi(&desk, &lines);
    let mut pty = start(on_a_terminal(&desk, &args), USUAL);
    pty.wait_for("✓ bash ls");
    pty.wait_for("pi · bash make everything");
    pty.send("\x03");
    assert_eq!(pty.close().status.code(), Some(130));
}

#[test]
fn the_cursor_rests_at_the_beginning_of_the_spinner_so_that_no_new_width_leaves_a_part_of_it() {
    let desk = Desk::new();
    let args = endless_pi(&desk, &[begun("1", "a command that fits in this window")]);
    let mut pty = start(on_a_terminal(&desk, &args), (24, 80));
    pty.wait_for("fits in this window");
    // Where a terminal breaks the line anew, the cursor stays in the first of its rows.
    let parser = pty.parsed();
    let (_, column) = parser.screen().cursor_position();
    assert!(column < 2, "{column}: {}", parser.screen().contents());
    for width in [5, 4, 3, 2, 1] {
        let cut = pty.written().matches('…').count();
        pty.resize((24, width));
        pty.wait_for_times("…", cut + 1);
    }
    pty.send("\x03");
    let closed = pty.close();
    assert!(!has_spinner(&closed.screen), "{}", closed.screen);
}

#[test]
fn a_line_that_the_display_has_ended_is_not_ended_again() {
    let desk = Desk::new();
    for (prompt, args) in [
        ("[[say:I look]] [[tool:ls]] [[exit:1]]", &[][..]),
        ("[[say:I look]] [[retry:1]]", &[]),
        ("[[say:I look]]", &["--verbose"]),
    ] {
        let closed = start(mock(&desk, prompt, args), (60, 200)).close();
        let blank = closed.written.replace("\r\x1b[J", "").contains("\n\r\n");
        assert!(!blank, "{prompt}: {:?}", closed.written);
    }
}

#[test]
fn an_agent_whose_rights_nobody_chose_is_announced_once() {
    const NOTE: &str = "full rights";
    let steps = [
        crate::supervise::binary::SESSION,
        crate::supervise::binary::TURN,
        crate::supervise::binary::ANSWER,
        crate::supervise::binary::END,
    ];
    let desk = Desk::new();
    let times = |args: &[&str]| {
        let closed = start(super::fake_codex(&desk, &steps, args), USUAL).close();
        assert_eq!(closed.status.code(), Some(0), "{}", closed.screen);
        closed.screen.matches(NOTE).count()
    };
    assert_eq!(times(&["-P", "edit"]), 0, "somebody chose");
    assert_eq!(times(&["-P", "full"]), 0, "somebody chose");
    assert_eq!(times(&["--quiet"]), 0, "nobody wants to know");
    desk.file(".agentctl.toml", "permission = \"edit\"\n");
    assert_eq!(times(&[]), 0, "the project lowers them");
    desk.file(".agentctl.toml", "permission = \"full\"\n");
    assert_eq!(times(&[]), 1, "a project chooses for nobody");
    assert_eq!(times(&[]), 0, "it has been said");
    let pretended = start(mock(&Desk::new(), "hello", &[]), USUAL).close();
    assert!(!pretended.screen.contains(NOTE), "{}", pretended.screen);
    let piped = super::fake_codex(&Desk::new(), &steps, &[]).assert();
    piped.stderr(contains(NOTE).not());
}

#[test]
fn help_is_coloured_for_a_person_only() {
    let desk = Desk::new();
    let closed = start(on_a_terminal(&desk, &["run", "--help"]), USUAL).close();
    assert!(closed.written.contains("\x1b["), "{:?}", closed.written);
    let mut command = on_a_terminal(&desk, &["run", "--help"]);
    command.env("NO_COLOR", "1");
    assert!(!start(command, USUAL).close().written.contains('\x1b'));
    assert!(!desk.run(["run", "--help"]).out().contains('\x1b'));
}

#[test]
fn errors_are_coloured_by_one_rule_before_and_after_a_run() {
    const RED: &str = "\x1b[31;1merror:\x1b[0m ";
    let desk = Desk::new();
    desk.file("config", "[defaults]\ncolor = \"always\"\n");
    for args in [
        &["run", "-b", "nobody", "x"][..],
        &["run", "-b", "mock", "[[error:auth]]"],
        &["resume", "nothing-here", "x"],
    ] {
        let piped = |more: &[&str], variable: (&str, &str)| {
            let mut command = desk.agentctl(args.iter().chain(more));
            command.env(variable.0, variable.1).assert().err()
        };
        assert!(piped(&["--color", "always"], ("A", "")).contains(RED), "{args:?}");
        assert!(piped(&[], ("CLICOLOR_FORCE", "1")).contains(RED), "{args:?}");
        assert!(!piped(&["--color", "never"], ("CLICOLOR_FORCE", "1")).contains('\x1b'));
        assert!(!piped(&[], ("A", "")).contains('\x1b'));
        let closed = start(on_a_terminal(&desk, args), USUAL).close();
        assert!(closed.written.contains(RED), "{args:?}: {:?}", closed.written);
    }
    let mut configured = desk.agentctl(["run", "-b", "mock", "[[error:auth]]"]);
    let ended = configured.env("AGENTCTL_CONFIG", desk.path("project/config")).assert();
    ended.stderr(contains(RED));
    let mut other = desk.agentctl(["doctor", "nobody"]);
    other.env("CLICOLOR_FORCE", "1").assert().stderr(contains(RED));
}

#[test]
fn what_verbose_shows_comes_after_the_answer_so_far_and_on_lines_of_its_own() {
    let desk = Desk::new();
    let prompt = "[[say:I will look at the files.]] [[tool:ls]] [[delay:300ms]] [[say:Done now.]]";
    for _ in 0..5 {
        let closed = start(mock(&desk, prompt, &["-v"]), (60, 200)).close();
        let lines = closed.screen.lines().map(str::trim_end);
        // Each piece of the answer comes between the raw lines that it came with.
        let said: Vec<&str> = lines.filter(|line| !line.starts_with(['<', '+', '✓'])).collect();
        let said = said.join(" ");
        assert!(
            said.starts_with("I will look at the files. Done now. mock · "),
            "{}",
            closed.screen
        );
    }
}

#[test]
fn json_on_a_terminal_is_whole_lines() {
    let desk = Desk::new();
    for format in ["json", "stream-json"] {
        let closed = start(mock(&desk, WORK, &["-o", format]), (60, 4000)).close();
        let mut objects = 0;
        for line in closed.screen.lines().map(str::trim_end) {
            assert!(!line.is_empty(), "{format}: {}", closed.screen);
            if line.starts_with('{') {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
                objects += 1;
            } else {
                assert!(!line.contains('{'), "{format}: {}", closed.screen);
            }
        }
        assert!(objects > 0, "{format}: {}", closed.screen);
        assert_eq!(has_spinner(&closed.written), format == "json", "{format}");
    }
}

#[test]
fn an_argument_with_wide_characters_takes_one_line() {
    let desk = Desk::new();
    let wide = "日本語".repeat(18);
    let prompt = format!("[[tool:echo {wide}]] [[delay:1s]] [[say:done]]");
    let closed = start(mock(&desk, &prompt, &[]), (24, 60)).close();
    let lines: Vec<&str> = closed
        .screen
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let spun = lines.iter().filter(|line| line.contains("s mock ·")).count();
    assert_eq!(spun, 0, "nothing of the spinner is left: {}", closed.screen);
}

#[test]
fn what_a_pipe_brings_back_to_the_terminal_is_not_mixed_with_the_spinner() {
    let desk = Desk::new();
    let prompt =
        "[[tool:ls]] [[delay:400ms]] [[say:I have looked.]] [[delay:400ms]] [[tool:pwd]] [[delay:400ms]] [[say:Done.]]";
    for (line, wanted) in [
        (
            format!("agentctl run -b mock '{prompt}' | cat"),
            &["✓ bash ls", "I have looked.", "✓ bash pwd", "Done."][..],
        ),
        (
            format!("agentctl run -b mock -o json '{prompt}' | jq -c .backend"),
            &["✓ bash ls", "✓ bash pwd", "\"mock\""],
        ),
    ] {
        let mut command = desk.program("/bin/sh");
        command.args(["-c", &line]).env("TERM", "xterm");
        let closed = start(command, (24, 200)).close();
        assert!(has_spinner(&closed.written), "{line}");
        // When the reader shows the end of it, before or after the closing line, is the reader's affair.
        for wanted in wanted {
            let shown = closed.screen.lines().any(|line| line.starts_with(wanted));
            assert!(shown, "{wanted}: {}", closed.screen);
        }
        let spun = closed.screen.lines().any(|line| line.contains("s mock ·"));
        assert!(!spun, "{}", closed.screen);
    }
}
