//! `agentctl run` as a script sees it: selection, exit codes, formats, recordings. Only the mock agent and small
//! shell scripts in the place of a CLI.

use std::path::Path;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use assert_cmd::cargo::cargo_bin;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::desk::{Desk, Ended as _, RUN};

/// What is wrong, as JSON tells it.
fn kind(ended: &Assert) -> String {
    ended.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_value_that_cannot_be_used_is_told_with_its_origin() {
    let desk = Desk::new();
    desk.file(
        "config.toml",
        "[defaults]\nidle_timeout = \"soon\"\nadd_dirs = [\"gone\"]\n",
    );
    let file = [("AGENTCTL_CONFIG", "config.toml")];
    for (arguments, variables, told) in [
        (&["--timeout", "soon"][..], &[][..], "error: --timeout: "),
        (
            &[],
            &[("AGENTCTL_TIMEOUT", "soon")],
            "error: `timeout` (environment AGENTCTL_TIMEOUT): ",
        ),
        (
            &["--add-dir", "."],
            &file,
            "error: `idle_timeout` (config.toml [defaults]): ",
        ),
        (
            &["--idle-timeout", "1m"],
            &file,
            "error: `add_dirs` (config.toml [defaults]) ",
        ),
        (
            &["--idle-timeout", "1m", "--add-dir", "lost"],
            &file,
            "error: --add-dir ",
        ),
    ] {
        let mut command = desk.agentctl(["run", "-b", "mock", "hello"]);
        command.args(arguments).envs(variables.iter().copied());
        command.assert().code(2).stderr(contains(told));
    }
}

#[cfg(unix)]
#[test]
fn a_current_directory_that_is_gone_is_not_blamed_on_a_flag() {
    let desk = Desk::new();
    let gone = desk.path("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut command = desk.program("/bin/sh");
    command.args(["-c", "rmdir . ../gone; exec agentctl run -b mock hello"]);
    let ended = command.current_dir(gone).assert().code(2);
    ended.stderr(contains("the current directory cannot be worked in").and(contains("--cwd .").not()));
}

#[test]
fn the_mock_agent_is_there_whatever_agentctl_is_called() {
    let desk = Desk::new();
    let other = desk.path("agents-0.1");
    std::fs::copy(cargo_bin!("agentctl"), &other).unwrap();
    let mut command = desk.program(&other);
    command
        .args(["run", "-b", "mock", "hello"])
        .env("PATH", "/usr/bin:/bin");
    command.assert().success().stdout("hello\n");
}

#[test]
fn the_mock_agent_answers_on_a_machine_with_nothing_installed() {
    let ended = Desk::new().run(["run", "-b", "mock", "hello"]);
    ended.code(0).stdout("hello\n").stderr("");
}

#[test]
fn an_unknown_backend_is_a_usage_error_that_lists_the_valid_ones() {
    let desk = Desk::new();
    let mut by_variable = desk.agentctl(["run", "hi"]);
    by_variable.env("AGENT_BACKEND", "clade");
    for mut command in [desk.agentctl(["run", "-b", "clade", "hi"]), by_variable] {
        let mut ended = command.assert().code(2);
        for name in ["claude", "codex", "gemini", "opencode", "pi", "mock"] {
            ended = ended.stderr(contains(name));
        }
        ended.stderr(contains("did you mean `claude`?"));
    }
}

#[test]
fn the_default_backend_is_claude_and_a_missing_cli_is_exit_3_with_the_install_command() {
    let ended = Desk::new().run(["run", "-o", "json", "hi"]).code(3);
    assert_eq!(kind(&ended), "not_installed");
    ended.stderr(contains("Claude").and(contains("npm install")));
}

#[cfg(unix)]
#[test]
fn a_path_that_cannot_be_run_is_exit_3_with_the_path() {
    let desk = Desk::new();
    for (path, why, hint) in [
        (
            desk.file("plain", "no program"),
            "not executable",
            "AGENTCTL_CODEX_PATH",
        ),
        (desk.file("script", "#!/bin/sh\n"), "not executable", "chmod +x "),
        (desk.path("none"), "nothing at", "AGENTCTL_CODEX_PATH"),
        (desk.path("."), "directory", "[backends.codex]"),
    ] {
        let mut command = desk.agentctl(["run", "-b", "codex", "-o", "json", "hi"]);
        let ended = command.env("BACKEND_CLI_PATH", &path).assert().code(3);
        ended.stderr(contains(why).and(contains("Codex")).and(contains(hint)));
    }
}

#[cfg(unix)]
#[test]
fn a_cli_that_dies_without_a_word_is_told_with_its_code_and_stderr() {
    let desk = Desk::new();
    for (backend, name) in [
        ("claude", "Claude"),
        ("codex", "Codex"),
        ("gemini", "Gemini"),
        ("opencode", "OpenCode"),
        ("pi", "Pi"),
    ] {
        for (body, said) in [
            ("echo the disk is on fire >&2; exit 9", "the disk is on fire"),
            ("exit 9", "unknown error"),
        ] {
            let cli = desk.script("cli", &format!("#!/bin/sh\n{body}\n"));
            let mut command = desk.agentctl(["run", "-b", backend, "-o", "json", "hi", "--cli-path"]);
            let result = command.arg(cli).assert().code(1).json();
            assert_eq!(result["responseText"], format!("{name} CLI error (exit 9): {said}"));
            assert_eq!(
                (&result["isError"], &result["error"]["kind"]),
                (&true.into(), &"crashed".into())
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn an_empty_answer_and_a_silent_success_are_no_success() {
    let desk = Desk::new();
    let cli = desk.script("cli", "#!/bin/sh\ntrue\n");
    let mut command = desk.agentctl(["run", "-b", "pi", "-o", "json", "hi", "--cli-path"]);
    assert_eq!(command.arg(cli).assert().code(9).json()["isError"], true);
    let ended = desk.agentctl(RUN).arg("[[empty]]").assert();
    assert_eq!(kind(&ended.code(1)), "agent");
}

#[test]
fn every_kind_of_failure_has_its_exit_code() {
    let desk = Desk::new();
    for (wanted, code) in [
        ("auth", 4),
        ("rate_limit", 5),
        ("overloaded", 5),
        ("network", 1),
        ("context_length", 1),
        ("invalid_request", 1),
        ("turn_limit", 6),
        ("permission_denied", 8),
        ("agent", 1),
    ] {
        let ended = desk.agentctl(RUN).arg(format!("[[error:{wanted}]]")).assert();
        assert_eq!(kind(&ended.code(code)), wanted);
    }
}

#[test]
fn a_failure_that_the_mock_agent_does_not_know_is_told_with_those_it_knows() {
    let ended = Desk::new().run(["run", "-b", "mock", "[[error:rate-limit]]"]).code(1);
    ended.stderr(contains("knows no error `rate-limit`").and(contains("rate_limit")));
}

#[test]
fn the_three_formats_tell_the_same() {
    let desk = Desk::new();
    let prompt = "[[think:hm]] [[tool:ls]] [[say:two words]]";
    desk.run(["run", "-b", "mock", prompt]).stdout("two words\n");
    let result = desk.agentctl(RUN).arg(prompt).assert().json();
    assert_eq!(result["responseText"], "two words");
    let stream = desk.run(["run", "-b", "mock", "-o", "stream-json", prompt]).out();
    let types: Vec<String> = stream
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        types,
        [
            "session",
            "thinking",
            "tool_start",
            "tool_end",
            "text",
            "text",
            "usage",
            "result"
        ]
    );
}

#[test]
fn raw_events_come_with_every_line_of_the_cli() {
    let run = ["run", "-b", "mock", "-o", "stream-json", "--raw-events", "hi"];
    let told = Desk::new().run(run).out();
    let raw = told.lines().filter(|line| line.starts_with("{\"type\":\"raw\""));
    assert_eq!(raw.count(), 4, "init, turn, text, done: {told}");
}

#[test]
fn markers_are_found_over_chunks_and_media_is_taken_out() {
    let desk = Desk::new();
    let result = |args: &[&str]| desk.agentctl(RUN).args(args).assert().json();
    let found = |args: &[&str]| result(args)["markerDetected"].clone();
    assert_eq!(found(&["[[say:all ORCHESTRA_]] [[say:COMPLETE]]", "--marker"]), true);
    assert_eq!(found(&["[[say:not yet]]", "--marker"]), false);
    assert_eq!(found(&["[[say:it is DONE now]]", "--marker=IS DONE"]), false);
    assert_eq!(found(&["[[say:it is DONE now]]", "--marker=is DONE"]), true);
    assert_eq!(found(&["hello"]), serde_json::Value::Null);
    let media = result(&["--media", "[[say:See MEDIA:/tmp/a.png now]]"]);
    assert_eq!(
        (&media["responseText"], &media["media"]),
        (&"See now".into(), &serde_json::json!(["/tmp/a.png"]))
    );
}

#[test]
fn a_recording_plays_back_the_same_events_offline() {
    let desk = Desk::new();
    let prompt = "[[think:hm]] [[tool:ls]] [[say:done]]";
    let run = |args: &[&str]| {
        let mut command = desk.agentctl(["run", "-b", "mock", "-o", "stream-json"]);
        command.args(args).assert()
    };
    let events = |ended: &Assert| {
        let told = ended.out();
        let events = told.lines();
        let events = events.filter(|line| line.contains("tool_") || line.contains("\"text\""));
        events.map(str::to_owned).collect::<Vec<_>>()
    };
    let file = desk.path("recording").display().to_string();
    let recorded = run(&["--record", &file, prompt]);
    let played = run(&["--option", &format!("transcript={file}"), "anything"]);
    assert_eq!(events(&played.code(0)), events(&recorded));
}

#[test]
fn the_raw_output_of_a_cli_plays_with_its_dialect() {
    let desk = Desk::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex");
    let case = std::fs::read_dir(&fixtures)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.ends_with("plain-json"))
        .unwrap();
    let transcript = format!("transcript={}", case.join("stdout").display());
    let play = || {
        let mut command = desk.agentctl(RUN);
        command.args(["--option", &transcript, "x"]);
        command
    };
    let result = play().args(["--option", "dialect=codex"]).assert().code(0).json();
    assert_eq!(result["responseText"], "Hi there");
    play().assert().code(1).stderr(contains("dialect=NAME"));
}

#[test]
fn what_the_backend_cannot_do_is_a_warning_and_with_strict_an_error() {
    let desk = Desk::new();
    desk.file("mcp.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#);
    let run = |args: &[&str]| {
        let mut command = desk.agentctl(RUN);
        command.args(["--mcp-config", "mcp.json", "hi"]).args(args).assert()
    };
    let lenient = run(&[]).code(0);
    let warnings = lenient.json()["warnings"].clone();
    assert!(warnings[0].as_str().unwrap().contains("--mcp-config"));
    lenient.stderr(contains("warning: Mock cannot honour --mcp-config"));
    assert_eq!(kind(&run(&["--strict"]).code(2)), "usage");
}

#[test]
fn wrong_values_are_usage_errors_that_name_what_is_wrong() {
    let desk = Desk::new();
    for (args, said) in [
        (&["run", "-b", "mock", "-P", "ask", "hi"][..], "reserved"),
        (&["run", "-b", "mock", "-P", "root", "hi"], "read-only"),
        (&["run", "-b", "mock", "-t", "soon", "hi"], "--timeout"),
        (&["run", "-b", "mock", "-C", "no/such/place", "hi"], "no/such/place"),
        (&["run", "-b", "mock", "-e", "novalue", "hi"], "--env"),
        (&["run", "-b", "mock", "--option", "paec=1", "hi"], "pace"),
        (&["run", "-b", "mock", "--attach", "none.png", "hi"], "none.png"),
        (&["run", "-b", "mock", "--schema", "none.json", "hi"], "none.json"),
        (&["run", "-b", "mock", "--profile", "none", "hi"], "none"),
        (&["run", "-b", "mock", "   "], "no prompt"),
        (&["run", "-b", "mock", "--marker=", "hi"], "--marker"),
        (&["run", "-b", "mock", "--wait=soon", "hi"], "--wait"),
        (&["run", "-b", "mock", "--wait=soon", "--dry-run", "hi"], "--wait"),
        (&["resume", "hi"], "hi"),
    ] {
        desk.run(args).code(&[2, 7][..]).stderr(contains(said));
    }
}

#[test]
fn environment_and_flags_choose_model_turns_and_tools() {
    let desk = Desk::new();
    let mut command = desk.agentctl(["run", "-o", "json", "[[tool:ls]] [[loop]]"]);
    command
        .env("AGENT_BACKEND", "mock")
        .env("BACKEND_MODEL", "small")
        .env("BACKEND_MAX_TURNS", "2")
        .env("ALLOWED_TOOLS", "read,write");
    let told = command.assert().code(6).json();
    assert_eq!((&told["model"], &told["turns"]), (&"small".into(), &2.into()));
    assert_eq!(told["deniedTools"][0]["kind"], "bash");
    let mut command = desk.agentctl(["run", "-m", "large", "-o", "json", "hi"]);
    command.env("AGENT_BACKEND", "mock").env("BACKEND_MODEL", "small");
    assert_eq!(command.assert().json()["model"], "large");
}

#[test]
fn a_tool_rule_that_would_not_hold_is_refused() {
    let desk = Desk::new();
    for rule in ["bsh", "bash(ls)", "", " "] {
        for flag in ["--deny-tool", "--allow-tool"] {
            desk.run(["run", "-b", "mock", flag, rule, "[[tool:ls]]"])
                .code(2)
                .stderr(contains("hint: "));
        }
    }
}

#[test]
fn a_list_of_tools_narrows_a_level_and_adds_nothing_to_it() {
    let desk = Desk::new();
    let typed = [
        "run",
        "-b",
        "mock",
        "-P",
        "read-only",
        "--allow-tool",
        "bash",
        "[[tool:ls]]",
    ];
    desk.run(typed).code(2).stderr(contains("only limits a level"));

    let with = |tools: &str, project: &str| {
        desk.file(".agentctl.toml", project);
        let mut command = desk.agentctl(["run", "-b", "mock", "-o", "json", "[[tool:ls]] [[write:x]] [[read:y]]"]);
        command.env("ALLOWED_TOOLS", tools).assert()
    };
    let told = with("bash,write,read", "permission = \"edit\"").json();
    assert_eq!(told["deniedTools"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(told["deniedTools"][0]["kind"], "bash");
    let warning = told["warnings"][0].as_str().unwrap_or_default();
    assert!(
        warning.starts_with("bash of environment ALLOWED_TOOLS is left out"),
        "{warning}"
    );

    with("bash", "permission = \"read-only\"").stderr(contains("no tool is left"));
    for nothing in [",", " , "] {
        with(nothing, "").code(2).stderr(contains("names no tool"));
    }
}

#[test]
fn a_program_in_rust_gets_no_more_than_the_level_either() {
    use agentctl::agent::{Agent, Prompt};
    let desk = Desk::new();
    let agent = Agent::new("mock")
        .unwrap()
        .cli_path(cargo_bin!("agentctl"))
        .env("AGENTCTL_STATE_DIR", desk.path("state"));
    let prompt = Prompt::new("[[tool:ls]]").with(|request| {
        request.permission = agentctl::request::Permission::ReadOnly;
        request.allow_tools = vec!["bash".to_owned().into()];
    });
    let result = agent.execute(prompt, |_| {});
    let kind = result.error.map(|error| error.kind);
    assert_eq!(kind, Some(agentctl::error::ErrorKind::Usage));
}

#[test]
fn typed_paths_are_relative_to_where_the_user_is() {
    let desk = Desk::new();
    let project = desk.path("project");
    let elsewhere = project.join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("more")).unwrap();
    std::fs::create_dir(project.join("more")).unwrap();
    desk.file("system.md", "from here");
    desk.file("elsewhere/system.md", "from elsewhere");
    desk.file("schema.json", r#"{"type":"string"}"#);
    desk.file("note.txt", "x");
    let told = |args: &[&str]| {
        let mut command = desk.agentctl(args);
        let result = command.args(["-o", "json"]).assert().json();
        result["responseText"].as_str().unwrap_or_default().to_owned()
    };
    let begin = ["run", "-b", "mock", "-C", "elsewhere", "--session", "s"];
    let files = [
        "--system-file",
        "system.md",
        "--attach",
        "note.txt",
        "--add-dir",
        "more",
    ];
    assert_eq!(told(&[&begin[..], &files, &["[[system]]"]].concat()), "from here");
    // A conversation that goes on in its own directory reads the user's files all the same.
    let go_on = ["run", "--session", "s", "--system-file", "system.md", "[[system]]"];
    assert_eq!(told(&go_on), "from here");
    let schema = ["run", "--session", "s", "--schema", "schema.json", r#"[[say:"a"]]"#];
    assert_eq!(told(&schema), r#""a""#);
    let wanted = project.canonicalize().unwrap().join("none.json");
    let mcp = [
        "run",
        "-b",
        "mock",
        "-C",
        "elsewhere",
        "--dry-run",
        "--mcp-config",
        "none.json",
        "x",
    ];
    desk.run(mcp).stderr(contains(wanted.to_str().unwrap()));
}

#[test]
fn with_a_schema_text_is_the_json_alone() {
    let desk = Desk::new();
    desk.file("schema.json", r#"{"type":"object"}"#);
    for (said, shown) in [
        ("```json\n{\"a\": 1}\n```", "{\"a\":1}\n"),
        ("Here it is: {\"a\": 1}. Done.", "{\"a\":1}\n"),
        ("{\"a\":  1}", "{\"a\":  1}\n"),
    ] {
        let prompt = format!("[[say:{said}]]");
        desk.run(["run", "-b", "mock", "--schema", "schema.json", &prompt])
            .success()
            .stdout(shown);
    }
}

#[test]
fn the_library_runs_an_agent_and_goes_on_with_the_conversation() {
    use agentctl::agent::{Agent, Prompt};
    let desk = Desk::new();
    let agent = Agent::new("mock")
        .unwrap()
        .cli_path(cargo_bin!("agentctl"))
        .env("AGENTCTL_STATE_DIR", desk.path("state"));
    assert_eq!(agent.name(), "mock");
    assert_eq!(agent.validate().unwrap(), cargo_bin!("agentctl"));
    let mut heard = String::new();
    let first = agent.execute(Prompt::new("[[system]]").system("be brief"), |event| {
        if let agentctl::event::Event::Text { text } = event {
            heard.push_str(text);
        }
    });
    assert_eq!(
        (first.response_text.as_str(), heard.as_str(), first.is_error),
        ("be brief", "be brief", false)
    );
    let second = agent.execute(Prompt::new("[[recall]]").session(&first.session_id), |_| {});
    assert_eq!(second.response_text, "[[system]] | [[recall]]");
    assert_eq!(second.resumed, agentctl::event::Resumed::Resumed);
    let missing = Agent::new("codex").unwrap().cli_path("/nonexistent/codex");
    assert!(missing.validate().is_err());
    assert!(missing.execute(Prompt::new("hi"), |_| {}).is_error);
}

#[test]
fn nobody_is_told_to_resume_what_was_not_kept() {
    for (kept, is_told) in [(&[][..], true), (&["--ephemeral"], false)] {
        let desk = Desk::new();
        let mut command = desk.agentctl(RUN);
        command.args(kept).args(["-t", "200ms", "[[say:so far]] [[hang]]"]);
        let ended = command.assert().code(124);
        let hint = ended.json()["error"]["hint"].to_string();
        assert_eq!(hint.contains("can be resumed"), is_told, "{kept:?}: {hint}");
    }
}

#[test]
fn a_run_that_is_not_kept_is_not_said_to_be_resumable() {
    let desk = Desk::new();
    for (more, resumable) in [(&[][..], true), (&["--ephemeral"], false)] {
        let mut command = desk.agentctl(RUN);
        let result = command
            .args(["--max-turns", "2", "[[loop]]"])
            .args(more)
            .assert()
            .code(6)
            .json();
        let hint = result["error"]["hint"].as_str().unwrap_or_default().to_owned();
        assert!(hint.contains("--max-turns"), "{hint}");
        assert_eq!(hint.contains("resume"), resumable, "{hint}");
    }
}

#[test]
fn an_empty_name_is_told_as_what_it_is() {
    let desk = Desk::new();
    for args in [
        &["run", "-b", "", "hi"][..],
        &["run", "-b", "mock", "--profile", "", "hi"],
        &["resume", "", "hi"],
        &["sessions", "show", ""],
    ] {
        let ended = desk.run(args).code(2);
        ended.stderr(contains("is empty").and(contains("is a variable not set?")));
    }
}

#[test]
fn a_value_that_a_mock_option_cannot_have_is_a_usage_error() {
    let desk = Desk::new();
    for (option, hint) in [
        ("dialect=cluade", "claude, codex"),
        ("pace=x", "a number"),
        ("pace=-1", "a number"),
    ] {
        let ended = desk.run(["run", "-b", "mock", "--option", option, "hi"]).code(2);
        ended.stderr(contains(option).and(contains(hint)));
    }
}

#[test]
fn a_program_that_is_named_and_not_there_is_not_to_be_installed() {
    let desk = Desk::new();
    for backend in ["mock", "claude"] {
        let ended = desk
            .run(["run", "-b", backend, "--cli-path", "/nowhere/agent", "hi"])
            .code(3);
        ended.stderr(contains("--cli-path").and(contains("install").not()));
    }
}

#[test]
fn nothing_is_kept_of_a_run_that_keeps_nothing() {
    let desk = Desk::new();
    let ended = desk
        .run(["run", "-b", "mock", "--ephemeral", "--keep-transcript", "hi"])
        .code(2);
    ended.stderr(contains("--keep-transcript").and(contains("--ephemeral")));
}

#[test]
fn an_error_in_the_command_line_heeds_the_colour_that_was_asked_for_there() {
    let desk = Desk::new();
    let told = |more: &[&str]| {
        let mut command = desk.agentctl(["run", "--bogus"]);
        let ended = command.args(more).env("CLICOLOR_FORCE", "1").assert().code(2);
        String::from_utf8_lossy(&ended.get_output().stderr).into_owned()
    };
    assert!(told(&[]).contains('\u{1b}'));
    for never in [&["--color", "never"][..], &["--color=never"]] {
        assert!(!told(never).contains('\u{1b}'), "{never:?}");
    }
}

#[test]
fn a_configuration_file_that_is_named_and_not_there_is_told() {
    let desk = Desk::new();
    let mut command = desk.agentctl(["run", "-b", "mock", "hi"]);
    let ended = command
        .env("AGENTCTL_CONFIG", "/nowhere/config.toml")
        .assert()
        .success();
    ended.stderr(contains("AGENTCTL_CONFIG names /nowhere/config.toml"));
}
