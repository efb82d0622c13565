//! What the tabulator key does: values of this machine, and none that a shell would obey.

use super::keys::shell;
use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::OutputAssertExt as _;

/// A desk with a backend and profiles of its own, and conversations of these names.
fn desk(names: &[&str]) -> Desk {
    let desk = Desk::new();
    let config = desk.path("home").join(".config/agentctl");
    std::fs::create_dir_all(&config).unwrap();
    let text = "[backends.qwen]\nprogram = \"qwen\"\ndialect = \"claude\"\nargs = []\n\n\
                [profiles.nightly]\npermission = \"edit\"\n";
    std::fs::write(config.join("config.toml"), text).unwrap();
    for name in names {
        desk.run(["run", "-b", "mock", "--session", name, "hello"]).success();
    }
    desk
}

/// What a shell's script is answered for these words, the last of which is to be completed.
fn offered(desk: &Desk, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = desk.agentctl(["--", "agentctl"]);
    command.args(words).env("AGENTCTL_COMPLETE", shell);
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let told = command.assert().success().stderr("").out();
    let values = told.split(['\n', '\x0b']).map(|line| {
        let value = line.split('\t').next().unwrap_or_default();
        value.to_owned()
    });
    values.filter(|value| !value.is_empty()).collect()
}

#[test]
fn every_shell_is_offered_what_there_is_on_this_machine() {
    let desk = desk(&["ticket-77"]);
    let key = desk
        .shell("agentctl sessions list --json | jq -r '.[0].session[:8]'")
        .out();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        for (words, wanted) in [
            (&["ses"][..], "sessions"),
            (&["run", "-b", "q"], "qwen"),
            (&["run", "--profile", "n"], "nightly"),
            (&["resume", "tick"], "ticket-77"),
            (&["resume", key.trim()], key.trim()),
            (&["run", "--session", "t"], "ticket-77"),
            (&["sessions", "show", "t"], "ticket-77"),
            (&["sessions", "--name", "t"], "ticket-77"),
            (&["run", "-P", "r"], "read-only"),
            (&["run", "-o", "s"], "stream-json"),
            (&["run", "--deny-tool", "b"], "bash"),
            (&["run", "-b", "mock", "--option", "t"], "transcript="),
            (&["run", "--option", "max"], "max-budget-usd="),
            (&["doctor", "mock", "q"], "qwen"),
            (&["backends", "cod"], "codex"),
            (&["help", "doc"], "doctor"),
            (&["help", "exit"], "exit-codes"),
            (&["config", "show", "--profile", ""], "nightly"),
        ] {
            let values = offered(&desk, shell, words);
            let found = values.iter().any(|value| value.split(':').next() == Some(wanted));
            assert!(found, "{shell} {words:?}: {values:?}");
        }
    }
}

#[test]
fn a_name_with_a_blank_is_completed_to_one_word() {
    let desk = desk(&["ops room"]);
    let mut pty = shell(&desk);
    pty.send(". <(agentctl completions bash)\r");
    pty.wait_for_times("ready> ", 2);
    pty.send("agentctl resume op\t'[[recall]]'\r");
    pty.wait_for_times("hello", 1);
    pty.wait_for_times("ready> ", 3);
    pty.send("exit $?\r");
    let closed = pty.close();
    assert_eq!(closed.status.code(), Some(0), "{}", closed.screen);
}

#[test]
fn a_name_that_a_stranger_chose_is_no_command() {
    let desk = desk(&[
        "evil $(touch obeyed)",
        "evil; touch obeyed",
        "evil`touch obeyed`",
        "evil\n\x1b[2J",
        "@evil",
        ",evil",
    ]);
    let mut pty = shell(&desk);
    pty.send(". <(agentctl completions bash)\r");
    pty.wait_for_times("ready> ", 2);
    // One after the other, each by what is unique in it.
    for (position, unique) in ["evil\\ ", "evil\\;", "evil\\`"].into_iter().enumerate() {
        pty.send(&format!("agentctl resume {unique}\t'go on'\r"));
        pty.wait_for_times("ready> ", 3 + position);
    }
    pty.send("exit\r");
    let closed = pty.close();
    assert!(!desk.path("project").join("obeyed").exists(), "{}", closed.screen);
    assert_eq!(
        closed.written.matches("agentctl resume").count(),
        6,
        "{}",
        closed.screen
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let values = offered(&desk, shell, &["resume", ""]);
        assert!(
            !values.iter().any(|value| value.contains('\x1b')),
            "{shell}: {values:?}"
        );
    }
    for typed in ["evil", "@", ","] {
        let unquoted = offered(&desk, "powershell", &["resume", typed]);
        assert!(unquoted.is_empty(), "{unquoted:?}");
    }
}

