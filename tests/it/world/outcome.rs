//! How a run ended, with assertions whose failures can be repeated by hand.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread;

use serde_json::Value;

use super::place::World;

/// A run that has ended. Every assertion gives it back, so that they can be chained.
pub struct Outcome<'a> {
    pub(super) world: &'a World<'a>,
    pub(super) typed: String,
    /// `None`: it was killed because its time was over.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// False when something still held the pipe open after the program had ended.
    pub(super) stdout_ended: bool,
}

impl Outcome<'_> {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stdout_bytes(&self) -> &[u8] {
        &self.stdout
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The exit code; `None` after a signal, or when its time was over.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Whether it had to be killed because its time was over.
    pub fn timed_out(&self) -> bool {
        self.status.is_none()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        self.status.and_then(|status| status.signal())
    }

    /// It ended by itself, with this code, and nothing kept its output open.
    pub fn exits(self, code: i32) -> Self {
        self.check(self.code() == Some(code), &format!("exit code {code}"));
        self.check(self.stdout_ended, "nothing keeps stdout open after the end");
        self
    }

    pub fn stdout_is(self, wanted: &str) -> Self {
        self.check(self.stdout == wanted.as_bytes(), &format!("stdout is {wanted:?}"));
        self
    }

    pub fn stdout_has(self, wanted: &str) -> Self {
        self.check(self.stdout().contains(wanted), &format!("stdout has {wanted:?}"));
        self
    }

    pub fn stderr_has(self, wanted: &str) -> Self {
        self.check(self.stderr().contains(wanted), &format!("stderr has {wanted:?}"));
        self
    }

    pub fn stderr_is_empty(self) -> Self {
        self.check(self.stderr.is_empty(), "stderr is empty");
        self
    }

    /// Any other condition, with words for what it expects.
    pub fn check(&self, holds: bool, expected: &str) {
        if !holds {
            self.fail(expected);
        }
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| self.fail(&format!("stdout is JSON ({error})")))
    }

    /// Standard output as one JSON value a line.
    pub fn json_lines(&self) -> Vec<Value> {
        let text = self.stdout();
        let parse = |line| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| self.fail(&format!("each line is JSON ({error}: {line})")))
        };
        text.lines().map(parse).collect()
    }

    /// Fails the test with everything that is needed to repeat the run by hand.
    pub fn fail(&self, expected: &str) -> ! {
        let report = format!("expected: {expected}\n{}", self.report());
        self.world.is_first_report();
        if env::var_os("AGENTCTL_HOLD").is_some() {
            self.hold(&report);
        }
        panic!("{report}");
    }

    fn report(&self) -> String {
        let ended = match self.status {
            Some(status) => status.to_string(),
            None => "killed, its time was over".to_owned(),
        };
        let raw: String = self.world.recorded().iter().map(exchange).collect();
        format!(
            "command: {}\nended: {ended}\nstdout:\n{}\nstderr:\n{}\n{raw}the model's requests:\n{}\n{}",
            self.typed,
            shortened(&self.stdout()),
            shortened(&self.stderr()),
            self.world.model().report(),
            again(),
        )
    }

    /// Keeps the world and the model, so that the command can be typed, until a line is entered. The model plays its
    /// script from the beginning.
    fn hold(&self, report: &str) {
        let model = self.world.model();
        model.rewind();
        // Not eprintln: the test harness would keep it until the test has ended.
        let _ = writeln!(
            io::stderr(),
            "{report}\nthe model at {} plays its script again; press Enter to go on",
            model.url()
        );
        let _ = io::stdin().read_line(&mut String::new());
    }
}

/// A test may also fail by a panic of its own: then the last run is told all the same.
impl Drop for Outcome<'_> {
    fn drop(&mut self) {
        if thread::panicking() && self.world.is_first_report() {
            eprintln!("{}", self.report());
        }
    }
}

/// How to run the test again: its thread has its name, unless all tests share one.
fn again() -> String {
    let thread = thread::current();
    let name = thread.name().filter(|name| *name != "main").unwrap_or("NAME");
    format!(
        "to run it again: AGENTCTL_REAL=require cargo test --test it -- --exact {name}\n\
         and to type the command above yourself, with AGENTCTL_HOLD=1 before it, which keeps the model when it fails\n"
    )
}

fn exchange((path, lines): &(PathBuf, String)) -> String {
    format!("the raw exchange, {}:\n{}\n", path.display(), shortened(lines))
}

fn shortened(text: &str) -> String {
    const MOST: usize = 20_000;
    if text.len() <= MOST {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(MOST / 2);
    let tail = text.ceil_char_boundary(text.len() - MOST / 2);
    format!(
        "{}\n… {} bytes left out …\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}
