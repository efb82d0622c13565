//! The guard: a small process between us and the CLI that outlives us just long enough to end everything.
//!
//! It is forked from us, never runs another program, and holds two pipes: orders come in on one, reports go out on
//! the other. When the order pipe closes (we ended, panicked or were killed with SIGKILL) it kills its children until it
//! has none. On Linux it is a subreaper: whatever the CLI orphans becomes its child, so that loop empties the whole tree,
//! daemons in sessions of their own included. Elsewhere it kills the CLI's process group, which is the best there is.
//!
//! Our process may have threads, so everything after the fork is async-signal-safe: raw system calls, no allocation,
//! no locks, no panics. All that needs memory is prepared in [`Order`] before.

#[cfg(target_os = "linux")]
mod linux;
mod process;

use std::ffi::{CString, OsStr, c_char};
use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// The order to kill everything; every smaller number is a signal for the CLI's process group.
pub(super) const KILL_ALL: u8 = 0xff;

/// The child's ends of all pipes lie above this, clear of the numbers that are given to them after the fork.
pub(super) const LOWEST_FD: RawFd = 10;

/// What the guard reports; on the pipe a tag and a number, four bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The CLI's process id.
    Started(i32),
    /// `errno` of the step that failed.
    ForkFailed(i32),
    DirectoryFailed(i32),
    ExecFailed(i32),
    /// The CLI's process ended with this wait status.
    Exited(i32),
    /// No process is left: after `KILL_ALL`, and where the guard can tell also without it.
    Empty,
}

pub(super) const REPORT_SIZE: usize = 8;

impl Report {
    const fn parts(self) -> (i32, i32) {
        match self {
            Self::Started(pid) => (1, pid),
            Self::ForkFailed(errno) => (2, errno),
            Self::DirectoryFailed(errno) => (3, errno),
            Self::ExecFailed(errno) => (4, errno),
            Self::Exited(status) => (5, status),
            Self::Empty => (6, 0),
        }
    }

    fn encode(self) -> [u8; REPORT_SIZE] {
        let (tag, value) = self.parts();
        let [a, b, c, d] = tag.to_ne_bytes();
        let [e, f, g, h] = value.to_ne_bytes();
        [a, b, c, d, e, f, g, h]
    }

    pub(super) fn decode(bytes: [u8; REPORT_SIZE]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let value = i32::from_ne_bytes([e, f, g, h]);
        Some(match i32::from_ne_bytes([a, b, c, d]) {
            1 => Self::Started(value),
            2 => Self::ForkFailed(value),
            3 => Self::DirectoryFailed(value),
            4 => Self::ExecFailed(value),
            5 => Self::Exited(value),
            6 => Self::Empty,
            _ => return None,
        })
    }
}

/// The CLI's and the guard's ends of the pipes. Each is at least [`LOWEST_FD`] and closed on exec.
#[derive(Debug)]
pub(super) struct Ends {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    pub control: OwnedFd,
    pub status: OwnedFd,
    /// A lock that must stay taken until the tree is gone.
    pub kept: Option<OwnedFd>,
}

/// A list of C strings in the form that `execve` wants.
struct StringList {
    pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl StringList {
    fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self {
            pointers,
            _strings: strings,
        }
    }
}

/// Everything that the guard and the CLI need, made before the fork.
pub(super) struct Order {
    program: CString,
    argv: StringList,
    /// The same for a script without a `#!` line, which only a shell can run.
    shell_argv: StringList,
    envp: StringList,
    directory: CString,
    /// Removed if we die without doing it: the scratch directory, and its parent if that is empty then.
    scratch: Option<(CString, CString)>,
    ends: Ends,
    /// What the CLI's process stands on before it is the CLI.
    #[cfg(target_os = "linux")]
    stack: Box<[MaybeUninit<StackPiece>]>,
}

/// The processor wants stacks to be aligned like this.
#[cfg(target_os = "linux")]
#[repr(align(16))]
struct StackPiece {
    _bytes: [u8; 16],
}

#[cfg(target_os = "linux")]
const STACK_PIECES: usize = (64 << 10) / size_of::<StackPiece>();

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in a command, path or variable"))
}

impl Order {
    pub(super) fn new<'a>(
        program: &OsStr,
        args: impl Iterator<Item = &'a OsStr>,
        env: impl Iterator<Item = (&'a OsStr, &'a OsStr)>,
        directory: &OsStr,
        scratch: Option<&std::path::Path>,
        ends: Ends,
    ) -> io::Result<Self> {
        let name = c_string(program)?;
        let args = args.map(c_string).collect::<io::Result<Vec<_>>>()?;
        let argv = std::iter::once(name.clone()).chain(args.iter().cloned()).collect();
        let shell = [c"/bin/sh".to_owned(), name.clone()];
        let shell_argv = shell.into_iter().chain(args).collect();
        let envp = env
            .map(|(name, value)| {
                let mut pair = name.to_owned();
                pair.push("=");
                pair.push(value);
                c_string(&pair)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let scratch = scratch
            .and_then(|path| Some((path, path.parent()?)))
            .map(|(path, parent)| io::Result::Ok((c_string(path.as_os_str())?, c_string(parent.as_os_str())?)))
            .transpose()?;
        Ok(Self {
            program: name,
            argv: StringList::new(argv),
            shell_argv: StringList::new(shell_argv),
            envp: StringList::new(envp),
            directory: c_string(directory)?,
            scratch,
            ends,
            #[cfg(target_os = "linux")]
            stack: Box::new_uninit_slice(STACK_PIECES),
        })
    }

    /// Forks the guard, which forks and executes the CLI. Our copies of the child's pipe ends are closed.
    pub(super) fn start(self) -> io::Result<libc::pid_t> {
        // SAFETY: signals are blocked around the fork, so no handler of ours runs in the child; the child runs only
        // async-signal-safe code and never returns.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let pid = libc::fork();
            if pid == 0 {
                process::guard(&self);
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            if pid < 0 { Err(error) } else { Ok(pid) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for report in [
            Report::Started(77),
            Report::ForkFailed(11),
            Report::DirectoryFailed(2),
            Report::ExecFailed(13),
            Report::Exited(-1),
            Report::Empty,
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        assert_eq!(Report::decode([0; REPORT_SIZE]), None);
    }
}
