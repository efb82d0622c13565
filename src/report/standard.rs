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

/// A place that output is written to, seen from the spool.
pub(super) trait Outlet: Write + Send {
    /// What is known of the reader.
    fn reader(&self) -> Reader {
        Reader::Unknown
    }

    /// Writes what is taken without waiting, and returns how much that was: nothing, if that cannot be known beforehand.
    fn write_now(&mut self, _bytes: &[u8]) -> usize {
        0
    }
}

/// A writer of a test, with what is known of its reader.
#[cfg(test)]
pub(super) struct Known<W>(pub W, pub Reader);

#[cfg(test)]
impl<W: Write> Write for Known<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
impl<W: Write + Send> Outlet for Known<W> {
    fn reader(&self) -> Reader {
        self.1
    }
}

/// One of the two, without std's own buffer: what is written is complete already.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standard {
    Output,
    Error,
}

impl Outlet for Standard {
    /// Looks without waiting.
    #[cfg(unix)]
    fn reader(&self) -> Reader {
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

    #[cfg(target_os = "linux")]
    fn write_now(&mut self, bytes: &[u8]) -> usize {
        self.with_descriptor(|descriptor| write_now(descriptor, bytes))
    }
}

/// A pipe is asked not to make us wait for this one write, which changes nothing for others who write there. Kernels before
/// 6.4, terminals and most files do not know how.
#[cfg(target_os = "linux")]
fn write_now(descriptor: std::os::fd::BorrowedFd<'_>, bytes: &[u8]) -> usize {
    use rustix::io::{ReadWriteFlags, pwritev2};
    /// Where the descriptor is, and not a place in a file.
    const HERE: u64 = u64::MAX;
    pwritev2(descriptor, &[io::IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(unix)]
impl Standard {
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsFd;

    #[test]
    fn what_is_written_now_is_taken_once_and_a_full_pipe_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut taken = 0;
        // More than a pipe of any usual size holds: it would wait for ever.
        for _ in 0..1000 {
            taken += write_now(writer.as_fd(), &[b'x'; 4096]);
        }
        assert!(taken < 1000 * 4096, "{taken}");
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), taken);
    }

    #[test]
    fn nothing_is_written_now_where_nobody_reads() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(write_now(writer.as_fd(), b"x"), 0);
    }
}
