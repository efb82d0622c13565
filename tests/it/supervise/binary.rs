//! The fake agent in the place of a CLI, behind the agentctl command itself.

use super::fake::{PATIENCE, eventually, example, new_token, survivors, temporary_files};
use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

/// What Codex says at its start.
pub const SESSION: &str = r#"say {"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#;
pub const TURN: &str = r#"say {"type":"turn.started"}"#;
pub const ANSWER: &str =
    r#"say {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"an answer"}}"#;
pub const END: &str =
    r#"say {"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":2,"output_tokens":3}}"#;

/// A desk whose processes are known by a token.
pub struct Place {
    desk: Desk,
    token: (String, String),
}

pub struct Agentctl {
    pub child: Child,
    pub stdout: Option<BufReader<ChildStdout>>,
    pub seen: Vec<String>,
}

pub struct Ended {
    pub status: ExitStatus,
    pub lines: Vec<String>,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self {
            desk: Desk::new(),
            token: new_token(),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.desk.agentctl(args);
        command.env(&self.token.0, &self.token.1);
        command
    }

    /// `agentctl run` with the fake agent as Codex, about to be started.
    fn fake(&self, steps: &[&str]) -> Command {
        let mut command = self.command(&["run", "-b", "codex", "hello", "--cli-path"]);
        command.arg(example("fake_agent")).env("FAKE_STEPS", steps.join("\n"));
        command
    }

    /// Starts it.
    pub fn run(&self, steps: &[&str], args: &[&str]) -> Agentctl {
        let mut command = self.fake(steps);
        let mut child = command.args(["-o", "stream-json", "-q"]).args(args).spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Agentctl {
            child,
            stdout,
            seen: Vec::new(),
        }
    }

    /// What `agentctl sessions` tells.
    pub fn sessions(&self) -> Vec<serde_json::Value> {
        let listed = self.desk.run(["sessions", "list", "--json"]).success().json();
        listed.as_array().unwrap().clone()
    }

    pub fn assert_no_process_is_left(&self) {
        eventually("no survivor", PATIENCE, || survivors(&self.token.1).is_empty());
    }

    pub fn assert_nothing_is_left(&self) {
        self.assert_no_process_is_left();
        let temporary = self.desk.path("tmp");
        eventually("no temporary file", PATIENCE, || temporary_files(&temporary).is_empty());
    }
}

impl Agentctl {
    /// Reads until an event of this type; false if the output ends before.
    pub fn wait_for(&mut self, kind: &str) -> bool {
        let wanted = format!("{{\"type\":\"{kind}\"");
        let Some(stdout) = &mut self.stdout else { return false };
        loop {
            let mut line = String::new();
            if stdout.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            let found = line.starts_with(&wanted);
            self.seen.push(line.trim_end().to_owned());
            if found {
                return true;
            }
        }
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: our own child, not reaped yet.
        unsafe { libc::kill(i32::try_from(self.child.id()).unwrap(), signal) };
    }

    /// Waits for its end and reads what is left of its output.
    pub fn finish(mut self) -> Ended {
        let mut rest = String::new();
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_string(&mut rest).unwrap();
        }
        self.seen.extend(rest.lines().map(str::to_owned));
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        Ended {
            status,
            lines: self.seen,
            stderr,
        }
    }
}

