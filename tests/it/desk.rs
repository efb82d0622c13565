//! A user's desk with nothing on it: a home, a state directory and a project that nobody else uses.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    pub fn program(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(self.path("project"));
        let binaries = Path::new(env!("CARGO_BIN_EXE_agentctl")).parent().unwrap();
        command.env("PATH", format!("{}:/usr/bin:/bin", binaries.display()));
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.env("AGENTCTL_STATE_DIR", self.path("state"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn agentctl(&self, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_agentctl"));
        command.args(args);
        command
    }

    /// A line for the shell.
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = self.program("/bin/bash");
        command.args(["-c", line]);
        Ended::of(&mut command)
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        Ended::of(&mut self.agentctl(args))
    }
}

/// What a program did.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
