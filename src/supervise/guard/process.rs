//! The guard's own life after the fork. Everything here is async-signal-safe.

#[cfg(target_os = "linux")]
use super::linux;
use super::{Ends, KILL_ALL, Order, Report};
#[cfg(target_os = "linux")]
use std::ffi::c_void;
use std::ffi::{CStr, c_int};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

const CONTROL: RawFd = 3;
const STATUS: RawFd = 4;
const KEPT: RawFd = 5;

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
pub(super) unsafe fn guard(order: &Order) -> ! {
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
        let leader = start_the_cli(order);
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

/// The child borrows our memory until it has become the CLI, so that nothing is copied for it; we sleep meanwhile.
#[cfg(target_os = "linux")]
unsafe fn start_the_cli(order: &Order) -> libc::pid_t {
    extern "C" fn child(order: *mut c_void) -> c_int {
        // SAFETY: the order outlives the child's use of our memory.
        unsafe { become_the_cli(&*order.cast::<Order>().cast_const()) }
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs on a stack of its own, which was made for it and is aligned as a stack must be. What it
    // changes that is not memory (descriptors, handlers, the directory) is its own.
    unsafe {
        let top = order.stack.as_ptr_range().end.cast_mut().cast::<c_void>();
        libc::clone(child, top, flags, std::ptr::from_ref(order).cast_mut().cast())
    }
}

#[cfg(not(target_os = "linux"))]
unsafe fn start_the_cli(order: &Order) -> libc::pid_t {
    // SAFETY: the child runs only async-signal-safe code and never returns.
    unsafe {
        let leader = libc::fork();
        if leader == 0 {
            become_the_cli(order);
        }
        leader
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
    let mut told_empty = false;
    loop {
        // SAFETY: only async-signal-safe calls.
        let childless = unsafe { reap(&mut leader) };
        // A subreaper without children knows that all is over before anybody asks.
        let over = cfg!(target_os = "linux") && childless && !told_empty;
        if duty != Duty::Watch || over {
            if childless {
                told_empty = true;
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
            let before = duty;
            duty = unsafe { obey(leader, duty) };
            // What a CLI that has ended left behind is nobody's child of ours here: it would not be looked for. Its
            // group's number is not given to anybody else while a member lives.
            if cfg!(not(target_os = "linux")) && before == Duty::Watch && duty != Duty::Watch {
                // SAFETY: only async-signal-safe calls.
                unsafe { kill_children(leader) };
            }
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
