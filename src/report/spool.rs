//! The output thread: what is pushed is written in order, and pushing never waits for the reader.
//!
//! A reader that stalls must freeze neither supervision nor memory. What it has not taken yet is kept in memory up to a
//! limit, and beyond that in an unlinked temporary file that the thread works off. A reader that is gone is told to the
//! supervisor, and what is pushed then is dropped.

use super::standard::{Reader, Standard};
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
/// How long a run may last without anybody looking.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// What a pipe that takes anything takes whole.
const SMALL: usize = 4096;

/// Why the output did not get out.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Nobody reads any more. Not an error for a filter: `| head` does it.
    #[error("the reader of the output is gone")]
    Closed,
    #[error("{}", cannot_write(.0))]
    Write(io::Error),
    /// The reader has not taken everything in time.
    #[error("the reader of the output is stalled")]
    Stalled,
}

fn cannot_write(error: &io::Error) -> String {
    format!("the output cannot be written: {error}")
}

/// The writing end: see the module.
pub struct Spool {
    shared: Arc<Shared>,
    /// What the thread will need, until there is one.
    waiting: Option<Waiting>,
}

/// A run that says nothing before its end, and ends soon, does without a thread.
struct Waiting {
    writer: Box<dyn Write + Send>,
    reader: fn() -> Reader,
    /// When the thread is needed to notice that the reader went away; not any more once the last word is written.
    until: Option<Instant>,
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
    /// Somebody waited for the reader in vain, and it has taken nothing since.
    stalled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Failed,
}

