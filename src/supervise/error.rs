//! Why a CLI could not be started, told as a failure with advice.

use crate::backend::Launch;
use crate::error::{ErrorKind, Failure};
use std::io;
use std::path::PathBuf;

/// Which step of starting failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnStep {
    /// The private files of the run could not be made.
    Scratch,
    /// Pipes or processes could not be had.
    Fork,
    /// The working directory could not be entered.
    Directory,
    /// The program could not be executed.
    Execute,
}

/// The CLI could not be started; nothing is left of the try.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.message())]
pub struct SpawnError {
    pub step: SpawnStep,
    pub program: PathBuf,
    pub cwd: PathBuf,
    pub source: io::Error,
}

impl SpawnError {
    pub fn new(step: SpawnStep, launch: &Launch, source: io::Error) -> Self {
        Self {
            step,
            program: launch.program.clone(),
            cwd: launch.cwd.clone(),
            source,
        }
    }

    fn message(&self) -> String {
        let (program, cwd, why) = (self.program.display(), self.cwd.display(), &self.source);
        match self.step {
            SpawnStep::Scratch => format!("cannot make the private files of this run: {why}"),
            SpawnStep::Fork => format!("cannot start a process for {program}: {why}"),
            SpawnStep::Directory => format!("cannot work in {cwd}: {why}"),
            SpawnStep::Execute => format!("cannot execute {program}: {why}"),
        }
    }

    /// The same as a failure of the run.
    pub fn failure(&self) -> Failure {
        let message = self.message();
        match (self.step, self.source.kind()) {
            (SpawnStep::Execute, io::ErrorKind::NotFound) => Failure::new(ErrorKind::NotInstalled, message)
                .hint("check the path; if the file is there, the interpreter in its first line is not"),
            (SpawnStep::Execute, io::ErrorKind::ArgumentListTooLong) => {
                Failure::new(ErrorKind::InvalidRequest, message)
                    .hint("the arguments and the environment are too long together: shorten raw arguments or --env")
            }
            (SpawnStep::Execute, _) => Failure::new(ErrorKind::NotExecutable, message)
                .hint("it must be a program for this machine that you may execute"),
            (SpawnStep::Directory, _) => Failure::usage(message).hint("name a directory that you may enter with --cwd"),
            (SpawnStep::Scratch, _) => Failure::new(ErrorKind::NotExecutable, message)
                .hint("check the free space and the rights of the temporary directory (TMPDIR)"),
            (SpawnStep::Fork, io::ErrorKind::InvalidInput) => Failure::usage(message),
            (SpawnStep::Fork, _) => Failure::new(ErrorKind::NotExecutable, message)
                .hint("the machine is out of processes, memory or open files: see ulimit -a"),
        }
    }
}