/// Prints the words that the shell would start agentctl with.
const WORDS: &str =
    "agentctl() { [ -z \"$AGENTCTL_COMPLETE\" ] && printf '<%s>' \"$@\" || command agentctl \"$@\"; }\r";

#[test]
fn bash_completes_in_the_quote_and_after_the_sign_that_were_typed() {
    // No key begins like these, which are random and would be offered as well.
    let desk = desk(&["our chat", "irc:room", "us $(touch obeyed) \"b\""]);
    desk.file("one file", "");
    let mut pty = shell(&desk);
    pty.send(". <(agentctl completions bash)\r");
    pty.wait_for_times("ready> ", 2);
    pty.send(WORDS);
    pty.wait_for_times("ready> ", 3);
    for (position, (typed, words)) in [
        ("resume ou", "<resume><our chat><.>"),
        ("resume \"ou", "<resume><our chat><.>"),
        ("resume 'ou", "<resume><our chat><.>"),
        ("resume \"our ch", "<resume><our chat><.>"),
        ("resume \"us", "<resume><us $(touch obeyed) \"b\"><.>"),
        ("resume 'us", "<resume><us $(touch obeyed) \"b\"><.>"),
        ("run --backend=cod", "<run><--backend=codex><.>"),
        ("run --session=o", "<run><--session=our chat><.>"),
        (
            "run --marker=x --session=\"o",
            "<run><--marker=x><--session=our chat><.>",
        ),
        ("run --session=irc:r", "<run><--session=irc:room><.>"),
        ("run -f o", "<run><-f><one file><.>"),
    ]
    .into_iter()
    .enumerate()
    {
        pty.send(&format!("agentctl {typed}\t.\r"));
        pty.wait_for_times("ready> ", 4 + position);
        let written = pty.written();
        let answer = written.rsplit("\r\n").next().unwrap_or_default();
        assert!(answer.contains(words), "{typed}: {written:?}");
    }
    pty.send("exit\r");
    pty.close();
    assert!(!desk.path("project").join("obeyed").exists());
}

#[test]
fn zsh_and_fish_are_offered_values_for_a_word_in_quotes() {
    let desk = desk(&["our chat"]);
    for shell in ["zsh", "fish"] {
        for typed in ["\"ou", "'our ch", "our\\ ", "--session=\"ou"] {
            let words = match typed.starts_with('-') {
                true => ["run", typed],
                false => ["resume", typed],
            };
            let values = offered(&desk, shell, &words);
            let value = values.first().and_then(|value| value.split(':').next());
            let value = value.map(|value| value.trim_start_matches("--session="));
            assert_eq!(value, Some("our chat"), "{shell} {typed}: {values:?}");
        }
    }
}

#[test]
fn a_conversation_is_completed_however_many_came_after_it() {
    let many: Vec<String> = (0..60).map(|number| format!("later-{number}")).collect();
    let names: Vec<&str> = std::iter::once("first")
        .chain(many.iter().map(String::as_str))
        .collect();
    let desk = desk(&names);
    let key = desk.shell("agentctl sessions show first --json | jq -r .session").out();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let has = |words: &[&str], wanted: &str| {
            let values = offered(&desk, shell, words);
            let found = values.iter().any(|value| value.split(':').next() == Some(wanted));
            assert!(found, "{shell} {words:?}: {values:?}");
        };
        has(&["resume", "fi"], "first");
        has(&["run", "--session", "fi"], "first");
        has(&["resume", &key[..7]], &key[..8]);
        has(&["resume", &key[..9]], key.trim());
    }
    assert_eq!(offered(&desk, "fish", &["run", "--session", ""]).len(), 50);
}
