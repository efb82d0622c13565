//! Runs the fake agent through the library and looks for survivors.

use agentctl::backend::{Command, Launch, Stdin, Stop};
use agentctl::supervise::{Driver, Ending, Limits, Run, SignalPolicy, SpawnError, Stream, run};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use crate::wait::eventually;

const TOKEN: &str = "AGENTCTL_TEST_TOKEN";

/// The built example of this name. `cargo test` builds examples; `cargo test --test it` alone does not, so that is done
/// here.
pub fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap().to_owned();
        let mut cargo = std::process::Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", "fake_agent", "--example", "fake_host"]);
        cargo
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .arg("--target-dir")
            .arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the examples do not build");
        profile.join("examples")
    });
    directory.join(name)
}

/// A name for the environment that no other process has.
pub fn new_token() -> (String, String) {
    (TOKEN.to_owned(), uuid::Uuid::new_v4().to_string())
}

/// All living processes with this token in their environment.
pub fn survivors(token: &str) -> Vec<i32> {
    let wanted = format!("{TOKEN}={token}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers
        .filter(|pid| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
                && is_alive(*pid)
        })
        .collect()
}

/// A zombie is not alive: it waits for its parent only.
pub fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// How long something may take that must happen at once: nobody waits that long but on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What lies in a directory for temporary files.
pub fn temporary_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The processes that the agent said it left behind.
pub fn told_pids<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<i32> {
    lines
        .filter_map(|line| line.strip_prefix("pid ")?.parse().ok())
        .collect()
}

#[derive(Default)]
pub struct Recorder {
    pub stdout: Vec<String>,
    pub bytes: u64,
    pub stderr: Vec<String>,
    pub dropped: Vec<(Stream, u64)>,
    keep: Option<usize>,
    commands: Vec<Command>,
}

impl Driver for Recorder {
    fn stdout(&mut self, line: &[u8]) {
        self.bytes += line.len() as u64 + 1;
        if self.keep.is_none_or(|keep| self.stdout.len() < keep) {
            self.stdout.push(String::from_utf8_lossy(line).into_owned());
        }
        match line {
            b"done" => self.commands.push(Command::Finished),
            b"stop" => self.commands.push(Command::Stop),
            b"ask me" => self.commands.push(Command::Write(b"an answer\n".to_vec())),
            b"heard an answer" => self.commands.push(Command::CloseStdin),
            _ => {}
        }
    }

    fn stderr(&mut self, line: &[u8]) {
        self.stderr.push(String::from_utf8_lossy(line).into_owned());
    }

    fn dropped(&mut self, stream: Stream, bytes: u64) {
        self.dropped.push((stream, bytes));
    }

    fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }
}

pub struct Fake {
    launch: Launch,
    limits: Limits,
    keep: Option<usize>,
}

pub struct Outcome {
    pub ending: Ending,
    pub seen: Recorder,
    pub took: Duration,
}

impl Fake {
    pub fn new<const N: usize>(steps: [&str; N]) -> Self {
        let launch = Launch {
            program: example("fake_agent"),
            args: steps.iter().map(OsString::from).collect(),
            env: Vec::new(),
            env_file: None,
            cwd: std::env::temp_dir(),
            stdin: Stdin::Closed,
            files: Vec::new(),
            stop: Stop::Terminate,
        };
        let limits = Limits {
            grace: Duration::from_millis(300),
            linger: Duration::from_millis(300),
            ..Limits::default()
        };
        Self {
            launch,
            limits,
            keep: None,
        }
    }

    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.launch.stdin = stdin;
        self
    }

    pub fn launch(mut self, change: impl FnOnce(&mut Launch)) -> Self {
        change(&mut self.launch);
        self
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub fn timeout(self, milliseconds: u64) -> Self {
        self.limits(|limits| limits.timeout = Some(Duration::from_millis(milliseconds)))
    }

    /// Only so many lines are remembered.
    pub fn keep(mut self, lines: usize) -> Self {
        self.keep = Some(lines);
        self
    }

    pub fn try_run(self) -> Result<Outcome, SpawnError> {
        let (name, token) = new_token();
        let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        env.insert(name.into(), token.clone().into());
        let mut seen = Recorder {
            keep: self.keep,
            ..Recorder::default()
        };
        let of_fake = Run {
            launch: &self.launch,
            env: &env,
            limits: &self.limits,
            signals: SignalPolicy::Leave,
            keep_open: None,
            scratch: None,
            output_closed: None,
        };
        let start = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let ending = runtime.block_on(run(of_fake, &mut seen));
        let took = start.elapsed();
        assert_eq!(
            survivors(&token),
            Vec::<i32>::new(),
            "survivors of {:?}",
            self.launch.args
        );
        for pid in told_pids(seen.stdout.iter().map(String::as_str)) {
            assert!(!is_alive(pid), "{pid} survived {:?}", self.launch.args);
        }
        Ok(Outcome {
            ending: ending?,
            seen,
            took,
        })
    }

    pub fn run(self) -> Outcome {
        self.try_run().unwrap()
    }
}

impl Outcome {
    /// The lines without those that tell a process.
    pub fn said(&self) -> Vec<&str> {
        let lines = self.seen.stdout.iter().map(String::as_str);
        lines.filter(|line| !line.starts_with("pid ")).collect()
    }

    /// How many processes the agent left behind.
    pub fn left(&self) -> usize {
        told_pids(self.seen.stdout.iter().map(String::as_str)).len()
    }
}
