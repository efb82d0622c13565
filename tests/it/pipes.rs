//! Dependable in a pipe: the right answer or a clear error, the right code, and never a panic.

use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::{contains, starts_with};

fn assert_ended(ended: Assert, code: i32, stdout: &'static str) -> Assert {
    ended.stderr(contains("panicked").not()).code(code).stdout(stdout)
}

#[test]
fn a_reader_that_has_enough_ends_the_run_quietly() {
    let desk = Desk::new();
    // Far more than a pipe holds, so that the writer notices.
    let ended = desk.shell("agentctl run -b mock '[[big:3000000]] [[hang]]' | head -c 1 | wc -c");
    assert_eq!(ended.out().trim(), "1", "{ended}");
    ended.stderr("");
    for command in [
        "help json",
        "schema event",
        "man",
        "completions bash",
        "sessions",
        "--help",
    ] {
        assert_ended(desk.shell(&format!("agentctl {command} | true")), 0, "").stderr("");
    }
}

#[test]
fn json_is_for_other_programs_to_read() {
    let desk = Desk::new();
    let ended = desk.shell("agentctl run -b mock -o json 'hello there' | jq -r .responseText");
    assert_ended(ended, 0, "hello there\n");
    let ended = desk.shell("agentctl run -b mock -o stream-json 'hello there' | jq -rj 'select(.type==\"text\").text'");
    assert_ended(ended, 0, "hello there");
    let ended = desk.shell("agentctl run -b nosuch -o json hi | jq -r .error.kind; exit ${PIPESTATUS[0]}");
    assert_ended(ended, 2, "usage\n");
}

