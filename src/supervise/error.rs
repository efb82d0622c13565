//! Why a CLI could not be started, told as a failure with advice.

use super::scratch::no_scratch;
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
            SpawnStep::Scratch => no_scratch(why).message,
            SpawnStep::Fork => format!("cannot start a process for {program}: {why}"),
            SpawnStep::Directory => format!("cannot work in {cwd}: {why}"),
            SpawnStep::Execute => format!("cannot execute {program}: {why}"),
        }
    }

    /// The same as a failure of the run.
    pub fn failure(&self) -> Failure {
        let message = self.message();
        match (self.step, self.source.kind()) {
            (SpawnStep::Scratch, _) => no_scratch(&self.source),
            (SpawnStep::Fork, io::ErrorKind::InvalidInput) => Failure::usage(message),
            (SpawnStep::Fork, _) => shortage(message),
            (SpawnStep::Execute, _) if is_shortage(&self.source) => shortage(message),
            (SpawnStep::Execute, io::ErrorKind::NotFound) => Failure::new(ErrorKind::NotInstalled, message)
                .hint("check the path; if the file is there, the interpreter in its first line is not"),
            (SpawnStep::Execute, io::ErrorKind::ArgumentListTooLong) => {
                Failure::new(ErrorKind::InvalidRequest, message)
                    .hint("the arguments and the environment are too long together: shorten raw arguments or --env")
            }
            (SpawnStep::Execute, _) => Failure::new(ErrorKind::NotExecutable, message)
                .hint("it must be a program for this machine that you may execute"),
            (SpawnStep::Directory, _) => Failure::usage(message).hint("name a directory that you may enter with --cwd"),
        }
    }
}

/// It passes, so the same may work later.
pub fn shortage(message: String) -> Failure {
    Failure {
        retryable: true,
        ..Failure::new(ErrorKind::Crashed, message)
            .hint("the machine is out of processes, memory or open files: see ulimit -a")
    }
}

/// Whether a program could not be executed because of the machine, and not because of the program.
#[cfg(unix)]
fn is_shortage(error: &io::Error) -> bool {
    const SHORT: [i32; 4] = [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE];
    error.raw_os_error().is_some_and(|errno| SHORT.contains(&errno))
}

#[cfg(not(unix))]
fn is_shortage(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn failure(step: SpawnStep, errno: i32) -> Failure {
        SpawnError {
            step,
            program: "cli".into(),
            cwd: "/".into(),
            source: io::Error::from_raw_os_error(errno),
        }
        .failure()
    }

    #[test]
    fn a_machine_that_is_short_of_something_is_no_fault_of_the_program_and_may_be_better_later() {
        for (step, errno) in [
            (SpawnStep::Fork, libc::EMFILE),
            (SpawnStep::Fork, libc::EAGAIN),
            (SpawnStep::Execute, libc::ENOMEM),
        ] {
            let failure = failure(step, errno);
            assert_eq!(
                (failure.kind, failure.retryable),
                (ErrorKind::Crashed, true),
                "{failure}"
            );
        }
        let failure = failure(SpawnStep::Execute, libc::EACCES);
        assert_eq!((failure.kind, failure.retryable), (ErrorKind::NotExecutable, false));
    }

    #[test]
    fn private_files_that_cannot_be_made_are_one_failure_whoever_makes_them() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        assert_eq!(failure(SpawnStep::Scratch, libc::ENOSPC), no_scratch(&full()));
        assert_eq!(no_scratch(&full()).kind, ErrorKind::Crashed);
    }
}
