//! Our standard output as a place to write to, and what can be known of whoever reads it.

use std::io::{self, Write};

/// What the other end of the output is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// A small piece is taken at once.
    Ready,
    Unknown,
    Gone,
}

/// Standard output without std's own buffer: what is pushed is complete already.
pub(super) struct RawStdout;

impl Write for RawStdout {
    #[cfg(unix)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::io::write(io::stdout(), bytes) {
            // A descriptor that somebody else made non-blocking (a shell's terminal) is waited for.
            Err(rustix::io::Errno::AGAIN) => {
                let stdout = io::stdout();
                let mut waiting = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
                rustix::event::poll(&mut waiting, None)?;
                Err(io::ErrorKind::Interrupted.into())
            }
            written => Ok(written?),
        }
    }

    #[cfg(not(unix))]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        #[cfg(not(unix))]
        io::stdout().flush()?;
        Ok(())
    }
}

/// Looks without waiting.
#[cfg(unix)]
pub(super) fn reader_of_stdout() -> Reader {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut watched, Some(&now)) {
        Ok(1..) if watched[0].revents().contains(PollFlags::ERR) => Reader::Gone,
        Ok(1..) if watched[0].revents() == PollFlags::OUT => Reader::Ready,
        _ => Reader::Unknown,
    }
}

#[cfg(not(unix))]
pub(super) fn reader_of_stdout() -> Reader {
    Reader::Unknown
}
