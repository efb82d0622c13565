//! The fake agent in the place of a CLI, behind the agentctl command itself.

use super::fake::{PATIENCE, eventually, example, new_token, survivors};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What Codex says at its start.
pub const SESSION: &str = r#"say {"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#;
pub const TURN: &str = r#"say {"type":"turn.started"}"#;
pub const ANSWER: &str =
    r#"say {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"an answer"}}"#;
pub const END: &str =
    r#"say {"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":2,"output_tokens":3}}"#;

/// A home, a state directory and a temporary directory that nobody else uses.
pub struct Place {
    root: tempfile::TempDir,
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
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "state", "tmp", "project"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self {
            root,
            token: new_token(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
        command.args(args).env_clear().current_dir(self.path("project"));
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command
            .env("AGENTCTL_STATE_DIR", self.path("state"))
            .env("TMPDIR", self.path("tmp"));
        command.env(&self.token.0, &self.token.1);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `agentctl run` with the fake agent as Codex.
    pub fn run(&self, steps: &[&str], args: &[&str]) -> Agentctl {
        let agent = example("fake_agent");
        let mut all = vec![
            "run",
            "-b",
            "codex",
            "-o",
            "stream-json",
            "-q",
            "--cli-path",
            agent.to_str().unwrap(),
            "hello",
        ];
        all.extend(args);
        let mut command = self.command(&all);
        command.env("FAKE_STEPS", steps.join("\n"));
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Agentctl {
            child,
            stdout,
            seen: Vec::new(),
        }
    }

    /// What `agentctl sessions` tells.
    pub fn sessions(&self) -> Vec<serde_json::Value> {
        let output = self.command(&["sessions", "list", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        match listed {
            serde_json::Value::Array(sessions) => sessions,
            serde_json::Value::Object(mut object) => match object.remove("sessions") {
                Some(serde_json::Value::Array(sessions)) => sessions,
                other => panic!("{other:?}"),
            },
            other => panic!("{other}"),
        }
    }

    pub fn temporary_files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    pub fn assert_no_process_is_left(&self) {
        eventually("no survivor", PATIENCE, || survivors(&self.token.1).is_empty());
    }

    pub fn assert_nothing_is_left(&self) {
        self.assert_no_process_is_left();
        eventually("no temporary file", PATIENCE, || self.temporary_files().is_empty());
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
    let witness = place.path("witness");
    let touch = format!("touch {}", witness.display());
    let agent = example("fake_agent");
    let mut command = place.command(&["run", "-b", "codex", "--cli-path", agent.to_str().unwrap(), "hello"]);
    let output = command
        .env("FAKE_STEPS", touch)
        .env("AGENTCTL_DEPTH", "5")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("AGENTCTL_MAX_DEPTH"));
    assert!(!exists(&witness));
}
