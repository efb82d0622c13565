//! The processes of one headless run on Unix, seen from our side: start, ask, kill, suspend, and what became of them.

use super::error::{SpawnError, SpawnStep};
use super::guard::{Ends, KILL_ALL, LOWEST_FD, Order, REPORT_SIZE, Report};
use super::process_table;
use super::spawn::{Pipes, Spawn, TreeEvent};
use crate::backend::{ExitStatus, Stdin, Stop};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// How long we wait for a guard to end before we leave it to itself.
const GUARD_WAIT: Duration = Duration::from_secs(2);

/// The guard process. When this is dropped the guard kills what is left of the tree, removes the scratch directory if
/// that is still there, and ends.
#[derive(Debug)]
pub struct Keeper {
    pid: libc::pid_t,
    control: Option<File>,
    /// How long whoever drops this waits for the guard's end.
    patience: Duration,
}

impl Keeper {
    /// Tells the guard to end, without waiting for it.
    pub fn dismiss(&mut self) {
        self.control = None;
    }

    fn order(&mut self, order: u8) {
        if let Some(control) = &mut self.control {
            // If the guard is gone its report pipe says so.
            let _ = control.write_all(&[order]);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.dismiss();
        let give_up = Instant::now() + self.patience;
        wait_for_end(self.pid, self.patience);
        let mut pause = Duration::from_micros(50);
        loop {
            let mut status = 0;
            // SAFETY: a plain system call on our own child.
            let reaped = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) };
            if reaped != 0 || Instant::now() > give_up {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

/// Sleeps until our child has ended, where the system can wake us for that: asking again and again costs every run a
/// part of a millisecond. It may return early.
#[cfg(target_os = "linux")]
fn wait_for_end(pid: libc::pid_t, patience: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Some(pidfd) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return;
    };
    let patience = Timespec::try_from(patience).ok();
    let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], patience.as_ref());
}

#[cfg(not(target_os = "linux"))]
fn wait_for_end(_pid: libc::pid_t, _patience: Duration) {}

/// The CLI and everything it started.
#[derive(Debug)]
pub struct Tree {
    keeper: Keeper,
    reports: ChildStdout,
    partial: ([u8; REPORT_SIZE], usize),
    leader: Option<i32>,
    token: String,
    lost: bool,
}

/// The child's end of a pipe, clear of the numbers that the guard gives out.
fn lift(fd: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, LOWEST_FD)?)
}

/// A bigger pipe spares both sides many switches. It is only a wish.
fn enlarge(fd: impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(fd, 1 << 20);
    #[cfg(not(target_os = "linux"))]
    let _ = fd;
}

impl Tree {
    /// Starts the CLI behind a guard. A program that cannot be executed is told later, as an event.
    pub fn spawn(spawn: &Spawn<'_>) -> Result<(Self, Pipes), SpawnError> {
        Self::try_spawn(spawn).map_err(|error| SpawnError::new(SpawnStep::Fork, spawn.launch, error))
    }

    fn try_spawn(spawn: &Spawn<'_>) -> io::Result<(Self, Pipes)> {
        let (control_read, control_write) = io::pipe()?;
        let (report_read, report_write) = io::pipe()?;
        let (stdout_read, stdout_write) = io::pipe()?;
        let (stderr_read, stderr_write) = io::pipe()?;
        enlarge(&stdout_write);
        rustix::io::ioctl_fionbio(&report_write, true)?;
        let (stdin_end, stdin) = match &spawn.launch.stdin {
            Stdin::Closed => (lift(File::open("/dev/null")?)?, None),
            Stdin::Inherited => (lift(io::stdin())?, None),
            Stdin::Bytes(_) | Stdin::Held(_) => {
                let (read, write) = io::pipe()?;
                enlarge(&write);
                let write = ChildStdin::from_std(std::process::ChildStdin::from(OwnedFd::from(write)))?;
                (lift(read)?, Some(write))
            }
        };
        let ends = Ends {
            stdin: stdin_end,
            stdout: lift(stdout_write)?,
            stderr: lift(stderr_write)?,
            control: lift(control_read)?,
            status: lift(report_write)?,
            kept: spawn.keep_open.map(lift).transpose()?,
        };
        let order = Order::new(
            spawn.launch.program.as_os_str(),
            spawn.launch.args.iter().map(AsRef::as_ref),
            spawn
                .env
                .iter()
                .map(|(name, value)| (name.as_os_str(), value.as_os_str())),
            spawn.launch.cwd.as_os_str(),
            spawn.scratch,
            ends,
        )?;
        let stdout = ChildStdout::from_std(std::process::ChildStdout::from(OwnedFd::from(stdout_read)))?;
        let stderr = ChildStderr::from_std(std::process::ChildStderr::from(OwnedFd::from(stderr_read)))?;
        let reports = ChildStdout::from_std(std::process::ChildStdout::from(OwnedFd::from(report_read)))?;
        let pid = order.start()?;
        let keeper = Keeper {
            pid,
            control: Some(File::from(OwnedFd::from(control_write))),
            patience: GUARD_WAIT,
        };
        let tree = Self {
            keeper,
            reports,
            partial: ([0; REPORT_SIZE], 0),
            leader: None,
            token: spawn.token.to_owned(),
            lost: false,
        };
        Ok((tree, Pipes { stdin, stdout, stderr }))
    }

