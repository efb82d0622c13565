//! The programs that are compared, and how their runs are timed.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark starts the programs that it measures"
)]

use crate::child;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One way to do the thing that is measured.
pub type Way<'a> = Box<dyn Fn() -> Duration + 'a>;

/// The median of each way; they take turns.
pub fn medians(rounds: usize, ways: &[Way<'_>]) -> Vec<Duration> {
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..=rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            let time = way();
            // The first round only warms the caches.
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.into_iter().map(median).collect()
}

pub fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}

/// How long a command takes until it and its output have ended.
pub fn time(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let status = command.status().expect("a program that starts");
    let time = begun.elapsed();
    assert!(status.success(), "{command:?} failed: {status}");
    time
}

/// The same with its output going through a pipe to `cat`.
pub fn time_through_pipe(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a program that starts");
    let pipe = child.stdout.take().expect("a pipe");
    let status = Command::new("cat").stdin(pipe).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "cat failed");
    child.wait().expect("a program that ends");
    begun.elapsed()
}

/// Where the data and the state lie: on the disk that the project is on.
pub struct Place {
    pub directory: PathBuf,
    pub agentctl: PathBuf,
    pub harnesscli: Option<PathBuf>,
    pub jq: Option<PathBuf>,
    myself: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
        let directory = target.join("end-to-end");
        std::fs::create_dir_all(directory.join("home")).expect("a place to write");
        let built = PathBuf::from(env!("CARGO_BIN_EXE_agentctl"));
        Self {
            directory,
            agentctl: std::env::var_os("AGENTCTL").map_or(built, PathBuf::from),
            harnesscli: on_path("harness"),
            jq: on_path("jq"),
            myself: std::env::current_exe().expect("a path of our own"),
        }
    }

    /// A command in a world of its own: nothing of the user's is read or written.
    pub fn command(&self, program: &Path, role: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_remove("XDG_RUNTIME_DIR")
            .env("HOME", self.directory.join("home"))
            .env("AGENTCTL_STATE_DIR", self.directory.join("state"))
            .env(child::ROLE, role)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The stand-in for a CLI alone.
    pub fn bare(&self, role: &str) -> Command {
        self.command(&self.myself, role)
    }

    /// agentctl around it.
    pub fn run(&self, backend: &str, format: &str, role: &str) -> Command {
        let mut command = self.command(&self.agentctl, role);
        command
            .args([
                "run",
                "-b",
                backend,
                "-o",
                format,
                "--max-turns",
                "4000000000",
                "--cli-path",
            ])
            .arg(&self.myself)
            .arg("hi");
        command
    }

    /// The Rust peer around it; it looks for the CLI by name.
    pub fn peer(&self, backend: &str, role: &str) -> Option<Command> {
        let shims = self.directory.join("shims");
        std::fs::create_dir_all(&shims).expect("a place to write");
        let shim = shims.join(backend);
        if !shim.exists() {
            std::os::unix::fs::symlink(&self.myself, &shim).expect("a link");
        }
        let mut command = self.command(self.harnesscli.as_deref()?, role);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{}:{path}", shims.display()))
            .args(["run", "--agent", backend, "--output", "ndjson", "-p", "hi"]);
        Some(command)
    }

    /// A recording of about `bytes` in a file.
    pub fn file(&self, backend: &str, bytes: u64) -> PathBuf {
        let path = self.directory.join(format!("{backend}-{bytes}.ndjson"));
        if !path.exists() {
            std::fs::write(&path, crate::streams::recording(backend).of_size(bytes)).expect("a place to write");
        }
        path
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// The most memory that a process had, in bytes, seen from outside until it ends.
pub fn peak_memory(mut child: Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("a child of ours").is_none() {
        let mut text = String::new();
        let read = File::open(&status).and_then(|mut file| file.read_to_string(&mut text));
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok());
        if let (Ok(_), Some(now)) = (read, now) {
            peak = peak.max(1024 * now);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}

/// The processor time of all our children that ended, and of theirs.
pub fn processor_time() -> Duration {
    // SAFETY: a zeroed rusage is valid, and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let of = |time: libc::timeval| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64);
    of(usage.ru_utime) + of(usage.ru_stime)
}
