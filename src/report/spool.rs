//! The output thread: what is pushed is written in order, and pushing never waits for the reader.
//!
//! A reader that stalls must freeze neither supervision nor memory. What it has not taken yet is kept in memory up to a
//! limit, and beyond that in an unlinked temporary file that the thread works off. A reader that is gone is told to the
//! supervisor, and what is pushed then is dropped.

use crate::supervise::OutputClosed;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most that is kept in memory; about the same again may be on its way to the reader.
const MEMORY: usize = 2 << 20;
/// How much is taken from the file at once.
const CHUNK: usize = 1 << 20;
/// How often an idle thread looks whether the reader is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Why the output did not get out.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Nobody reads any more. Not an error for a filter: `| head` does it.
    #[error("the reader of the output is gone")]
    Closed,
    #[error("the output cannot be written: {0}")]
    Write(io::Error),
    /// The reader has not taken everything in time.
    #[error("the reader of the output is stalled")]
    Stalled,
}

/// The writing end: see the module.
#[derive(Debug)]
pub struct Spool {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    closed: OutputClosed,
}

#[derive(Debug, Default)]
struct State {
    memory: Vec<u8>,
    spill: Option<Spill>,
    /// The thread holds something that is not written yet.
    busy: bool,
    end: Option<End>,
    error: Option<io::Error>,
    finishing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Failed,
}

/// What did not fit in memory. While this exists, everything new goes behind it.
#[derive(Debug)]
struct Spill {
    file: File,
    read: u64,
    written: u64,
}

impl Spill {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn take(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.read))?;
        let wanted = (self.written - self.read).min(CHUNK as u64);
        (&mut self.file).take(wanted).read_to_end(chunk)?;
        if chunk.len() as u64 != wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read += wanted;
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.spill.is_none() && !self.busy
    }

    fn push(&mut self, bytes: &mut Vec<u8>) {
        if self.end.is_some() {
            return;
        }
        if self.spill.is_none() && self.memory.is_empty() {
            std::mem::swap(&mut self.memory, bytes);
            return;
        }
        if self.spill.is_none() && self.memory.len() + bytes.len() > MEMORY {
            self.spill = tempfile::tempfile().ok().map(|file| Spill {
                file,
                read: 0,
                written: 0,
            });
        }
        match &mut self.spill {
            Some(spill) if self.error.is_none() => self.error = spill.append(bytes).err(),
            // A spill that failed is an error at the end; nothing may be written behind the gap.
            Some(_) => {}
            // Without a place for a temporary file there is only memory.
            None => self.memory.extend_from_slice(bytes),
        }
    }

    /// The next bytes to write, in order: memory is always older than the spill.
    fn take(&mut self, chunk: &mut Vec<u8>) {
        chunk.clear();
        if !self.memory.is_empty() {
            std::mem::swap(chunk, &mut self.memory);
        } else if let Some(spill) = &mut self.spill {
            if let Err(error) = spill.take(chunk) {
                self.error.get_or_insert(error);
                self.end = Some(End::Failed);
                self.spill = None;
                chunk.clear();
            } else if spill.read == spill.written {
                self.spill = None;
            }
        }
    }
}

