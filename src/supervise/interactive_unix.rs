//! The CLI's own terminal UI: it gets our terminal and shares our process group, and we step aside.
//!
//! Ctrl-C and Ctrl-\ are the CLI's affair meanwhile. When it is stopped we stop too, so that the shell gets the
//! terminal back, and when the shell continues us we continue it. SIGTERM and SIGHUP are passed on. There is no guard:
//! what the user starts in a terminal of their own is theirs. A CLI that is killed leaves the terminal as its UI needed
//! it: we put back what was there, as a shell does for programs that it starts itself, and end what its UI asked of the
//! terminal's screen and keyboard.

use super::environment;
use super::error::{SpawnError, SpawnStep};
use super::signals;
use crate::backend::{ExitStatus, Launch};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Who gets the signals that are passed on.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that is to be passed on: it may come before there is a child.
static WAITING: AtomicI32 = AtomicI32::new(0);

extern "C" fn leave_alone(_signal: i32) {}

extern "C" fn pass_on(signal: i32) {
    signals::keeping_errno(|| {
        WAITING.store(signal, Ordering::SeqCst);
        hand_over();
    });
}

/// The child is there from now on.
fn adopt(child: libc::pid_t) {
    CHILD.store(child, Ordering::SeqCst);
    hand_over();
}

/// Passes on what came, if there is a child already; whoever stored its part last sees the other's. Async-signal-safe.
fn hand_over() {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        let signal = WAITING.swap(0, Ordering::SeqCst);
        if signal != 0 {
            // SAFETY: kill is async-signal-safe.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Our dispositions while this lives. Handlers, not ignoring: the child must not inherit it.
struct SteppedAside(Vec<(i32, libc::sigaction)>);

impl SteppedAside {
    fn new() -> Self {
        let leave_alone = leave_alone as extern "C" fn(i32) as libc::sighandler_t;
        let pass_on = pass_on as extern "C" fn(i32) as libc::sighandler_t;
        let mut before = Vec::new();
        WAITING.store(0, Ordering::SeqCst);
        for (signal, handler) in [
            (libc::SIGINT, leave_alone),
            (libc::SIGQUIT, leave_alone),
            (libc::SIGTERM, pass_on),
            (libc::SIGHUP, pass_on),
        ] {
            // SAFETY: zeroed sigactions are valid, and the handlers are async-signal-safe.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler;
                action.sa_flags = libc::SA_RESTART;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(signal, &action, std::ptr::null_mut());
                before.push((signal, old));
            }
        }
        Self(before)
    }

    /// The child is gone. Who asks it to end with Ctrl-C may do so once more than it takes: that is still not for us.
    fn but_for_interrupts(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
        self.put_back(|signal| signal != libc::SIGINT);
    }

    fn put_back(&mut self, which: impl Fn(i32) -> bool) {
        self.0.retain(|(signal, before)| {
            if which(*signal) {
                // SAFETY: puts back what was there.
                unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
            }
            !which(*signal)
        });
    }
}

impl Drop for SteppedAside {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
        self.put_back(|_| true);
    }
}

/// How the terminal is set.
struct TerminalSettings(libc::termios);

impl TerminalSettings {
    /// As it is now, if standard input is a terminal.
    fn now() -> Option<Self> {
        // SAFETY: a zeroed termios is valid, and the kernel fills it.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDIN_FILENO, &mut settings) == 0).then_some(Self(settings))
        }
    }

    /// Sets it so again, unless it is somebody else's by now.
    fn restore(&self) {
        // SAFETY: plain system calls on a terminal that is ours as long as our group is the one in front.
        let ours = unsafe {
            let ours = libc::tcgetpgrp(libc::STDIN_FILENO) == libc::getpgrp();
            if ours {
                libc::tcsetattr(libc::STDIN_FILENO, libc::TCSADRAIN, &self.0);
            }
            ours
        };
        let obeys = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let mut screen = io::stdout();
        if ours && obeys && screen.is_terminal() {
            // Where nobody reads it there is nothing to put back.
            let _ = screen.write_all(USUAL_SCREEN).and_then(|()| screen.flush());
        }
    }
}