/// What came of waiting for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    ToTheEnd,
    InVain,
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
    /// Writes to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self::with_reader(writer, || Reader::Unknown)
    }

    /// Our standard output; that its reader goes away is also noticed while there is nothing to write.
    pub fn stdout() -> Self {
        Self::with_reader(Standard::Output, || Standard::Output.reader())
    }

    /// Our standard error.
    pub fn stderr() -> Self {
        Self::with_reader(Standard::Error, || Standard::Error.reader())
    }

    fn with_reader(writer: impl Write + Send + 'static, reader: fn() -> Reader) -> Self {
        Self {
            shared: Arc::default(),
            waiting: Some(Waiting {
                writer: Box::new(writer),
                reader,
                until: Some(Instant::now() + LOOK_AFTER),
            }),
        }
    }

    /// When `watch` should be called.
    pub fn watch_at(&self) -> Option<Instant> {
        self.waiting.as_ref().and_then(|waiting| waiting.until)
    }

    /// Has the reader watched from now on, if it is time.
    pub fn watch(&mut self, now: Instant) {
        if self.watch_at().is_some_and(|at| at <= now) {
            self.start();
        }
    }

    fn start(&mut self) {
        let Some(Waiting { writer, reader, .. }) = self.waiting.take() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("output".to_owned());
        if let Err(error) = thread.spawn(move || write_all(&shared, writer, reader)) {
            // Without a thread nothing can be written any more.
            end(&self.shared, &mut self.shared.lock(), error);
        }
    }

    /// The last push: a small one is written at once, if nothing was pushed before and the reader takes it. Should there be
    /// another one after all (that the output failed is told after the result), it is as good as any.
    pub fn push_last(&mut self, bytes: &mut Vec<u8>) {
        let at_once = |waiting: &&mut Waiting| bytes.len() <= SMALL && (waiting.reader)() == Reader::Ready;
        let Some(waiting) = self.waiting.as_mut().filter(at_once) else {
            return self.push(bytes);
        };
        waiting.until = None;
        if let Err(error) = waiting.writer.write_all(bytes).and_then(|()| waiting.writer.flush()) {
            end(&self.shared, &mut self.shared.lock(), error);
        }
        bytes.clear();
    }

    /// Hands bytes over, and leaves an empty buffer: another one if that saves a copy. Never waits for the reader.
    pub fn push(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.start();
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

    /// Why the output cannot be written, as far as is known now; not that nobody reads it.
    pub fn failure(&self) -> Option<String> {
        let state = self.shared.lock();
        match state.end {
            Some(End::Failed) => state.error.as_ref().map(cannot_write),
            _ => None,
        }
    }

    /// How much is still to be written, what the thread is busy with left out.
    pub(super) fn unwritten(&self) -> usize {
        let state = self.shared.lock();
        let spilled = state.spill.as_ref().map_or(0, |spill| spill.written - spill.read);
        state.memory.len() + usize::try_from(spilled).unwrap_or(usize::MAX)
    }

    /// Waits a moment until everything is written, so that what another stream shows in the same place comes after it. A
    /// reader that let us wait in vain is not waited for again before it has taken something.
    pub fn settle(&self, patience: Duration) {
        let state = self.shared.lock();
        if !state.stalled {
            let (mut state, waited) = self.wait(state, Some(patience));
            state.stalled = waited == Waited::InVain;
        }
    }

    /// Waits until everything is written, or the reader is gone, or the patience is over.
    pub fn drain(&self, patience: Option<Duration>) {
        let _ = self.wait(self.shared.lock(), patience);
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        patience: Option<Duration>,
    ) -> (MutexGuard<'a, State>, Waited) {
        let give_up = patience.and_then(|patience| Instant::now().checked_add(patience));
        while !state.is_empty() && state.end.is_none() {
            let left = match give_up {
                Some(give_up) => give_up.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return (state, Waited::InVain);
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (state, Waited::ToTheEnd)
    }

    /// The same for good, with what came of it.
    pub fn finish(self, patience: Option<Duration>) -> Result<(), SpoolError> {
        let mut state = self.shared.lock();
        state.finishing = true;
        self.shared.changed.notify_all();
        let (mut state, waited) = self.wait(state, patience);
        if waited == Waited::InVain {
            return Err(SpoolError::Stalled);
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

fn write_all(shared: &Shared, mut writer: impl Write, reader: fn() -> Reader) {
    let mut chunk = Vec::new();
    loop {
        if !wait_for_work(shared, &mut chunk, reader) {
            return;
        }
        let written = writer.write_all(&chunk).and_then(|()| writer.flush());
        // One huge push is not paid for during the rest of the run.
        chunk.clear();
        chunk.shrink_to(2 * CHUNK);
        let mut state = shared.lock();
        state.busy = false;
        state.stalled = false;
        if let Err(error) = written {
            end(shared, &mut state, error);
        }
        drop(state);
        shared.changed.notify_all();
    }
}

/// Waits for something to write; false if nothing will come any more.
fn wait_for_work(shared: &Shared, chunk: &mut Vec<u8>, reader: fn() -> Reader) -> bool {
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
        if timeout.timed_out() && reader() == Reader::Gone {
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
        let mut spool = Spool::new(writer);
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
        let mut spool = Spool::new(writer);
        spool.push(&mut b"x".to_vec());
        assert!(matches!(
            spool.finish(Some(Duration::from_millis(20))),
            Err(SpoolError::Stalled)
        ));
    }

    #[test]
    fn a_reader_that_stalls_is_waited_for_once_until_it_takes_something() {
        let (writer, allow, _taken) = slow();
        let mut spool = Spool::new(writer);
        spool.push(&mut b"x".to_vec());
        spool.settle(Duration::from_millis(20));
        let start = Instant::now();
        spool.settle(Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30));
        allow.send(()).unwrap();
        spool.drain(None);
        spool.push(&mut b"y".to_vec());
        spool.settle(Duration::from_millis(20));
        assert!(spool.shared.lock().stalled, "it was waited for again");
    }

    #[test]
    fn a_closed_reader_is_told_and_what_follows_is_dropped() {
        let mut spool = Spool::new(Failing(io::ErrorKind::BrokenPipe));
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
        let mut spool = Spool::new(Failing(io::ErrorKind::StorageFull));
        spool.push(&mut b"x".to_vec());
        match spool.finish(None) {
            Err(SpoolError::Write(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_small_last_word_to_a_ready_reader_needs_no_thread() {
        let (writer, allow, taken) = slow();
        drop(allow);
        let mut spool = Spool::with_reader(writer, || Reader::Ready);
        spool.push_last(&mut b"the answer".to_vec());
        assert_eq!(*taken.lock().unwrap(), b"the answer");
        assert_eq!(spool.watch_at(), None);
        spool.finish(None).unwrap();
    }

    #[test]
    fn what_is_said_after_the_last_word_is_written_too() {
        let (writer, allow, taken) = slow();
        drop(allow);
        let mut spool = Spool::with_reader(writer, || Reader::Ready);
        for word in [&b"one "[..], b"two ", b"three"] {
            spool.push_last(&mut word.to_vec());
        }
        spool.push(&mut b" four".to_vec());
        // It would wait for ever for what nobody carries.
        spool.finish(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(*taken.lock().unwrap(), b"one two three four");
    }

    #[test]
    fn a_last_word_that_could_wait_is_left_to_the_thread() {
        let small = b"x".to_vec();
        let large = vec![b'x'; SMALL + 1];
        for (reader, word) in [
            ((|| Reader::Unknown) as fn() -> Reader, small.clone()),
            (|| Reader::Ready, large),
        ] {
            let (writer, allow, taken) = slow();
            let mut spool = Spool::with_reader(writer, reader);
            spool.push_last(&mut word.clone());
            assert!(taken.lock().unwrap().is_empty(), "nobody was allowed to take it");
            drop(allow);
            spool.finish(None).unwrap();
            assert_eq!(*taken.lock().unwrap(), word);
        }
    }

    #[test]
    fn a_last_word_that_cannot_be_written_is_an_error_at_the_end() {
        for (kind, gone) in [(io::ErrorKind::BrokenPipe, true), (io::ErrorKind::StorageFull, false)] {
            let mut spool = Spool::with_reader(Failing(kind), || Reader::Ready);
            spool.push_last(&mut b"x".to_vec());
            assert_eq!(spool.reader_is_gone(), gone);
            assert_eq!(matches!(spool.finish(None), Err(SpoolError::Closed)), gone);
        }
    }

    #[test]
    fn the_reader_is_watched_once_a_run_lasts() {
        let mut spool = Spool::with_reader(io::sink(), || Reader::Gone);
        let due = spool.watch_at().unwrap();
        spool.watch(due - LOOK_AFTER / 2);
        assert_eq!(spool.watch_at(), Some(due), "it is too early");
        spool.watch(due);
        assert_eq!(spool.watch_at(), None);
        let closed = spool.closed();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(closed.wait());
    }

    #[test]
    fn a_spool_without_output_finishes_at_once() {
        Spool::new(io::sink()).finish(None).unwrap();
    }
}
