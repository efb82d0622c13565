//! The guard: a small process between us and the CLI that outlives us just long enough to end everything.
//!
//! It is forked from us, never runs another program, and holds two pipes: orders come in on one, reports go out on
//! the other. When the order pipe closes (we ended, panicked or were killed with SIGKILL) it kills its children until it
//! has none. On Linux it is a subreaper: whatever the CLI orphans becomes its child, so that loop empties the whole tree,
//! daemons in sessions of their own included. Elsewhere it kills the CLI's process group, which is the best there is.
//!
//! Our process may have threads, so everything after the fork is async-signal-safe: raw system calls, no allocation,
//! no locks, no panics. All that needs memory is prepared in [`Order`] before.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// The order to kill everything; every smaller number is a signal for the CLI's process group.
pub(super) const KILL_ALL: u8 = 0xff;

/// The child's ends of all pipes lie above this, clear of the numbers that are given to them after the fork.
pub(super) const LOWEST_FD: RawFd = 10;

const CONTROL: RawFd = 3;
const STATUS: RawFd = 4;
const KEPT: RawFd = 5;

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
    /// After `KILL_ALL`: no process is left.
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
}

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
                guard(&self);
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            if pid < 0 { Err(error) } else { Ok(pid) }
        }
    }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn report(fd: RawFd, report: Report) {
    let bytes = report.encode();
    // SAFETY: a plain write from the stack. If nobody reads any more there is nobody to tell.
    unsafe {
        libc::write(fd, bytes.as_ptr().cast(), bytes.len());
    }
}

extern "C" fn wake_only(_signal: c_int) {}

unsafe fn set_handler(signal: c_int, handler: libc::sighandler_t) {
    // SAFETY: a zeroed sigaction is valid, and the handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// The guard's whole life.
///
/// SAFETY: to be called only in a freshly forked child with all signals blocked.
unsafe fn guard(order: &Order) -> ! {
    // SAFETY: only async-signal-safe calls on memory that was prepared before the fork.
    unsafe {
        libc::setsid();
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_NAME, c"agentctl-guard".as_ptr(), 0, 0, 0);
        }
        // An ignored SIGCHLD would reap the CLI behind our back, and a report to nobody must not kill us.
        set_handler(libc::SIGCHLD, wake_only as extern "C" fn(c_int) as libc::sighandler_t);
        set_handler(libc::SIGPIPE, libc::SIG_IGN);
        let leader = libc::fork();
        if leader == 0 {
            become_the_cli(order);
        }
        if leader < 0 {
            report(order.ends.status.as_raw_fd(), Report::ForkFailed(errno()));
            libc::_exit(1);
        }
        libc::setpgid(leader, leader);
        keep_only_our_pipes(&order.ends);
        libc::chdir(c"/".as_ptr());
        report(STATUS, Report::Started(leader));
        watch(leader);
        if let Some((scratch, parent)) = &order.scratch {
            remove_scratch(scratch, parent);
        }
        libc::_exit(0);
    }
}

/// Neither the CLI's stdio nor anything else of ours may be held open by the guard.
unsafe fn keep_only_our_pipes(ends: &Ends) {
    // SAFETY: all sources lie above the fixed numbers, so no dup2 overwrites another source.
    unsafe {
        libc::dup2(ends.control.as_raw_fd(), CONTROL);
        libc::dup2(ends.status.as_raw_fd(), STATUS);
        match &ends.kept {
            Some(kept) => libc::dup2(kept.as_raw_fd(), KEPT),
            None => libc::close(KEPT),
        };
        for fd in 0..CONTROL {
            libc::close(fd);
        }
        close_from(KEPT + 1);
    }
}

unsafe fn close_from(first: RawFd) {
    // SAFETY: closing numbers that nobody in this process uses.
    unsafe {
        #[cfg(target_os = "linux")]
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let last = limit.rlim_cur.clamp(256, 65_536) as RawFd;
        for fd in first..last {
            libc::close(fd);
        }
    }
}

