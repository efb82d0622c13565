//! The processes of one headless run on Windows: a job object that ends with its handle, so nothing survives us.
//!
//! There is no polite signal for a process without a console of its own: asking is killing here.

use super::error::{SpawnError, SpawnStep};
use super::spawn::{Pipes, Spawn, TreeEvent};
use crate::backend::{ExitStatus, Stdin, Stop};
use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use std::io;
use std::process::Stdio;

/// Keeps the job open; when it is dropped the job's processes end.
#[derive(Debug)]
pub struct Keeper {
    _child: Box<dyn ChildWrapper>,
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
#[derive(Debug)]
pub struct Tree {
    child: Box<dyn ChildWrapper>,
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
            child,
            phase: Phase::LeaderRuns,
            killed: false,
        };
        Ok((tree, pipes))
    }

    /// What happens to the tree next. Cancelling it loses nothing.
    pub async fn event(&mut self) -> TreeEvent {
        match self.phase {
            Phase::LeaderRuns => {
                let status = self.child.inner_mut().wait().await;
                self.phase = if self.killed { Phase::Killed } else { Phase::LeaderGone };
                TreeEvent::Exited(ExitStatus {
                    code: status.ok().and_then(|status| status.code()),
                    signal: None,
                })
            }
            Phase::Killed => {
                let _ = self.child.wait().await;
                self.phase = Phase::Gone;
                TreeEvent::Gone
            }
            Phase::LeaderGone | Phase::Gone => std::future::pending().await,
        }
    }

    pub fn ask(&mut self, _stop: Stop) {
        let _ = self.child.start_kill();
    }

    pub fn kill(&mut self) {
        let _ = self.child.start_kill();
        self.killed = true;
        if self.phase == Phase::LeaderGone {
            self.phase = Phase::Killed;
        }
    }

    pub fn suspend(&mut self) {}

    pub fn resume(&mut self) {}

    pub fn into_keeper(self) -> Keeper {
        Keeper { _child: self.child }
    }
}
