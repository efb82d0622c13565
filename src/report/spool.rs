//! The output thread: what is pushed is written in order, and pushing never waits for the reader.
//!
//! A reader that stalls must freeze neither supervision nor memory. What it has not taken yet is kept in memory up to a
//! limit, and beyond that in an unlinked temporary file that the thread works off. A reader that is gone is told to the
//! supervisor, and what is pushed then is dropped.

use super::standard::{Outlet, Reader, Standard};
use crate::supervise::OutputClosed;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most that is kept in memory; about the same again may be on its way to the reader.
const MEMORY: usize = 1 << 20;
/// How much is taken from the file at once.
const CHUNK: usize = 512 << 10;
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

/// As long as everything is taken at once, and the run is short, there is no need for a thread.
struct Waiting {
    outlet: Box<dyn Outlet>,
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
    /// Our standard output; that its reader goes away is also noticed while there is nothing to write.
    pub fn stdout() -> Self {
        Self::to(Standard::Output)
    }

    /// Our standard error.
    pub fn stderr() -> Self {
        Self::to(Standard::Error)
    }

    pub(super) fn to(outlet: impl Outlet + 'static) -> Self {
        Self {
            shared: Arc::default(),
            waiting: Some(Waiting {
                outlet: Box::new(outlet),
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
        let Some(Waiting { outlet, .. }) = self.waiting.take() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("output".to_owned());
        if let Err(error) = thread.spawn(move || write_all(&shared, outlet)) {
            // Without a thread nothing can be written any more.
            end(&self.shared, &mut self.shared.lock(), error);
        }
    }

    /// The last push: a small one is written at once, if nothing was pushed before and the reader takes it. Should there be
    /// another one after all (that the output failed is told after the result), it is as good as any.
    pub fn push_last(&mut self, bytes: &mut Vec<u8>) {
        let at_once = |waiting: &&mut Waiting| bytes.len() <= SMALL && waiting.outlet.reader() == Reader::Ready;
        let Some(waiting) = self.waiting.as_mut().filter(at_once) else {
            return self.push(bytes);
        };
        waiting.until = None;
        if let Err(error) = waiting.outlet.write_all(bytes).and_then(|()| waiting.outlet.flush()) {
            end(&self.shared, &mut self.shared.lock(), error);
        }
        bytes.clear();
    }

    /// Hands bytes over, and leaves an empty buffer: another one if that saves a copy. Never waits for the reader.
    pub fn push(&mut self, bytes: &mut Vec<u8>) {
        self.write_now(bytes);
        if bytes.is_empty() {
            return;
        }
        self.start();
        self.shared.lock().push(bytes);
        bytes.clear();
        self.shared.changed.notify_all();
    }

    /// Writes what is taken at once, if it is little and nothing has to come before it.
    fn write_now(&mut self, bytes: &mut Vec<u8>) {
        if let Some(waiting) = self.waiting.as_mut().filter(|_| bytes.len() <= SMALL) {
            let written = waiting.outlet.write_now(bytes);
            bytes.drain(..written);
        }
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

fn write_all(shared: &Shared, mut outlet: Box<dyn Outlet>) {
    let mut chunk = Vec::new();
    loop {
        if !wait_for_work(shared, &mut chunk, outlet.as_ref()) {
            return;
        }
        let written = outlet.write_all(&chunk).and_then(|()| outlet.flush());
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
fn wait_for_work(shared: &Shared, chunk: &mut Vec<u8>, outlet: &dyn Outlet) -> bool {
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
        if timeout.timed_out() && outlet.reader() == Reader::Gone {
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
mod tests;
