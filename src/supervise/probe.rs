//! A short question to a program: `--version`, `--help`. Its tree is ended like that of a run, its time and its output
//! are capped, and many may be asked side by side.

use super::driver::{Driver, Stream};
use super::error::SpawnError;
use super::ladder::{Limits, Why};
use super::run::{Run, SignalPolicy, run};
use crate::backend::{Command, ExitStatus, Launch, Stdin, Stop};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// What to ask.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    pub cwd: &'a Path,
    pub timeout: Duration,
    /// The most that is kept of stdout, and as much again of stderr; a program that prints more is stopped.
    pub output_cap: usize,
}

/// How the answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeEnd {
    Complete,
    TimedOut,
    /// It printed more than was asked for.
    Capped,
}

/// What it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeOutput {
    pub end: ProbeEnd,
    pub exit: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

struct Capture {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    cap: usize,
    received: usize,
    overflowed: bool,
}

impl Capture {
    /// Keeps as much of a line as there is room for.
    fn keep(&mut self, stream: Stream, line: &[u8]) {
        if self.overflowed {
            return;
        }
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = self.cap.saturating_sub(kept.len());
        kept.extend_from_slice(&line[..line.len().min(room)]);
        kept.push(b'\n');
        self.overflowed = line.len() >= room;
    }
}

impl Driver for Capture {
    fn stdout(&mut self, line: &[u8]) {
        self.keep(Stream::Stdout, line);
    }

    fn stderr(&mut self, line: &[u8]) {
        self.keep(Stream::Stderr, line);
    }

    /// A line without an end is never handed over.
    fn received(&mut self, _stream: Stream, bytes: usize) {
        self.received = self.received.saturating_add(bytes);
        self.overflowed |= self.received > self.cap.saturating_mul(2);
    }

    fn dropped(&mut self, _stream: Stream, _bytes: u64) {
        self.overflowed = true;
    }

    fn take_commands(&mut self) -> Vec<Command> {
        if self.overflowed {
            vec![Command::Stop]
        } else {
            Vec::new()
        }
    }
}

/// Runs the program to its end, or to the caps.
pub async fn probe(probe: Probe<'_>) -> Result<ProbeOutput, SpawnError> {
    let launch = Launch {
        program: probe.program.to_owned(),
        args: probe.args.to_owned(),
        env: Vec::new(),
        env_file: None,
        cwd: probe.cwd.to_owned(),
        stdin: Stdin::Closed,
        files: Vec::new(),
        stop: Stop::Terminate,
    };
    let limits = Limits {
        timeout: Some(probe.timeout),
        // Nothing is lost with a program that is only asked for its version.
        grace: Duration::from_millis(200),
        line_cap: probe.output_cap,
        ..Limits::default()
    };
    let mut capture = Capture {
        stdout: Vec::new(),
        stderr: Vec::new(),
        cap: probe.output_cap,
        received: 0,
        overflowed: false,
    };
    let run_of_probe = Run {
        launch: &launch,
        env: probe.env,
        limits: &limits,
        signals: SignalPolicy::Leave,
        keep_open: None,
        scratch: None,
        output_closed: None,
    };
    let ending = run(run_of_probe, &mut capture).await?;
    Ok(ProbeOutput {
        end: match ending.why {
            Why::Timeout => ProbeEnd::TimedOut,
            _ if capture.overflowed => ProbeEnd::Capped,
            _ => ProbeEnd::Complete,
        },
        exit: ending.exit,
        stdout: String::from_utf8_lossy(&capture.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&capture.stderr).into_owned(),
    })
}
