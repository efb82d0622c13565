//! The CLI's standard input: written whole, without ever waiting for a CLI that does not read.

use crate::backend::Stdin;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

/// The CLI's standard input: what is still to be written, and whether it closes then.
pub(super) struct Feed {
    pipe: Option<ChildStdin>,
    pending: Vec<u8>,
    written: usize,
    then: AfterFeed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterFeed {
    Close,
    Hold,
}

impl Feed {
    pub(super) fn new(pipe: Option<ChildStdin>, stdin: &Stdin) -> Self {
        let (pending, then) = match stdin {
            Stdin::Closed | Stdin::Inherited => (Vec::new(), AfterFeed::Close),
            Stdin::Bytes(bytes) => (bytes.clone(), AfterFeed::Close),
            Stdin::Held(bytes) => (bytes.clone(), AfterFeed::Hold),
        };
        let mut feed = Self {
            pipe,
            pending,
            written: 0,
            then,
        };
        feed.settle();
        feed
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if self.pipe.is_none() || self.then == AfterFeed::Close {
            return;
        }
        self.pending.drain(..self.written);
        self.written = 0;
        self.pending.extend(bytes);
    }

    pub(super) fn close(&mut self) {
        self.then = AfterFeed::Close;
        self.settle();
    }

    fn settle(&mut self) {
        if self.written < self.pending.len() {
            return;
        }
        self.pending = Vec::new();
        self.written = 0;
        if self.then == AfterFeed::Close {
            self.pipe = None;
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.pipe.is_some() && self.written < self.pending.len()
    }

    /// Writes once. A CLI that does not read its input to the end is its own affair. Cancelling it loses nothing.
    pub(super) async fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return std::future::pending().await;
        };
        match pipe.write(&self.pending[self.written..]).await {
            Ok(count @ 1..) => self.written += count,
            _ => {
                self.pipe = None;
                self.written = self.pending.len();
            }
        }
        self.settle();
    }
}
