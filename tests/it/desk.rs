//! A user's desk with nothing on it: a home, a state directory and a project that nobody else uses. agentctl is started
//! there, and what came of it is asserted with `assert_cmd`, which prints the command and its output when it is not so.
//!
//! ```ignore
//! let desk = Desk::new();
//! desk.run(["run", "-b", "mock", "hello"]).success().stdout("hello\n").stderr("");
//! desk.agentctl(["run", "hi"]).env("AGENT_BACKEND", "clade").assert().code(2).stderr(contains("`claude`"));
//! assert_eq!(desk.agentctl(RUN).arg("hello").assert().json()["responseText"], "hello");
//! ```

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::assert::{Assert, OutputAssertExt};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

/// A run of the mock agent, told as JSON; what more is said comes after it.
pub const RUN: [&str; 5] = ["run", "-b", "mock", "-o", "json"];

pub struct Desk {
    root: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project", "tmp"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A file of the project.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path("project").join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A program of the project.
    #[cfg(unix)]
    pub fn script(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.file(name, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A program with the environment of this desk: no input, output to be looked at.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let binaries = cargo_bin!("agentctl").parent().unwrap();
        let path = [binaries, Path::new("/usr/bin"), Path::new("/bin")];
        command
            .env_clear()
            .current_dir(self.path("project"))
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("AGENTCTL_STATE_DIR", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// agentctl, to be given more arguments and variables, and then `assert`.
    pub fn agentctl<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.program(cargo_bin!("agentctl"));
        command.args(args);
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Assert {
        self.agentctl(args).assert()
    }

    /// A line for the shell.
    #[cfg(unix)]
    pub fn shell(&self, line: &str) -> Assert {
        self.program("/bin/bash").args(["-c", line]).assert()
    }
}

/// What a program that has ended leaves to be looked at.
pub trait Ended {
    /// Standard output, which is text.
    fn out(&self) -> String;

    /// Standard error.
    #[cfg(unix)]
    fn err(&self) -> String;

    /// Standard output as one JSON value.
    fn json(&self) -> Value;
}

impl Ended for Assert {
    fn out(&self) -> String {
        let stdout = self.get_output().stdout.clone();
        String::from_utf8(stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    #[cfg(unix)]
    fn err(&self) -> String {
        String::from_utf8_lossy(&self.get_output().stderr).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}
