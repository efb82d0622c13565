//! What a run would start, shown by `--dry-run` and `-v`: exactly, with nothing secret in it, and nothing is left by
//! looking.

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::desk::{Desk, Ended as _, RUN};

#[test]
fn a_dry_run_prints_a_command_and_spawns_nothing() {
    let desk = Desk::new();
    let mut command = desk.agentctl(["run", "-b", "mock", "--dry-run", "a 'prompt'"]);
    let ended = command.args(["-e", "API_KEY=sk-secret-value"]).assert().code(0);
    ended.stdout(contains("__mock").and(contains("sk-secret-value").not()));
    let view = desk.agentctl(RUN).args(["--dry-run", "hello"]).assert().json();
    assert_eq!(view["stdinBytes"], 5);
    assert!(view["argv"].as_array().unwrap().contains(&"__mock".into()));
    assert!(!desk.path("state/sessions").exists(), "nothing is stored");
}

#[cfg(unix)]
#[test]
fn a_dry_run_can_be_typed_into_a_shell() {
    let desk = Desk::new();
    let script = "#!/bin/sh\nprintf '%s|%s|%s' \"$1\" \"$MINE\" \"${GEMINI_SANDBOX-gone}\"\n";
    let cli = desk.script("cli", script);
    for backend in ["claude", "codex", "gemini", "opencode", "pi"] {
        let mut command = desk.agentctl(["run", "-b", backend, "-P", "read-only", "hi"]);
        command
            .args(["--dry-run", "-e", "MINE=a b"])
            .env("BACKEND_CLI_PATH", &cli);
        let line = command.assert().out();
        assert_eq!(line.lines().count(), 1, "{line}");
        let typed = desk.program("/bin/sh").args(["-c", &line]).assert();
        typed.stdout(contains("|a b|"));
    }
}

#[cfg(unix)]
#[test]
fn neither_a_dry_run_nor_verbose_shows_what_servers_and_arguments_keep_secret() {
    let desk = Desk::new();
    let cli = desk.script("cli", "#!/bin/sh\nexit 1\n");
    let servers = r#"{"mcpServers":{
        "a":{"command":"x","env":{"ANY":"in-\"env"},"args":["--token","in-server-args"]},
        "b":{"url":"https://host/?token=in-address","headers":{"Authorization":"Bearer in-header"}}}}"#;
    desk.file("mcp.json", servers);
    let declared =
        "[backends.own]\nprogram = \"own\"\ndialect = \"text\"\nargs = [\"--api-key\", \"in-declaration\"]\n";
    let config = desk.file("config.toml", declared);
    for backend in ["claude", "codex", "gemini", "opencode", "pi", "own"] {
        for way in ["--dry-run", "--dry-run -o json", "-v"] {
            let mut command = desk.agentctl(["run", "-b", backend, "--mcp-config", "mcp.json", "hi"]);
            command.args(way.split(' ')).args(["-e", "MY_TOKEN=in-variable"]);
            command.args(["--", "--api-key=in-argument", "--password", "in-next"]);
            command.env("BACKEND_CLI_PATH", &cli).env("AGENTCTL_CONFIG", &config);
            let configuration = r#"{"provider":{"x":{"options":{"apiKey":"in-configuration"}}}}"#;
            let ended = command.env("OPENCODE_CONFIG_CONTENT", configuration).assert();
            let all = ended.out() + &ended.err();
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
    let desk = Desk::new();
    let mut command = desk.agentctl(["run", "-b", "mock", "-v", "[[say:key sk-secret-value end]]"]);
    let ended = command.env("ANTHROPIC_API_KEY", "sk-secret-value").assert();
    let ended = ended.stderr(contains("+ cd ").and(contains("< {")));
    let ended = ended.stderr(contains("sk-secret-value").not());
    // The answer is what the agent said.
    ended.stdout(contains("sk-secret-value"));
}

#[test]
fn a_dry_run_leaves_nothing_and_waits_for_nobody() {
    let desk = Desk::new();
    for args in [
        &["run", "-b", "mock", "--dry-run", "x"][..],
        &["run", "-b", "mock", "--session", "s", "--dry-run", "x"],
    ] {
        desk.run(args).success();
        assert!(!desk.path("state").exists(), "{args:?}");
    }
    let first = desk
        .run(["run", "-b", "mock", "--session", "s", "-o", "json", "hi"])
        .json();
    let key = first["session"].as_str().unwrap();
    let store = agentctl::session::Store::open(desk.path("state")).unwrap();
    let locks = || std::fs::read_dir(desk.path("state/locks")).unwrap().count();
    let before = locks();
    let _held = store.claim_name("s", agentctl::session::Wait::No).unwrap();
    for args in [
        &["run", "--session", "s", "--dry-run", "x"][..],
        &["resume", key, "--dry-run", "x"],
        &["resume", key, "--fork", "--dry-run", "x"],
        &["resume", "--last", "--dry-run", "x"],
    ] {
        let id = first["sessionId"].as_str().unwrap();
        desk.run(args).success().stdout(contains(id));
    }
    assert_eq!(before, locks());
}

#[test]
fn a_quiet_dry_run_says_nothing_but_the_command() {
    let desk = Desk::new();
    desk.file("mcp.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#);
    let run = ["run", "-b", "mock", "--dry-run", "--mcp-config", "mcp.json", "x"];
    desk.run(run).success().stderr(contains("warning: "));
    desk.agentctl(run).arg("--quiet").assert().success().stderr("");
}

#[test]
fn a_dry_run_begins_anew_where_the_run_would() {
    let desk = Desk::new();
    let lost = [
        "resume",
        "lost",
        "-b",
        "mock",
        "--identity",
        "You are X.",
        "--dry-run",
        "x",
    ];
    desk.run(lost).code(7);
    let anew = desk.agentctl(lost).arg("--or-new").assert().success();
    anew.stdout(contains("--session-id").and(contains("stdin: 13 bytes")));
}

#[test]
fn a_dry_run_masks_what_looks_like_a_secret() {
    let desk = Desk::new();
    let secrets = ["hunter22", "ghp_0123456789abcdefghij", "open sesame", ":pw@"];
    let mut command = desk.agentctl(["run", "-b", "mock", "--dry-run", "hi"]);
    for variable in [
        "DB_PASS=hunter22",
        "X=ghp_0123456789abcdefghij",
        "PASSPHRASE=open sesame",
        "URL=https://u:pw@h/",
    ] {
        command.args(["-e", variable]);
    }
    let shown = command.assert().success().out();
    assert!(shown.contains("https://u:***@h/"), "{shown}");
    assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{shown}");
}