#[test]
fn diagnostics_nobody_reads_cost_nothing() {
    let desk = Desk::new();
    assert_ended(desk.shell("agentctl run -b mock -v hello 2>/dev/null"), 0, "hello\n");
    assert_ended(desk.shell("agentctl run -b mock -v hello 2>/dev/full"), 0, "hello\n");
    assert_ended(desk.shell("agentctl run -b mock -v hello 2>&-"), 0, "hello\n");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let desk = Desk::new();
    for command in [
        "run -b mock hello",
        "run -b mock -o json hello",
        "help json",
        "help run",
        "schema",
        "man",
        "completions zsh",
        "sessions list --json",
        "backends",
        "config show",
        "run --help",
        "run -b mock --dry-run hello",
    ] {
        let ended = desk.shell(&format!("agentctl {command} > /dev/full"));
        let ended = ended.code(1).stderr(contains("panicked").not());
        ended.stderr(starts_with("error: ").and(contains("cannot be written")));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_as_that_however_the_run_ends() {
    let desk = Desk::new();
    const FULL: &str = "error: the output cannot be written: No space left on device";
    for (args, code, told) in [
        // The run has more to do, and nobody would ever see it.
        ("'[[say:x]] [[hang]]'", 1, None),
        ("-o stream-json '[[hang]]'", 1, None),
        // It failed anyway: both are told.
        ("-o json '[[error:auth]]'", 4, Some("error: mock failure: auth")),
        ("-o json -t 1s '[[hang]]'", 124, Some("error: Query timed out")),
    ] {
        let ended = desk.shell(&format!("timeout 60 agentctl run -b mock {args} > /dev/full"));
        let told_once = |text: &str| ended.err().matches(text).count() == 1;
        assert!(told_once(FULL), "{args}: {ended}");
        assert!(told.is_none_or(told_once), "{args}: {ended}");
        assert!(!ended.err().contains("went away"), "{args}: {ended}");
        ended.code(code);
    }
}

#[test]
fn a_reader_that_has_enough_is_no_failure_of_an_agent_that_is_done() {
    let desk = Desk::new();
    // The answer is read, its last newline is not.
    let ended = desk.shell("agentctl run -b mock '[[say:yes]] [[delay:300ms]]' | head -c 1; exit ${PIPESTATUS[0]}");
    ended.code(0).stdout("y").stderr("");
}

#[test]
#[cfg(target_os = "linux")]
fn a_machine_without_free_descriptors_is_told() {
    let desk = Desk::new();
    let ended = desk.shell("ulimit -n 5; agentctl run -b mock hello");
    ended
        .code(1)
        .stdout("")
        .stderr(starts_with("error: ").and(contains("ulimit -a")));
}

#[test]
fn closed_streams_are_no_obstacle() {
    let desk = Desk::new();
    assert_ended(desk.shell("agentctl run -b mock hello <&-"), 0, "hello\n");
    assert_ended(desk.shell("agentctl run -b mock hello >&-"), 0, "");
    assert_ended(desk.shell("agentctl run -b mock hello <&- >&- 2>&-"), 0, "");
    assert_ended(desk.shell("agentctl run -b mock <&-"), 2, "");
}

#[test]
fn without_home_or_terminal_type_a_run_still_works() {
    let desk = Desk::new();
    assert_ended(
        desk.shell("env -u HOME -u TERM agentctl run -b mock hello"),
        0,
        "hello\n",
    );
    assert_ended(desk.shell("HOME= agentctl run -b mock hello"), 0, "hello\n");
    let line = "HOME=$PWD/nowhere AGENTCTL_STATE_DIR= agentctl run -b mock --ephemeral hello";
    assert_ended(desk.shell(line), 0, "hello\n");
}

#[test]
fn a_state_directory_that_cannot_be_written_costs_the_memory_and_not_the_answer() {
    let desk = Desk::new();
    let file = desk.file("state", "not a directory");
    for place in ["/proc/agentctl", file.to_str().unwrap()] {
        let ephemeral = desk.shell(&format!(
            "AGENTCTL_STATE_DIR={place} agentctl run -b mock --ephemeral hello"
        ));
        assert_ended(ephemeral, 0, "hello\n");
        let kept = desk.shell(&format!("AGENTCTL_STATE_DIR={place} agentctl run -b mock hello"));
        assert_ended(kept, 0, "hello\n").stderr(contains("warning: "));
        let listed = desk.shell(&format!("AGENTCTL_STATE_DIR={place} agentctl sessions"));
        listed.stderr(contains("panicked").not());
    }
}

#[test]
fn an_error_and_a_last_warning_begin_a_line_in_the_file_of_the_answer() {
    let desk = Desk::new();
    desk.shell("mkdir ../state && touch ../state/transcripts");
    for (args, told) in [
        ("'[[say:part]] [[error:rate_limit]]'", "error: "),
        ("--keep-transcript '[[say:part]]'", "warning: the transcript"),
    ] {
        for _ in 0..10 {
            let ended = desk.shell(&format!("agentctl run -b mock {args} > all 2>&1; cat all"));
            ended.stdout(starts_with(format!("part\n{told}")));
        }
    }
}

#[test]
fn without_a_place_for_private_files_it_is_told_what_to_set() {
    let desk = Desk::new();
    let without = desk.shell("TMPDIR=/proc/none agentctl run -b mock hello");
    // A run that needs none does not ask for it.
    without.stdout("hello\n");
    for line in ["agentctl run -b mock -s 'Be brief.' hello", "agentctl doctor mock"] {
        let ended = desk.shell(&format!("TMPDIR=/proc/none {line}")).code(1);
        let told = ended.out() + &ended.err();
        assert!(told.contains("TMPDIR") && told.contains("/proc/none"), "{line}: {told}");
        // A runtime directory that is somebody else's is not a reason to give up.
        desk.shell(&format!("XDG_RUNTIME_DIR=/proc/1 {line}")).success();
    }
}

#[test]
fn the_prompt_comes_from_an_argument_a_file_standard_input_or_two_of_them() {
    let desk = Desk::new();
    desk.file("task", "from a file");
    for (line, prompt) in [
        ("agentctl run -b mock 'an argument'", "an argument"),
        ("agentctl run -b mock -f task", "from a file"),
        ("agentctl run -b mock < task", "from a file"),
        ("agentctl run -b mock - < task", "from a file"),
        ("agentctl run -b mock -f - < task", "from a file"),
        (
            "echo piped | agentctl run -b mock 'an argument'",
            "an argument\n\npiped\n",
        ),
        ("echo piped | agentctl run -b mock -f task", "from a file\n\npiped\n"),
        (
            "agentctl run -b mock -f task 'an argument'",
            "an argument\n\nfrom a file",
        ),
        ("agentctl run -b mock '' < task", "\n\nfrom a file"),
        ("agentctl run -b mock --prompt=-ftask", "-ftask"),
        ("agentctl run -b mock --prompt '-f task'", "-f task"),
        ("agentctl run -b mock --prompt=--help", "--help"),
        ("agentctl run -b mock --prompt --dry-run", "--dry-run"),
        ("agentctl run -b mock --prompt=- < /dev/null", "-"),
        ("echo piped | agentctl run -b mock --prompt=x", "x\n\npiped"),
        ("agentctl resume --last --prompt=-f/etc/x", "-f/etc/x"),
    ] {
        let ended = desk.shell(&format!("{line} -o json | jq -rj .responseText"));
        assert_eq!(ended.out().trim(), prompt.trim(), "{ended}");
    }
}

#[test]
fn what_cannot_be_a_prompt_is_told_with_what_to_do() {
    let desk = Desk::new();
    for (line, hint) in [
        ("agentctl run -b mock", "give one as an argument"),
        ("agentctl run -b mock -- 'fix it'", "put the prompt before it"),
        ("agentctl run -b mock -f nothing-here", "nothing-here"),
        ("printf '\\xff\\xfe' | agentctl run -b mock", "iconv"),
        ("agentctl run -b mock -f .", "prompt"),
        ("agentctl run -b mock --prompt=x y", "cannot be used with"),
        ("agentctl run -b mock --prompt=x -f y", "cannot be used with"),
        ("agentctl resume --last --prompt=x y", "leave out one of them"),
    ] {
        let ended = assert_ended(desk.shell(line), 2, "");
        ended.stderr(starts_with("error: ").and(contains(hint)));
    }
}
