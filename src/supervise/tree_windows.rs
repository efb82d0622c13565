//! The processes of one headless run on Windows: a job object that ends with its handle, so nothing survives us.
//!
//! There is no polite signal for a process without a console of its own: asking is killing here.

use super::error::{SpawnError, SpawnStep};
use super::spawn::{Pipes, Spawn, TreeEvent};
use crate::backend::{ExitStatus, Stdin, Stop};
use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::Stdio;

/// Keeps the job open; when it is dropped the job's processes end.
#[derive(Debug)]
pub struct Keeper {
    _child: Option<Box<dyn ChildWrapper>>,
}

impl Keeper {
    /// Nothing is left to do before it is dropped.
    pub fn dismiss(&mut self) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    LeaderRuns,
    LeaderGone,
    Killed,
    Gone,
}

/// The CLI and everything it started.
pub struct Tree {
    /// None once its end is waited for.
    child: Option<Box<dyn ChildWrapper>>,
    /// The one wait for the end of the whole job: begun again, it would only look at the CLI's own process.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    phase: Phase,
    killed: bool,
}

impl Tree {
    pub fn spawn(spawn: &Spawn<'_>) -> Result<(Self, Pipes), SpawnError> {
        Self::try_spawn(spawn).map_err(|error| SpawnError::new(SpawnStep::Execute, spawn.launch, error))
    }

    fn try_spawn(spawn: &Spawn<'_>) -> io::Result<(Self, Pipes)> {
        let stdin = match &spawn.launch.stdin {
            Stdin::Closed => Stdio::null(),
            Stdin::Inherited => Stdio::inherit(),
            Stdin::Bytes(_) | Stdin::Held(_) => Stdio::piped(),
        };
        let mut command = CommandWrap::with_new(&spawn.launch.program, |command| {
            command
                .args(&spawn.launch.args)
                .env_clear()
                .envs(spawn.env)
                .current_dir(&spawn.launch.cwd)
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        let mut child = command.wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let missing = || io::Error::other("a pipe of the child is missing");
        let pipes = Pipes {
            stdin: child.stdin().take(),
            stdout: child.stdout().take().ok_or_else(missing)?,
            stderr: child.stderr().take().ok_or_else(missing)?,
        };
        let tree = Self {
            child: Some(child),
            end: None,
            phase: Phase::LeaderRuns,
            killed: false,
        };
        Ok((tree, pipes))
    }

    /// What happens to the tree next. Cancelling it loses nothing.
    pub async fn event(&mut self) -> TreeEvent {
        match self.phase {
            Phase::LeaderRuns => {
                let Some(child) = &mut self.child else {
                    return std::future::pending().await;
                };
                let status = child.inner_mut().wait().await;
                self.phase = if self.killed { Phase::Killed } else { Phase::LeaderGone };
                TreeEvent::Exited(ExitStatus {
                    code: status.ok().and_then(|status| status.code()),
                    signal: None,
                })
            }
            Phase::Killed => {
                if let Some(child) = self.child.take() {
                    self.end = Some(Box::pin(end_of(child)));
                }
                if let Some(end) = &mut self.end {
                    end.await;
                }
                self.end = None;
                self.phase = Phase::Gone;
                TreeEvent::Gone
            }
            Phase::LeaderGone | Phase::Gone => std::future::pending().await,
        }
    }

    pub fn ask(&mut self, _stop: Stop) {
        if let Some(child) = &mut self.child {
            let _ = child.start_kill();
        }
    }

    pub fn kill(&mut self) {
        self.ask(Stop::Terminate);
        self.killed = true;
        if self.phase == Phase::LeaderGone {
            self.phase = Phase::Killed;
        }
    }

    pub fn suspend(&mut self) {}

    pub fn resume(&mut self) {}

    /// The job ends with its handle.
    pub async fn end(self) {}

    pub fn into_keeper(self) -> Keeper {
        Keeper { _child: self.child }
    }
}

/// The end of everything in a job, which is then closed.
async fn end_of(mut child: Box<dyn ChildWrapper>) {
    let _ = child.wait().await;
}
