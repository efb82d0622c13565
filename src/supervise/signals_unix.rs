//! The signals of our own process during a run, and while its result is being written.
//!
//! After a run one late signal is held back, so that a Ctrl-C in the last moment does not cost the result; the next one
//! does what it always does. Handlers of a caller are put back at once.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;

const WATCHED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP];

/// The handler writes here. The pipe lives as long as the process: a handler may run at any time.
static WRITE_END: AtomicI32 = AtomicI32::new(-1);
static PIPE: OnceLock<(File, OwnedFd)> = OnceLock::new();
static IN_USE: AtomicBool = AtomicBool::new(false);
/// No run listens: one signal is held back.
const PARTING: u8 = 1;
/// No run listens: signals have their usual effect.
const PARTED: u8 = 2;
const LISTENING: u8 = 0;
static STAGE: AtomicU8 = AtomicU8::new(LISTENING);
/// The signal that was held back: if there is another run after all, it is for that one.
static HELD: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: i32) {
    let byte = signal as u8;
    keeping_errno(|| match STAGE.load(Ordering::Relaxed) {
        LISTENING => {
            // SAFETY: write is async-signal-safe.
            unsafe { libc::write(WRITE_END.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
        }
        _ if signal == libc::SIGTSTP => stop(),
        PARTED => {
            // SAFETY: async-signal-safe calls; the signal is delivered when we return.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        _ => {
            HELD.store(signal, Ordering::Relaxed);
            STAGE.store(PARTED, Ordering::Relaxed);
        }
    });
}

/// Does what a handler does, and puts errno back for whom it interrupted.
pub(super) fn keeping_errno(act: impl FnOnce()) {
    // SAFETY: the address is that of this thread's errno.
    unsafe {
        let errno = errno_location();
        let before = *errno;
        act();
        *errno = before;
    }
}

/// Stops our process as Ctrl-Z does where nobody handles it, and returns when it is continued. In an orphaned process
/// group, which no shell would ever continue, the kernel does nothing; a SIGSTOP would freeze us for good there.
///
/// Everything here is async-signal-safe.
pub(super) fn stop() {
    // SAFETY: zeroed sigactions are valid and mean the default; what was there is put back.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        let mut ours: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGTSTP, &default, &mut ours);
        let mut suspension = std::mem::zeroed();
        let mut blocked = std::mem::zeroed();
        libc::sigemptyset(&mut suspension);
        libc::sigaddset(&mut suspension, libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &suspension, &mut blocked);
        libc::raise(libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_SETMASK, &blocked, std::ptr::null_mut());
        libc::sigaction(libc::SIGTSTP, &ours, std::ptr::null_mut());
    }
}

unsafe fn errno_location() -> *mut i32 {
    // SAFETY: both return the address of this thread's errno.
    unsafe {
        #[cfg(target_os = "linux")]
        return libc::__errno_location();
        #[cfg(not(target_os = "linux"))]
        return libc::__error();
    }
}

/// Our signals while this lives.
pub(super) struct Signals {
    pipe: ChildStdout,
    /// Handlers of the caller.
    before: Vec<(i32, libc::sigaction)>,
    received: bool,
}

impl Signals {
    /// Takes the signals over; `None` if another run of this process has them. A signal that is ignored (nohup, a
    /// background job) stays ignored.
    pub(super) fn install() -> io::Result<Option<Self>> {
        if IN_USE.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        Self::take_over()
            .map(Some)
            .inspect_err(|_| IN_USE.store(false, Ordering::Release))
    }

    fn take_over() -> io::Result<Self> {
        let pipe = match PIPE.get() {
            Some(pipe) => pipe,
            None => {
                let (read, write) = io::pipe()?;
                rustix::io::ioctl_fionbio(&read, true)?;
                rustix::io::ioctl_fionbio(&write, true)?;
                WRITE_END.store(write.as_raw_fd(), Ordering::Relaxed);
                PIPE.get_or_init(|| (File::from(OwnedFd::from(read)), OwnedFd::from(write)))
            }
        };
        // What came too late for an earlier run is not for this one.
        let _ = (&pipe.0).read(&mut [0; 256]);
        let reader = ChildStdout::from_std(std::process::ChildStdout::from(OwnedFd::from(pipe.0.try_clone()?)))?;
        let mut signals = Self {
            pipe: reader,
            before: Vec::new(),
            received: false,
        };
        STAGE.store(LISTENING, Ordering::Relaxed);
        let ours = pass_on as extern "C" fn(i32) as libc::sighandler_t;
        for signal in WATCHED {
            // SAFETY: zeroed sigactions are valid, and the handler is async-signal-safe.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut before);
                if before.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = ours;
                action.sa_flags = libc::SA_RESTART;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(signal, &action, std::ptr::null_mut());
                if before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != ours {
                    signals.before.push((signal, before));
                }
            }
        }
        let held = HELD.swap(0, Ordering::Relaxed);
        if held != 0 {
            pass_on(held);
        }
        Ok(signals)
    }

    /// The next signal. Cancelling it loses nothing.
    pub(super) async fn next(&mut self) -> i32 {
        let mut byte = [0];
        match self.pipe.read(&mut byte).await {
            Ok(1) => {
                self.received = true;
                i32::from(byte[0])
            }
            _ => std::future::pending().await,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        STAGE.store(if self.received { PARTED } else { PARTING }, Ordering::Relaxed);
        for (signal, before) in &self.before {
            // SAFETY: puts back what was there.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        IN_USE.store(false, Ordering::Release);
    }
}

/// Whether this signal asks us to suspend.
pub(super) fn is_suspend(signal: i32) -> bool {
    signal == libc::SIGTSTP
}

/// Stops our process as Ctrl-Z would, and returns when it is continued, with the time that this took.
pub(super) fn suspend_ourselves() -> Duration {
    let start = Instant::now();
    stop();
    start.elapsed()
}