    /// What happens to the tree next. Cancelling it loses nothing.
    pub async fn event(&mut self) -> TreeEvent {
        loop {
            match self.next_report().await {
                Some(Report::Started(pid)) => self.leader = Some(pid),
                Some(Report::ForkFailed(errno)) => return failed(SpawnStep::Fork, errno),
                Some(Report::DirectoryFailed(errno)) => return failed(SpawnStep::Directory, errno),
                Some(Report::ExecFailed(errno)) => return failed(SpawnStep::Execute, errno),
                Some(Report::Exited(status)) => return TreeEvent::Exited(exit_status(status)),
                Some(Report::Empty) => return TreeEvent::Gone,
                None if self.lost => std::future::pending().await,
                None => {
                    self.lost = true;
                    self.sweep();
                    return TreeEvent::Lost;
                }
            }
        }
    }

    async fn next_report(&mut self) -> Option<Report> {
        loop {
            let (bytes, filled) = &mut self.partial;
            match self.reports.read(&mut bytes[*filled..]).await {
                Ok(count @ 1..) => *filled += count,
                _ => return None,
            }
            if *filled == REPORT_SIZE {
                *filled = 0;
                if let Some(report) = Report::decode(*bytes) {
                    return Some(report);
                }
            }
        }
    }

    /// The guard is gone, which nobody but a SIGKILL can do: its work falls to us.
    fn sweep(&mut self) {
        process_table::kill_strays(self.keeper.pid, self.leader, &self.token);
    }

    /// Asks the CLI to stop in the way it honours best.
    pub fn ask(&mut self, stop: Stop) {
        let signal = match stop {
            Stop::Terminate => libc::SIGTERM,
            Stop::Interrupt => libc::SIGINT,
        };
        self.keeper.order(signal as u8);
    }

    /// Kills every process of the run.
    pub fn kill(&mut self) {
        self.keeper.order(KILL_ALL);
    }

    pub fn suspend(&mut self) {
        process_table::signal_descendants(self.keeper.pid, self.leader, libc::SIGSTOP);
    }

    pub fn resume(&mut self) {
        process_table::signal_descendants(self.keeper.pid, self.leader, libc::SIGCONT);
    }

    /// Has the guard end, and lets others run meanwhile.
    pub async fn end(mut self) {
        self.keeper.dismiss();
        // Its end closes the pipe of its reports.
        let end = async { while self.next_report().await.is_some() {} };
        if tokio::time::timeout(GUARD_WAIT, end).await.is_err() {
            self.keeper.patience = Duration::ZERO;
        }
    }

    /// The guard alone, for who wants it to stay (a scratch directory).
    pub fn into_keeper(self) -> Keeper {
        self.keeper
    }
}

fn failed(step: SpawnStep, errno: i32) -> TreeEvent {
    TreeEvent::NotStarted(step, io::Error::from_raw_os_error(errno))
}

fn exit_status(status: i32) -> ExitStatus {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::ExitStatus::from_raw(status);
    ExitStatus {
        code: status.code(),
        signal: status.signal(),
    }
}
