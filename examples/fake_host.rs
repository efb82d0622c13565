//! A program that supervises another one as agentctl does, for the tests that send signals or kill the supervisor.
//!
//! `fake_host PROGRAM ARG…`: what the program prints goes to stdout, and the last line is `ended WHY …`. A line `done` of the
//! program counts as its result. `HOST_TIMEOUT` and `HOST_GRACE` are in milliseconds; `HOST_LOCK` is a file that is locked and
//! kept; `HOST_PANIC` panics at the line `panic`.

use agentctl::backend::{Command, Launch, ScratchEntry, Stdin, Stop};
use agentctl::report::Spool;
use agentctl::supervise::{Driver, Limits, Run, Scratch, SignalPolicy, run};
use std::time::{Duration, Instant};

struct Host {
    spool: Spool,
    batch: Vec<u8>,
    commands: Vec<Command>,
}

impl Driver for Host {
    fn stdout(&mut self, line: &[u8]) {
        self.batch.extend_from_slice(line);
        self.batch.push(b'\n');
        match line {
            b"done" => self.commands.push(Command::Finished),
            b"panic" => panic!("as the program wanted"),
            _ => {}
        }
    }

    fn batch_end(&mut self) {
        self.spool.push(&mut self.batch);
        self.batch.clear();
    }

    fn wake_at(&self) -> Option<Instant> {
        self.spool.watch_at()
    }

    fn tick(&mut self, now: Instant) {
        self.spool.watch(now);
    }

    fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }
}

fn milliseconds(name: &str) -> Option<Duration> {
    let value = std::env::var(name).ok()?.parse().ok()?;
    Some(Duration::from_millis(value))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let mut scratch = Scratch::create()?;
    let launch = Launch {
        program: args.next().ok_or("a program is missing")?.into(),
        args: args.collect(),
        env: Vec::new(),
        env_file: None,
        cwd: std::env::current_dir()?,
        stdin: Stdin::Closed,
        files: vec![ScratchEntry::File {
            path: scratch.path().unwrap_or(std::path::Path::new(".")).join("private/file"),
            contents: b"secret".to_vec(),
        }],
        stop: Stop::Terminate,
    };
    let limits = Limits {
        timeout: milliseconds("HOST_TIMEOUT"),
        grace: milliseconds("HOST_GRACE").unwrap_or(Duration::from_secs(3)),
        linger: milliseconds("HOST_LINGER").unwrap_or(Duration::from_secs(5)),
        ..Limits::default()
    };
    let lock = match std::env::var_os("HOST_LOCK") {
        Some(path) => {
            let file = std::fs::File::create(path)?;
            file.try_lock()?;
            Some(file)
        }
        None => None,
    };
    let spool = Spool::stdout();
    let closed = spool.closed();
    let mut host = Host {
        spool,
        batch: Vec::new(),
        commands: Vec::new(),
    };
    let env = std::env::vars_os().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let of_program = Run {
        launch: &launch,
        env: &env,
        limits: &limits,
        signals: SignalPolicy::Handle,
        keep_open: lock.as_ref(),
        scratch: Some(&mut scratch),
        output_closed: Some(&closed),
    };
    let ending = runtime.block_on(run(of_program, &mut host))?;
    let exit = ending.exit;
    let last = format!("ended {:?} code {:?} signal {:?}\n", ending.why, exit.code, exit.signal);
    host.spool.push(&mut last.into_bytes());
    host.spool.finish(Some(Duration::from_secs(2)))?;
    Ok(())
}
