//! `agentctl run` as a script sees it: selection, exit codes, formats, dry runs, recordings. Only the mock agent and small
//! shell scripts in the place of a CLI.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory of its own, and agentctl in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn agentctl(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", "/usr/bin:/bin")
            .env("AGENTCTL_STATE_DIR", self.path("state"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.agentctl(args).output().unwrap()
    }

    /// A CLI that prints this and exits with this code.
    #[cfg(unix)]
    fn script(&self, body: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("cli");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The result: the last line of stdout.
fn result(output: &Output) -> serde_json::Value {
    let text = stdout(output);
    let line = text
        .lines()
        .last()
        .unwrap_or_else(|| panic!("no result; stderr: {}", stderr(output)));
    serde_json::from_str(line).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_value_that_cannot_be_used_is_told_with_its_origin() {
    let place = Place::new();
    std::fs::write(
        place.path("config.toml"),
        "[defaults]\nidle_timeout = \"soon\"\nadd_dirs = [\"gone\"]\n",
    )
    .unwrap();
    let refused = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.agentctl(&["run", "-b", "mock", "hello"]);
        let output = command
            .args(arguments)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert_eq!(code(&output), 2);
        stderr(&output)
    };
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
        let said = refused(arguments, variables);
        assert!(said.contains(told), "{told}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_current_directory_that_is_gone_is_not_blamed_on_a_flag() {
    let place = Place::new();
    std::fs::create_dir(place.path("gone")).unwrap();
    let script = format!(
        "rmdir . ../gone; exec {} run -b mock hello",
        env!("CARGO_BIN_EXE_agentctl")
    );
    let mut command = Command::new("/bin/sh");
    let output = command
        .args(["-c", &script])
        .current_dir(place.path("gone"))
        .output()
        .unwrap();
    assert_eq!(code(&output), 2);
    let said = stderr(&output);
    assert!(
        said.contains("the current directory cannot be worked in") && !said.contains("--cwd ."),
        "{said}"
    );
}

#[test]
fn the_mock_agent_answers_on_a_machine_with_nothing_installed() {
    let output = Place::new().run(&["run", "-b", "mock", "hello"]);
    assert_eq!(
        (code(&output), stdout(&output).as_str(), stderr(&output).as_str()),
        (0, "hello\n", "")
    );
}

#[test]
fn an_unknown_backend_is_a_usage_error_that_lists_the_valid_ones() {
    let place = Place::new();
    for output in [
        place.run(&["run", "-b", "clade", "hi"]),
        place
            .agentctl(&["run", "hi"])
            .env("AGENT_BACKEND", "clade")
            .output()
            .unwrap(),
    ] {
        assert_eq!(code(&output), 2);
        for name in ["claude", "codex", "gemini", "opencode", "pi", "mock"] {
            assert!(stderr(&output).contains(name), "{}", stderr(&output));
        }
        assert!(
            stderr(&output).contains("did you mean `claude`?"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn the_default_backend_is_claude_and_a_missing_cli_is_exit_3_with_the_install_command() {
    let output = Place::new().run(&["run", "-o", "json", "hi"]);
    assert_eq!(code(&output), 3);
    assert_eq!(result(&output)["error"]["kind"], "not_installed");
    assert!(
        stderr(&output).contains("Claude") && stderr(&output).contains("npm install"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn a_path_that_cannot_be_run_is_exit_3_with_the_path() {
    let place = Place::new();
    std::fs::write(place.path("plain"), "no program").unwrap();
    std::fs::write(place.path("script"), "#!/bin/sh\n").unwrap();
    for (path, why, hint) in [
        (place.path("plain"), "not executable", "AGENTCTL_CODEX_PATH"),
        (place.path("script"), "not executable", "chmod +x "),
        (place.path("none"), "nothing at", "AGENTCTL_CODEX_PATH"),
        (place.path("."), "directory", "[backends.codex]"),
    ] {
        let output = place
            .agentctl(&["run", "-b", "codex", "-o", "json", "hi"])
            .env("BACKEND_CLI_PATH", &path)
            .output()
            .unwrap();
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        assert!(
            stderr(&output).contains(why) && stderr(&output).contains("Codex"),
            "{}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_cli_that_dies_without_a_word_is_told_with_its_code_and_stderr() {
    let place = Place::new();
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
            let cli = place.script(body);
            let output = place.run(&["run", "-b", backend, "--cli-path", text(&cli), "-o", "json", "hi"]);
            let result = result(&output);
            assert_eq!(code(&output), 1, "{backend}: {}", stderr(&output));
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
    let place = Place::new();
    let cli = place.script("true");
    let output = place.run(&["run", "-b", "pi", "--cli-path", text(&cli), "-o", "json", "hi"]);
    assert_eq!((code(&output), &result(&output)["isError"]), (9, &true.into()));
    let output = place.run(&["run", "-b", "mock", "-o", "json", "[[empty]]"]);
    assert_eq!((code(&output), &result(&output)["error"]["kind"]), (1, &"agent".into()));
}

#[test]
fn every_kind_of_failure_has_its_exit_code() {
    let place = Place::new();
    let table = [
        ("auth", 4),
        ("rate_limit", 5),
        ("overloaded", 5),
        ("network", 1),
        ("context_length", 1),
        ("invalid_request", 1),
        ("turn_limit", 6),
        ("permission_denied", 8),
        ("agent", 1),
    ];
    for (kind, expected) in table {
        let output = place.run(&["run", "-b", "mock", "-o", "json", &format!("[[error:{kind}]]")]);
        assert_eq!(
            (code(&output), &result(&output)["error"]["kind"]),
            (expected, &kind.into())
        );
    }
}

#[test]
fn a_failure_that_the_mock_agent_does_not_know_is_told_with_those_it_knows() {
    let output = Place::new().run(&["run", "-b", "mock", "[[error:rate-limit]]"]);
    assert_eq!(code(&output), 1);
    let told = stderr(&output);
    assert!(
        told.contains("knows no error `rate-limit`") && told.contains("rate_limit"),
        "{told}"
    );
}

#[test]
fn the_three_formats_tell_the_same() {
    let place = Place::new();
    let prompt = "[[think:hm]] [[tool:ls]] [[say:two words]]";
    assert_eq!(stdout(&place.run(&["run", "-b", "mock", prompt])), "two words\n");
    assert_eq!(
        result(&place.run(&["run", "-b", "mock", "-o", "json", prompt]))["responseText"],
        "two words"
    );
    let stream = stdout(&place.run(&["run", "-b", "mock", "-o", "stream-json", prompt]));
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
fn a_dry_run_prints_a_command_and_spawns_nothing() {
    let place = Place::new();
    let output = place
        .agentctl(&[
            "run",
            "-b",
            "mock",
            "--dry-run",
            "-e",
            "API_KEY=sk-secret-value",
            "a 'prompt'",
        ])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0);
    assert!(
        stdout(&output).contains("__mock") && !stdout(&output).contains("sk-secret-value"),
        "{}",
        stdout(&output)
    );
    let output = place.run(&["run", "-b", "mock", "--dry-run", "-o", "json", "hello"]);
    let view = result(&output);
    assert_eq!(view["stdinBytes"], 5);
    assert!(view["argv"].as_array().unwrap().contains(&"__mock".into()));
    assert!(!place.path("state/sessions").exists(), "nothing is stored");
}

#[cfg(unix)]
#[test]
fn a_dry_run_can_be_typed_into_a_shell() {
    let place = Place::new();
    let cli = place.script("printf '%s|%s|%s' \"$1\" \"$MINE\" \"${GEMINI_SANDBOX-gone}\"");
    for backend in ["claude", "codex", "gemini", "opencode", "pi"] {
        let args = [
            "run",
            "-b",
            backend,
            "--dry-run",
            "-e",
            "MINE=a b",
            "-P",
            "read-only",
            "hi",
        ];
        let shown = place.agentctl(&args).env("BACKEND_CLI_PATH", &cli).output().unwrap();
        let line = stdout(&shown);
        assert_eq!(line.lines().count(), 1, "{line}");
        let mut shell = Command::new("/bin/sh");
        let typed = shell.args(["-c", &line]).stdin(Stdio::null()).output().unwrap();
        assert!(stdout(&typed).contains("|a b|"), "{line}: {typed:?}");
    }
}

#[cfg(unix)]
#[test]
fn neither_a_dry_run_nor_verbose_shows_what_servers_and_arguments_keep_secret() {
    let place = Place::new();
    let cli = place.script("exit 1");
    let servers = r#"{"mcpServers":{
        "a":{"command":"x","env":{"ANY":"in-\"env"},"args":["--token","in-server-args"]},
        "b":{"url":"https://host/?token=in-address","headers":{"Authorization":"Bearer in-header"}}}}"#;
    std::fs::write(place.path("mcp.json"), servers).unwrap();
    let declared =
        "[backends.own]\nprogram = \"own\"\ndialect = \"text\"\nargs = [\"--api-key\", \"in-declaration\"]\n";
    std::fs::write(place.path("config.toml"), declared).unwrap();
    for backend in ["claude", "codex", "gemini", "opencode", "pi", "own"] {
        for way in ["--dry-run", "--dry-run -o json", "-v"] {
            let mut args = vec!["run", "-b", backend, "--mcp-config", "mcp.json", "hi"];
            args.extend(way.split(' '));
            args.extend([
                "-e",
                "MY_TOKEN=in-variable",
                "--",
                "--api-key=in-argument",
                "--password",
                "in-next",
            ]);
            let mut command = place.agentctl(&args);
            command
                .env("BACKEND_CLI_PATH", &cli)
                .env("AGENTCTL_CONFIG", place.path("config.toml"));
            let configuration = r#"{"provider":{"x":{"options":{"apiKey":"in-configuration"}}}}"#;
            let output = command.env("OPENCODE_CONFIG_CONTENT", configuration).output().unwrap();
            let all = stdout(&output) + &stderr(&output);
            assert!(all.contains("***"), "{backend} {way}: {all}");
            for secret in [
                "env",
                "server-args",
                "address",
                "header",
                "declaration",
                "variable",
                "argument",
                "next",
                "configuration",
            ] {
                assert!(
                    !all.contains(&format!("in-{secret}")),
                    "{backend} {way}: {secret} in {all}"
                );
            }
            assert!(!all.contains("in-\\\"env"), "{backend} {way}: {all}");
        }
    }
}

#[test]
fn verbose_shows_the_command_and_raw_lines_without_secrets() {
    let place = Place::new();
    let mut command = place.agentctl(&["run", "-b", "mock", "-v", "[[say:key sk-secret-value end]]"]);
    let output = command.env("ANTHROPIC_API_KEY", "sk-secret-value").output().unwrap();
    assert!(
        stderr(&output).contains("+ cd ") && stderr(&output).contains("< {"),
        "{}",
        stderr(&output)
    );
    assert!(!stderr(&output).contains("sk-secret-value"), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("sk-secret-value"),
        "the answer is what the agent said"
    );
}

#[test]
fn raw_events_come_with_every_line_of_the_cli() {
    let output = Place::new().run(&["run", "-b", "mock", "-o", "stream-json", "--raw-events", "hi"]);
    let raw = stdout(&output)
        .lines()
        .filter(|line| line.starts_with("{\"type\":\"raw\""))
        .count();
    assert_eq!(raw, 4, "init, turn, text, done: {}", stdout(&output));
}

#[test]
fn markers_are_found_over_chunks_and_media_is_taken_out() {
    let place = Place::new();
    let found = |args: &[&str]| {
        result(&place.run(&[&["run", "-b", "mock", "-o", "json"], args].concat()))["markerDetected"].clone()
    };
    assert_eq!(found(&["[[say:all ORCHESTRA_]] [[say:COMPLETE]]", "--marker"]), true);
    assert_eq!(found(&["[[say:not yet]]", "--marker"]), false);
    assert_eq!(found(&["[[say:it is DONE now]]", "--marker=IS DONE"]), false);
    assert_eq!(found(&["[[say:it is DONE now]]", "--marker=is DONE"]), true);
    assert_eq!(found(&["hello"]), serde_json::Value::Null);
    let media = result(&place.run(&[
        "run",
        "-b",
        "mock",
        "-o",
        "json",
        "--media",
        "[[say:See MEDIA:/tmp/a.png now]]",
    ]));
    assert_eq!(
        (&media["responseText"], &media["media"]),
        (&"See now".into(), &serde_json::json!(["/tmp/a.png"]))
    );
}

#[test]
fn a_recording_plays_back_the_same_events_offline() {
    let place = Place::new();
    let file = place.path("recording");
    let prompt = "[[think:hm]] [[tool:ls]] [[say:done]]";
    let events = |output: &Output| {
        stdout(output)
            .lines()
            .filter(|line| line.contains("tool_") || line.contains("\"text\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let recorded = place.run(&[
        "run",
        "-b",
        "mock",
        "-o",
        "stream-json",
        "--record",
        text(&file),
        prompt,
    ]);
    let played = place.run(&[
        "run",
        "-b",
        "mock",
        "-o",
        "stream-json",
        "--option",
        &format!("transcript={}", file.display()),
        "anything",
    ]);
    assert_eq!(code(&played), 0, "{}", stderr(&played));
    assert_eq!(events(&played), events(&recorded));
}

#[test]
fn the_raw_output_of_a_cli_plays_with_its_dialect() {
    let place = Place::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex");
    let case = std::fs::read_dir(&fixtures)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.ends_with("plain-json"))
        .unwrap();
    let transcript = format!("transcript={}", case.join("stdout").display());
    let output = place.run(&[
        "run",
        "-b",
        "mock",
        "-o",
        "json",
        "--option",
        &transcript,
        "--option",
        "dialect=codex",
        "x",
    ]);
    assert_eq!(
        (code(&output), &result(&output)["responseText"]),
        (0, &"Hi there".into()),
        "{}",
        stderr(&output)
    );
    let output = place.run(&["run", "-b", "mock", "-o", "json", "--option", &transcript, "x"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("dialect=NAME"), "{}", stderr(&output));
}

#[test]
fn what_the_backend_cannot_do_is_a_warning_and_with_strict_an_error() {
    let place = Place::new();
    std::fs::write(place.path("mcp.json"), r#"{"mcpServers":{"a":{"command":"x"}}}"#).unwrap();
    let lenient = place.run(&["run", "-b", "mock", "-o", "json", "--mcp-config", "mcp.json", "hi"]);
    assert_eq!(code(&lenient), 0, "{}", stderr(&lenient));
    assert!(
        result(&lenient)["warnings"][0]
            .as_str()
            .unwrap()
            .contains("--mcp-config")
    );
    assert!(
        stderr(&lenient).contains("warning: Mock cannot honour --mcp-config"),
        "{}",
        stderr(&lenient)
    );
    let strict = place.run(&[
        "run",
        "-b",
        "mock",
        "-o",
        "json",
        "--strict",
        "--mcp-config",
        "mcp.json",
        "hi",
    ]);
    assert_eq!((code(&strict), &result(&strict)["error"]["kind"]), (2, &"usage".into()));
}

#[test]
fn wrong_values_are_usage_errors_that_name_what_is_wrong() {
    let place = Place::new();
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
        (&["resume", "hi"], "hi"),
    ] {
        let output = place.run(args);
        assert!([2, 7].contains(&code(&output)), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn environment_and_flags_choose_model_turns_and_tools() {
    let place = Place::new();
    let mut command = place.agentctl(&["run", "-o", "json", "[[tool:ls]] [[loop]]"]);
    command
        .env("AGENT_BACKEND", "mock")
        .env("BACKEND_MODEL", "small")
        .env("BACKEND_MAX_TURNS", "2")
        .env("ALLOWED_TOOLS", "read,write");
    let output = command.output().unwrap();
    let told = result(&output);
    assert_eq!(
        (code(&output), &told["model"], &told["turns"]),
        (6, &"small".into(), &2.into())
    );
    assert_eq!(told["deniedTools"][0]["kind"], "bash");
    let output = place
        .agentctl(&["run", "-m", "large", "-o", "json", "hi"])
        .env("AGENT_BACKEND", "mock")
        .env("BACKEND_MODEL", "small")
        .output()
        .unwrap();
    assert_eq!(result(&output)["model"], "large");
}

#[test]
fn the_library_runs_an_agent_and_goes_on_with_the_conversation() {
    use agentctl::agent::{Agent, Prompt};
    let place = Place::new();
    let agent = Agent::new("mock")
        .unwrap()
        .cli_path(env!("CARGO_BIN_EXE_agentctl"))
        .env("AGENTCTL_STATE_DIR", place.path("state"));
    assert_eq!(agent.name(), "mock");
    assert_eq!(agent.validate().unwrap(), Path::new(env!("CARGO_BIN_EXE_agentctl")));
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
