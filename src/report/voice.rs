//! What is said on stderr while an agent works, in one order, whoever says it: lines and a spinner. Saying never waits for
//! the reader; a thread of its own carries the words to a stderr that may be stalled.

use super::spool::Spool;
#[cfg(all(test, unix))]
use super::standard::{Known, Reader};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// More than this unread means that nobody looks.
const BEHIND: usize = 4096;

/// Clones say it in the same place.
#[derive(Clone)]
pub struct Voice(Arc<Mutex<Spool>>);

impl Voice {
    /// On our standard error.
    pub fn stderr() -> Self {
        Self(Arc::new(Mutex::new(Spool::stderr())))
    }

    #[cfg(all(test, unix))]
    pub(super) fn on(writer: impl std::io::Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Spool::to(Known(writer, Reader::Unknown)))))
    }

    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn say(&self, text: impl Into<Vec<u8>>) {
        self.spool().push(&mut text.into());
    }

    /// The last word: it needs no thread if it is the first one too.
    pub fn say_last(&self, text: impl Into<Vec<u8>>) {
        self.spool().push_last(&mut text.into());
    }

    /// Whether much is still unread.
    #[cfg_attr(not(unix), expect(dead_code, reason = "the console is drawn on directly"))]
    pub(super) fn is_behind(&self) -> bool {
        self.spool().unwritten() > BEHIND
    }

    /// Waits a moment until everything is written, so that what another stream shows comes after it.
    pub fn settle(&self, patience: Duration) {
        self.spool().settle(patience);
    }

    /// Waits until everything is written, or the reader is gone, or the patience is over.
    pub fn finish(&self, patience: Option<Duration>) {
        self.spool().drain(patience);
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Voice")
    }
}