/// SAFETY: to be called only in the guard's freshly forked child.
unsafe fn become_the_cli(order: &Order) -> ! {
    // SAFETY: only async-signal-safe calls on memory that was prepared before the fork.
    unsafe {
        let status = order.ends.status.as_raw_fd();
        libc::setpgid(0, 0);
        libc::dup2(order.ends.stdin.as_raw_fd(), 0);
        libc::dup2(order.ends.stdout.as_raw_fd(), 1);
        libc::dup2(order.ends.stderr.as_raw_fd(), 2);
        if libc::chdir(order.directory.as_ptr()) != 0 {
            report(status, Report::DirectoryFailed(errno()));
            libc::_exit(127);
        }
        reset_signals();
        let envp = order.envp.pointers.as_ptr();
        libc::execve(order.program.as_ptr(), order.argv.pointers.as_ptr(), envp);
        if errno() == libc::ENOEXEC {
            libc::execve(c"/bin/sh".as_ptr(), order.shell_argv.pointers.as_ptr(), envp);
        }
        report(status, Report::ExecFailed(errno()));
        libc::_exit(127);
    }
}

/// Handlers of ours must not run in the child before `execve` clears them. What was ignored on purpose (nohup) stays so.
unsafe fn reset_signals() {
    // SAFETY: plain signal calls; numbers that cannot be changed are refused by the kernel.
    unsafe {
        for signal in 1..=64 {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut action) == 0
                && action.sa_sigaction != libc::SIG_IGN
                && action.sa_sigaction != libc::SIG_DFL
            {
                set_handler(signal, libc::SIG_DFL);
            }
        }
        set_handler(libc::SIGPIPE, libc::SIG_DFL);
        set_handler(libc::SIGCHLD, libc::SIG_DFL);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Duty {
    Watch,
    /// Kill until there is nobody left, then watch on.
    KillAll,
    /// The same, then end: we are alone.
    KillAllAndEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leader {
    Alive(libc::pid_t),
    Gone(libc::pid_t),
}

/// Reaps, obeys and kills until the order pipe is closed and no child is left.
unsafe fn watch(leader: libc::pid_t) {
    let mut leader = Leader::Alive(leader);
    let mut duty = Duty::Watch;
    let mut pause_ms: i64 = 1;
    loop {
        // SAFETY: only async-signal-safe calls.
        let childless = unsafe { reap(&mut leader) };
        if duty != Duty::Watch {
            if childless {
                report(STATUS, Report::Empty);
                // SAFETY: nothing in this process uses the lock; the tree that it was kept for is gone.
                unsafe { libc::close(KEPT) };
                if duty == Duty::KillAllAndEnd {
                    return;
                }
                duty = Duty::Watch;
            } else {
                // SAFETY: only async-signal-safe calls.
                unsafe { kill_children(leader) };
            }
        }
        let (timeout, control) = match duty {
            Duty::Watch => (None, Some(CONTROL)),
            Duty::KillAll => (Some(pause_ms), Some(CONTROL)),
            Duty::KillAllAndEnd => (Some(pause_ms), None),
        };
        // A process that cannot be killed (another user's, or deep in the kernel) must not cost a processor.
        pause_ms = if duty == Duty::Watch {
            1
        } else {
            (pause_ms * 2).min(250)
        };
        // SAFETY: only async-signal-safe calls.
        if unsafe { wait_for_news(control, timeout) } {
            duty = unsafe { obey(leader, duty) };
        }
    }
}

/// Reaps whatever ended; whether no child is left.
unsafe fn reap(leader: &mut Leader) -> bool {
    loop {
        let mut status = 0;
        // SAFETY: a plain system call.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return false,
            pid if pid > 0 => {
                if *leader == Leader::Alive(pid) {
                    *leader = Leader::Gone(pid);
                    report(STATUS, Report::Exited(status));
                }
            }
            _ if errno() == libc::EINTR => {}
            _ => return true,
        }
    }
}

/// Sleeps until an order comes, a child ends or the time is over; whether there is something to read.
unsafe fn wait_for_news(control: Option<RawFd>, timeout_ms: Option<i64>) -> bool {
    // SAFETY: all structures live on the stack, and the descriptor is far below FD_SETSIZE.
    unsafe {
        let mut reading: libc::fd_set = std::mem::zeroed();
        libc::FD_ZERO(&mut reading);
        let mut count = 0;
        if let Some(control) = control {
            libc::FD_SET(control, &mut reading);
            count = control + 1;
        }
        let mut timeout: libc::timespec = std::mem::zeroed();
        let timeout = match timeout_ms {
            Some(milliseconds) => {
                timeout.tv_nsec = (milliseconds * 1_000_000) as libc::c_long;
                &raw const timeout
            }
            None => std::ptr::null(),
        };
        // Everything stays blocked but the word of a child's end, which interrupts the sleep.
        let mut mask = std::mem::zeroed();
        libc::sigfillset(&mut mask);
        libc::sigdelset(&mut mask, libc::SIGCHLD);
        let null = std::ptr::null_mut();
        libc::pselect(count, &mut reading, null, null, timeout, &mask) > 0
    }
}

unsafe fn obey(leader: Leader, duty: Duty) -> Duty {
    let mut orders = [0u8; 64];
    // SAFETY: reads into the stack.
    let count = unsafe { libc::read(CONTROL, orders.as_mut_ptr().cast(), orders.len()) };
    if count == 0 {
        return Duty::KillAllAndEnd;
    }
    let mut duty = duty;
    for &order in orders.iter().take(usize::try_from(count).unwrap_or(0)) {
        if order == KILL_ALL {
            duty = Duty::KillAll;
        } else if let Leader::Alive(pid) = leader {
            // SAFETY: the leader is not reaped yet, so its number is still its own. A stopped process acts on a
            // signal only when it is continued.
            unsafe {
                libc::kill(-pid, c_int::from(order));
                libc::kill(-pid, libc::SIGCONT);
            }
        }
    }
    duty
}

/// Kills every child we have now. On Linux the orphans of those become our children, and are killed the next time.
unsafe fn kill_children(leader: Leader) {
    let (Leader::Alive(group) | Leader::Gone(group)) = leader;
    // SAFETY: only async-signal-safe calls. Our children are not reaped yet, so their numbers are their own; the group
    // is signalled only where its members cannot be listed.
    unsafe {
        #[cfg(target_os = "linux")]
        {
            if leader == Leader::Alive(group) {
                libc::kill(-group, libc::SIGKILL);
            }
            linux::kill_listed_children();
        }
        #[cfg(not(target_os = "linux"))]
        libc::kill(-group, libc::SIGKILL);
    }
}

unsafe fn remove_scratch(scratch: &CStr, parent: &CStr) {
    // SAFETY: only async-signal-safe calls.
    unsafe {
        #[cfg(target_os = "linux")]
        linux::remove_tree(libc::AT_FDCWD, scratch, 32);
        #[cfg(not(target_os = "linux"))]
        {
            let argv = [
                c"rm".as_ptr(),
                c"-rf".as_ptr(),
                c"--".as_ptr(),
                scratch.as_ptr(),
                std::ptr::null(),
            ];
            let child = libc::fork();
            if child == 0 {
                libc::execve(c"/bin/rm".as_ptr(), argv.as_ptr(), argv[4..].as_ptr());
                libc::_exit(127);
            }
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        libc::rmdir(parent.as_ptr());
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! What only Linux has: lists of children, and directories that can be read without allocating.

    use std::ffi::{CStr, c_int};
    use std::os::fd::RawFd;

    pub(super) unsafe fn kill_listed_children() {
        // SAFETY: only async-signal-safe calls; we have one thread, so its children are all of ours.
        unsafe {
            let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if fd < 0 {
                kill_children_by_scan();
                return;
            }
            let mut pid: i32 = 0;
            let mut buffer = [0u8; 4096];
            loop {
                let count = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
                let Ok(count @ 1..) = usize::try_from(count) else { break };
                for &byte in buffer.iter().take(count) {
                    if byte.is_ascii_digit() {
                        pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
                    } else {
                        kill(pid);
                        pid = 0;
                    }
                }
            }
            kill(pid);
            libc::close(fd);
        }
    }

    unsafe fn kill(pid: i32) {
        if pid > 1 {
            // SAFETY: a plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// For kernels that are built without the lists of children: asks every process for its parent.
    unsafe fn kill_children_by_scan() {
        // SAFETY: only async-signal-safe calls.
        unsafe {
            let us = libc::getpid();
            let fd = libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC);
            if fd < 0 {
                return;
            }
            for_each_entry(fd, |name| {
                let Some(pid) = number(name.to_bytes()) else { return };
                let process = libc::openat(fd, name.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
                let stat = libc::openat(process, c"stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                let mut text = [0u8; 512];
                let count = libc::read(stat, text.as_mut_ptr().cast(), text.len());
                libc::close(stat);
                libc::close(process);
                let text = text.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default();
                if parent_in_stat(text) == Some(us) {
                    kill(pid);
                }
            });
            libc::close(fd);
        }
    }

    pub(super) fn number(text: &[u8]) -> Option<i32> {
        if text.is_empty() {
            return None;
        }
        text.iter().try_fold(0i32, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| i32::from(byte - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        })
    }

    /// `pid (name) state parent …`, where the name may hold anything, parentheses included.
    pub(super) fn parent_in_stat(text: &[u8]) -> Option<i32> {
        let name_end = text.iter().rposition(|&byte| byte == b')')?;
        let mut fields = text.get(name_end + 2..)?.split(|&byte| byte == b' ');
        fields.next()?;
        number(fields.next()?)
    }

    #[repr(C, align(8))]
    struct Entries([u8; 4096]);

    /// One pass over a directory; whether there was any entry but `.` and `..`.
    unsafe fn for_each_entry(fd: RawFd, mut visit: impl FnMut(&CStr)) -> bool {
        const NAME_AT: usize = 19;
        let mut any = false;
        let mut entries = Entries([0; 4096]);
        loop {
            // SAFETY: the kernel fills the buffer with whole records: two 8-byte numbers, the record's length, a
            // type, and a name that ends with NUL.
            let count = unsafe { libc::syscall(libc::SYS_getdents64, fd, entries.0.as_mut_ptr(), entries.0.len()) };
            let Ok(count @ 1..) = usize::try_from(count) else {
                return any;
            };
            let mut rest = entries.0.get(..count).unwrap_or_default();
            while let Some(&[low, high]) = rest.get(16..18).and_then(|bytes| bytes.first_chunk()) {
                let length = usize::from(u16::from_ne_bytes([low, high]));
                if let Some(name) = rest
                    .get(NAME_AT..length)
                    .and_then(|name| CStr::from_bytes_until_nul(name).ok())
                    && name != c"."
                    && name != c".."
                {
                    any = true;
                    visit(name);
                }
                rest = rest.get(length.max(1)..).unwrap_or_default();
            }
        }
    }

    /// Removes a directory with everything in it. Links are removed and never followed.
    pub(super) unsafe fn remove_tree(parent: RawFd, name: &CStr, depth: u32) {
        // SAFETY: only async-signal-safe calls.
        unsafe {
            const FLAGS: c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            let fd = libc::openat(parent, name.as_ptr(), FLAGS);
            if fd < 0 {
                libc::unlinkat(parent, name.as_ptr(), 0);
                return;
            }
            libc::fchmod(fd, 0o700);
            // A directory that is changed while it is read may hide entries: read it again until it is empty.
            for _ in 0..64 {
                let found = for_each_entry(fd, |entry| {
                    if libc::unlinkat(fd, entry.as_ptr(), 0) != 0 && depth > 0 {
                        remove_tree(fd, entry, depth - 1);
                    }
                });
                if !found {
                    break;
                }
                libc::lseek(fd, 0, libc::SEEK_SET);
            }
            libc::close(fd);
            libc::unlinkat(parent, name.as_ptr(), libc::AT_REMOVEDIR);
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(linux::parent_in_stat(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(linux::parent_in_stat(b"12 (a) R 9 (b)) S 34 12"), Some(34));
        assert_eq!(linux::parent_in_stat(b"12 (sh"), None);
        assert_eq!(linux::parent_in_stat(b""), None);
        assert_eq!(linux::number(b"99999999999"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_scratch_directory_is_removed_without_following_its_links() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("precious"), "kept").unwrap();
        let parent = tempfile::tempdir().unwrap();
        let scratch = parent.path().join("scratch");
        for index in 0..300 {
            let directory = scratch.join(format!("deep/er{index}"));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("a file with a long name"), "x").unwrap();
        }
        std::os::unix::fs::symlink(outside.path(), scratch.join("link")).unwrap();
        let path = c_string(scratch.as_os_str()).unwrap();
        // SAFETY: plain system calls on a directory of ours.
        unsafe { linux::remove_tree(libc::AT_FDCWD, &path, 32) };
        assert!(!scratch.exists());
        assert!(outside.path().join("precious").exists());
    }
}