/// Ends what user interfaces ask of a terminal, and does nothing to one of which nothing was asked: the other screen (which
/// also goes back to where the cursor was kept, so it is kept first), scrolling of a part, updates at once, a hidden
/// cursor, keys of the mouse and of an application, word of pastes and of the focus, other codes for keys, colours, lines
/// that do not wrap. Then a new line, without the rest of what was drawn there.
const USUAL_SCREEN: &[u8] = b"\x1b7\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[?2026l\x1b[?25h\
    \x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1l\x1b>\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[>4;0m\
    \x1b[0m\x1b[?7h\x1b[J\r\n";

/// Runs the CLI in our terminal until it ends, and then what is to be done about it: a Ctrl-C does not keep us from that.
#[expect(clippy::disallowed_methods, reason = "this is the module that spawns")]
pub fn interactive<T>(
    launch: &Launch,
    env: &BTreeMap<OsString, OsString>,
    then: impl FnOnce(ExitStatus) -> T,
) -> Result<T, SpawnError> {
    let token = uuid::Uuid::new_v4().to_string();
    let terminal = TerminalSettings::now();
    let mut aside = SteppedAside::new();
    let child = Command::new(&launch.program)
        .args(&launch.args)
        .env_clear()
        .envs(environment::of_launch(env, launch, &token))
        .current_dir(&launch.cwd)
        .spawn()
        .map_err(|error| {
            let step = if launch.cwd.is_dir() {
                SpawnStep::Execute
            } else {
                SpawnStep::Directory
            };
            SpawnError::new(step, launch, error)
        })?;
    let pid = child.id() as libc::pid_t;
    adopt(pid);
    let exit = wait(pid).map_err(|error| SpawnError::new(SpawnStep::Fork, launch, error))?;
    aside.but_for_interrupts();
    if let (Some(terminal), Some(_)) = (terminal, exit.signal) {
        terminal.restore();
    }
    Ok(then(exit))
}

fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    loop {
        let mut status = 0;
        // SAFETY: a plain system call on our own child.
        let waited = unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) };
        if waited < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else if libc::WIFSTOPPED(status) {
            if let Some(exit) = stop_with(pid) {
                return Ok(exit);
            }
        } else if let Some(exit) = exit_status(status) {
            return Ok(exit);
        }
    }
}

fn exit_status(status: i32) -> Option<ExitStatus> {
    let exit = ExitStatus {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
    };
    (exit != ExitStatus::default()).then_some(exit)
}

/// The child stopped. If the whole group was stopped we were too, and both go on by now; else it stopped alone. It may
/// also have ended in the meantime.
fn stop_with(pid: libc::pid_t) -> Option<ExitStatus> {
    std::thread::sleep(Duration::from_millis(20));
    let mut status = 0;
    // SAFETY: plain system calls on our own child and on us.
    unsafe {
        if libc::waitpid(pid, &mut status, libc::WCONTINUED | libc::WNOHANG) == pid {
            return exit_status(status);
        }
        signals::stop();
        libc::kill(pid, libc::SIGCONT);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};

    /// Signals are the whole process's.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn an_interrupt_that_comes_when_the_child_is_gone_ends_nothing() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "exit 3".into()],
            env: Vec::new(),
            env_file: None,
            cwd: Path::new("/").into(),
            stdin: crate::backend::Stdin::Inherited,
            files: Vec::new(),
            stop: crate::backend::Stop::Interrupt,
        };
        let code = interactive(&launch, &BTreeMap::new(), |exit| {
            // SAFETY: a plain system call; who handles the signal is what is asked here.
            unsafe { libc::raise(libc::SIGINT) };
            exit.code
        });
        assert_eq!(code.unwrap(), Some(3));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it needs a child")]
    fn a_signal_that_comes_before_the_child_is_for_the_child() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let aside = SteppedAside::new();
        pass_on(libc::SIGTERM);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        adopt(child.id() as libc::pid_t);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        drop(aside);
    }
}