impl Ended {
    /// The last line, which must be a result.
    pub fn result(&self) -> serde_json::Value {
        let last = self.lines.last().map_or("", String::as_str);
        let result: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
        assert_eq!(
            result["type"],
            "result",
            "{:?}\n{}\n{}",
            self.status,
            self.lines.join("\n"),
            self.stderr
        );
        result
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn a_signal_ends_a_run_with_its_code_and_a_result_that_tells_all_so_far() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 143)] {
        let place = Place::new();
        let mut agentctl = place.run(&[SESSION, TURN, ANSWER, "daemon", "stubborn", "sleep 1000"], &[]);
        assert!(agentctl.wait_for("text"));
        agentctl.signal(signal);
        let ended = agentctl.finish();
        let result = ended.result();
        assert_eq!(ended.status.code(), Some(code), "{result}");
        assert_eq!(result["sessionId"], "0199a213-81c0-7800-8aa1-bbab2a035a53");
        assert_eq!(result["error"]["kind"], "interrupted");
        assert_eq!(result["isError"], true);
        assert_eq!(place.sessions().len(), 1);
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_timeout_ends_a_run_with_its_code_and_the_session() {
    let place = Place::new();
    let ended = place
        .run(&[SESSION, TURN, "daemon", "sleep 1000"], &["--timeout", "1s"])
        .finish();
    let result = ended.result();
    assert_eq!(ended.status.code(), Some(124), "{result}");
    assert_eq!(
        (&result["error"]["kind"], &result["responseText"]),
        (&"timeout".into(), &"Query timed out".into())
    );
    assert_eq!(result["sessionId"], "0199a213-81c0-7800-8aa1-bbab2a035a53");
    assert_eq!(place.sessions().len(), 1);
    place.assert_nothing_is_left();
}

#[test]
fn a_killed_agentctl_leaves_a_session_that_can_be_used_again_and_nothing_else() {
    let place = Place::new();
    let mut agentctl = place.run(
        &[SESSION, TURN, "daemon", "nameless", "stubborn", "sleep 1000"],
        &["--session", "work"],
    );
    assert!(agentctl.wait_for("session"));
    agentctl.signal(libc::SIGKILL);
    agentctl.finish();
    place.assert_nothing_is_left();
    assert_eq!(place.sessions().len(), 1);
    let again = place
        .run(&[SESSION, TURN, ANSWER, END], &["--session", "work"])
        .finish();
    assert_eq!(again.result()["resumed"], "resumed");
    assert_eq!(again.status.code(), Some(0));
}

#[test]
fn a_closed_stdout_ends_the_run_quietly() {
    let place = Place::new();
    let mut agentctl = place.run(&[SESSION, TURN, ANSWER, "daemon", "sleep 1000"], &[]);
    assert!(agentctl.wait_for("text"));
    agentctl.stdout = None;
    let start = Instant::now();
    let ended = agentctl.finish();
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(ended.stderr, "");
    place.assert_nothing_is_left();
}

#[test]
fn diagnostics_that_nobody_takes_freeze_neither_the_timeout_nor_a_signal() {
    for (timeout, signal, code) in [("2s", None, 124), ("0", Some(libc::SIGTERM), 143)] {
        let place = Place::new();
        // Far more than the pipe of stderr holds.
        let prompt = "[[big:300000]] [[big:300000]] [[big:300000]] [[hang]]";
        let mut command = place.command(&["run", "-b", "mock", "-v", "--timeout", timeout, prompt]);
        let mut child = command.spawn().unwrap();
        if let Some(signal) = signal {
            let mut answer = vec![0; 900_000];
            child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
            // SAFETY: our own child, not reaped yet.
            unsafe { libc::kill(i32::try_from(child.id()).unwrap(), signal) };
        }
        let mut status = None;
        eventually("the end", 2 * PATIENCE, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(code));
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_result_that_is_followed_by_silence_is_not_waited_for() {
    let place = Place::new();
    let ended = place
        .run(&[SESSION, TURN, ANSWER, END, "hold", "sleep 1000"], &[])
        .finish();
    let result = ended.result();
    assert_eq!(
        (&result["responseText"], ended.status.code()),
        (&"an answer".into(), Some(0))
    );
    place.assert_nothing_is_left();
}

#[test]
fn runaway_recursion_is_refused_before_anything_starts() {
    let place = Place::new();
    let witness = place.desk.path("witness");
    let touch = format!("touch {}", witness.display());
    let mut command = place.fake(&[&touch]);
    let ended = command.env("AGENTCTL_DEPTH", "5").assert();
    ended.code(2).stderr(contains("AGENTCTL_MAX_DEPTH"));
    assert!(!exists(&witness));
}
