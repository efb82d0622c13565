//! Our standard output and standard error as places to write to, and what can be known of whoever reads them.

use std::io::{self, Write};

/// What the other end of a stream is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// A small piece is taken at once.
    Ready,
    Unknown,
    Gone,
}

/// One of the two, without std's own buffer: what is written is complete already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standard {
    Output,
    Error,
}

impl Standard {
    /// Looks without waiting.
    #[cfg(unix)]
    pub(super) fn reader(self) -> Reader {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.with_descriptor(|descriptor| {
            let mut watched = [PollFd::new(&descriptor, PollFlags::OUT)];
            match poll(&mut watched, Some(&now)) {
                Ok(1..) if watched[0].revents().contains(PollFlags::ERR) => Reader::Gone,
                Ok(1..) if watched[0].revents() == PollFlags::OUT => Reader::Ready,
                _ => Reader::Unknown,
            }
        })
    }

    #[cfg(not(unix))]
    pub(super) fn reader(self) -> Reader {
        Reader::Unknown
    }

    #[cfg(unix)]
    fn with_descriptor<T>(self, act: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> T) -> T {
        use std::os::fd::AsFd;
        match self {
            Self::Output => act(io::stdout().as_fd()),
            Self::Error => act(io::stderr().as_fd()),
        }
    }
}

impl Write for Standard {
    #[cfg(unix)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        self.with_descriptor(|descriptor| match rustix::io::write(descriptor, bytes) {
            // A descriptor that somebody else made non-blocking (a shell's terminal) is waited for.
            Err(rustix::io::Errno::AGAIN) => {
                poll(&mut [PollFd::new(&descriptor, PollFlags::OUT)], None)?;
                Err(io::ErrorKind::Interrupted.into())
            }
            written => Ok(written?),
        })
    }

    #[cfg(not(unix))]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Output => io::stdout().write(bytes),
            Self::Error => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        #[cfg(not(unix))]
        io::stdout().flush()?;
        Ok(())
    }
}
