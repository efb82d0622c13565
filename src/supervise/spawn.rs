//! What the loop and the platforms' trees say to each other.

use super::error::SpawnStep;
use crate::backend::{ExitStatus, Launch};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// What to start, and what the guard must know about it.
#[cfg_attr(not(unix), expect(dead_code, reason = "a job object needs no guard"))]
pub struct Spawn<'a> {
    pub launch: &'a Launch,
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The value of `AGENTCTL_RUN` in it.
    pub token: &'a str,
    pub keep_open: Option<&'a File>,
    pub scratch: Option<&'a Path>,
}

/// Our ends of the CLI's standard streams.
#[derive(Debug)]
pub struct Pipes {
    pub stdin: Option<ChildStdin>,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// What became of a tree.
#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only a guard can be lost"))]
pub enum TreeEvent {
    /// The CLI was never executed.
    NotStarted(SpawnStep, io::Error),
    /// The CLI's own process ended; what it started may live on.
    Exited(ExitStatus),
    /// After a kill: no process is left.
    Gone,
    /// The guard was killed. What could be found of the tree was killed too, and nobody knows how the CLI ended.
    Lost,
}