impl Spool {
    /// A thread that writes to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> io::Result<Self> {
        Self::with_watch(writer, || false)
    }

    /// Our standard output; the thread also notices when its reader goes while there is nothing to write.
    pub fn stdout() -> io::Result<Self> {
        Self::with_watch(RawStdout, stdout_is_broken)
    }

    fn with_watch(writer: impl Write + Send + 'static, is_broken: fn() -> bool) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || write_all(&for_thread, writer, is_broken))?;
        Ok(Self { shared })
    }

    /// Hands bytes over, and leaves an empty buffer: another one if that saves a copy. Never waits for the reader.
    pub fn push(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.shared.lock().push(bytes);
        bytes.clear();
        self.shared.changed.notify_all();
    }

    /// Word for the supervisor that the reader is gone.
    pub fn closed(&self) -> OutputClosed {
        self.shared.closed.clone()
    }

    /// Whether the reader went away, as far as is known now.
    pub fn reader_is_gone(&self) -> bool {
        self.shared.lock().end == Some(End::Closed)
    }

    /// Waits a moment until everything is written, so that what another stream shows on the same terminal comes after it.
    pub fn settle(&self, patience: Duration) {
        let mut state = self.shared.lock();
        let give_up = Instant::now() + patience;
        while !state.is_empty() && state.end.is_none() && Instant::now() < give_up {
            let left = give_up.saturating_duration_since(Instant::now());
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until everything is written, or the reader is gone, or the patience is over.
    pub fn finish(self, patience: Option<Duration>) -> Result<(), SpoolError> {
        let give_up = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut state = self.shared.lock();
        state.finishing = true;
        self.shared.changed.notify_all();
        while !state.is_empty() && state.end.is_none() {
            let left = match give_up {
                Some(give_up) => give_up.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return Err(SpoolError::Stalled);
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match (state.end, state.error.take()) {
            (Some(End::Closed), _) => Err(SpoolError::Closed),
            (_, Some(error)) => Err(SpoolError::Write(error)),
            (Some(End::Failed), None) => Err(SpoolError::Write(io::ErrorKind::Other.into())),
            (None, None) => Ok(()),
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // The thread ends when it has written everything; whoever wants to wait for that calls `finish`.
        self.shared.lock().finishing = true;
        self.shared.changed.notify_all();
    }
}

fn write_all(shared: &Shared, mut writer: impl Write, is_broken: fn() -> bool) {
    let mut chunk = Vec::new();
    loop {
        if !wait_for_work(shared, &mut chunk, is_broken) {
            return;
        }
        let written = writer.write_all(&chunk).and_then(|()| writer.flush());
        // One huge push is not paid for during the rest of the run.
        chunk.clear();
        chunk.shrink_to(2 * CHUNK);
        let mut state = shared.lock();
        state.busy = false;
        if let Err(error) = written {
            end(shared, &mut state, error);
        }
        drop(state);
        shared.changed.notify_all();
    }
}

/// Waits for something to write; false if nothing will come any more.
fn wait_for_work(shared: &Shared, chunk: &mut Vec<u8>, is_broken: fn() -> bool) -> bool {
    let mut state = shared.lock();
    loop {
        if state.end.is_some() {
            return false;
        }
        state.take(chunk);
        if !chunk.is_empty() {
            state.busy = true;
            return true;
        }
        if state.finishing {
            shared.changed.notify_all();
            return false;
        }
        let waited = shared.changed.wait_timeout(state, LOOK_EVERY);
        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state = guard;
        if timeout.timed_out() && is_broken() {
            end(shared, &mut state, io::ErrorKind::BrokenPipe.into());
            shared.changed.notify_all();
        }
    }
}

fn end(shared: &Shared, state: &mut State, error: io::Error) {
    state.memory = Vec::new();
    state.spill = None;
    // Either way there is no point in going on: nobody will ever see it.
    state.end = Some(if error.kind() == io::ErrorKind::BrokenPipe {
        End::Closed
    } else {
        state.error.get_or_insert(error);
        End::Failed
    });
    shared.closed.set();
}

/// Standard output without std's own buffer: what is pushed is complete already.
struct RawStdout;

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

#[cfg(unix)]
fn stdout_is_broken() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0)
        && watched[0].revents().contains(PollFlags::ERR)
}

#[cfg(not(unix))]
fn stdout_is_broken() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A reader that takes one write at a time, when it is told to.
    struct Slow {
        allowed: mpsc::Receiver<()>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // When the test has dropped its end, everything may pass.
            let _ = self.allowed.recv();
            self.taken.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Slow, mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (allow, allowed) = mpsc::channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let slow = Slow {
            allowed,
            taken: Arc::clone(&taken),
        };
        (slow, allow, taken)
    }

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_arrives_in_order_through_memory_and_file_while_the_reader_stalls() {
        let (writer, allow, taken) = slow();
        let mut spool = Spool::new(writer).unwrap();
        let mut expected = Vec::new();
        for index in 0..40_000u32 {
            let line = format!("{index} {}\n", "x".repeat(200));
            expected.extend_from_slice(line.as_bytes());
            spool.push(&mut line.as_bytes().to_vec());
        }
        let memory = spool.shared.lock().memory.capacity();
        assert!(memory <= 4 * MEMORY, "{memory}");
        assert!(spool.shared.lock().spill.is_some(), "the rest is in the file");
        // Let it catch up a little, then push behind what is in the file.
        allow.send(()).unwrap();
        spool.push(&mut b"last\n".to_vec());
        expected.extend_from_slice(b"last\n");
        drop(allow);
        spool.finish(None).unwrap();
        assert!(*taken.lock().unwrap() == expected);
    }

    #[test]
    fn finishing_gives_up_on_a_stalled_reader() {
        let (writer, _allow, _taken) = slow();
        let mut spool = Spool::new(writer).unwrap();
        spool.push(&mut b"x".to_vec());
        assert!(matches!(
            spool.finish(Some(Duration::from_millis(20))),
            Err(SpoolError::Stalled)
        ));
    }

    #[test]
    fn a_closed_reader_is_told_and_what_follows_is_dropped() {
        let mut spool = Spool::new(Failing(io::ErrorKind::BrokenPipe)).unwrap();
        let closed = spool.closed();
        spool.push(&mut b"x".to_vec());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(closed.wait());
        spool.push(&mut b"y".to_vec());
        assert!(spool.shared.lock().memory.is_empty());
        assert!(matches!(spool.finish(None), Err(SpoolError::Closed)));
    }

    #[test]
    fn any_other_failure_is_reported_at_the_end() {
        let mut spool = Spool::new(Failing(io::ErrorKind::StorageFull)).unwrap();
        spool.push(&mut b"x".to_vec());
        match spool.finish(None) {
            Err(SpoolError::Write(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_spool_without_output_finishes_at_once() {
        Spool::new(io::sink()).unwrap().finish(None).unwrap();
    }
}
