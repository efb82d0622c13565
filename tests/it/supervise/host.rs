//! A supervisor in a process of its own, to be signalled, stopped and killed.

use super::fake::{PATIENCE, eventually, example, is_alive, new_token, survivors, temporary_files, told_pids};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

pub struct Host {
    command: Command,
    token: String,
    temporary: tempfile::TempDir,
}

pub struct Running {
    pub child: Child,
    pub stdout: Option<BufReader<ChildStdout>>,
    seen: Vec<String>,
    token: String,
    temporary: tempfile::TempDir,
}

impl Host {
    pub fn new<const N: usize>(steps: [&str; N]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let (name, token) = new_token();
        let mut command = Command::new(example("fake_host"));
        command.arg(example("fake_agent")).args(steps);
        command
            .env(name, &token)
            .env("TMPDIR", temporary.path())
            .env_remove("XDG_RUNTIME_DIR");
        command.env("HOST_GRACE", "300").env("HOST_LINGER", "300");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Self {
            command,
            token,
            temporary,
        }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// As under nohup.
    pub fn ignoring(self, signal: i32) -> Self {
        // SAFETY: signal is async-signal-safe.
        self.before_it_starts(move || unsafe {
            libc::signal(signal, libc::SIG_IGN);
        })
    }

    /// As a job of a shell: in a process group of its own, with a parent in the same session that may continue it.
    pub fn like_a_job(self) -> Self {
        // SAFETY: setpgid is async-signal-safe.
        self.before_it_starts(|| unsafe {
            libc::setpgid(0, 0);
        })
    }

    /// In an orphaned process group: nobody in its session would continue it.
    pub fn orphaned(self) -> Self {
        // SAFETY: setsid is async-signal-safe.
        self.before_it_starts(|| unsafe {
            libc::setsid();
        })
    }

    fn before_it_starts(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        use std::os::unix::process::CommandExt;
        // SAFETY: what the callers above do is async-signal-safe.
        unsafe {
            self.command.pre_exec(move || {
                act();
                Ok(())
            });
        }
        self
    }

    pub fn quiet(mut self) -> Self {
        self.command.stderr(Stdio::null());
        self
    }

    pub fn start(mut self) -> Running {
        let mut child = self.command.spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Running {
            child,
            stdout,
            seen: Vec::new(),
            token: self.token,
            temporary: self.temporary,
        }
    }
}

/// A failed test leaves no host that waits for good.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Running {
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Reads until this line comes.
    pub fn wait_for(&mut self, wanted: &str) {
        let stdout = self.stdout.as_mut().unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(
                stdout.read_line(&mut line).unwrap(),
                0,
                "no {wanted:?} in {:?}",
                self.seen
            );
            self.seen.push(line.trim_end().to_owned());
            if line.trim_end() == wanted {
                return;
            }
        }
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: our own child, not reaped yet.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// All living processes of the run, the host included.
    pub fn tree(&self) -> Vec<i32> {
        survivors(&self.token)
    }

    /// The guard: the host's only child.
    pub fn guard(&self) -> i32 {
        let pid = self.pid();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.trim().parse().unwrap()
    }

    pub fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// What lies in the temporary directory.
    pub fn temporary_files(&self) -> Vec<PathBuf> {
        temporary_files(self.temporary())
    }

    /// Everything the host still says; its last line is how the run ended.
    pub fn finish(mut self) -> Vec<String> {
        let mut rest = String::new();
        self.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        self.seen.extend(rest.lines().map(str::to_owned));
        self.child.wait().unwrap();
        self.assert_nothing_is_left();
        std::mem::take(&mut self.seen)
    }

    pub fn assert_nothing_is_left(&self) {
        eventually("no survivor", PATIENCE, || survivors(&self.token).is_empty());
        for pid in told_pids(self.seen.iter().map(String::as_str)) {
            eventually("a told process is gone", PATIENCE, || !is_alive(pid));
        }
        eventually("no temporary file", PATIENCE, || self.temporary_files().is_empty());
    }
}
