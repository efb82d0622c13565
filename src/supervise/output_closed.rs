//! Word from the output thread to the loop that nobody reads any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// A flag that can be waited for. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct OutputClosed {
    inner: Arc<(AtomicBool, Notify)>,
}

impl OutputClosed {
    /// Nobody reads any more. May be called from any thread.
    pub fn set(&self) {
        self.inner.0.store(true, Ordering::Release);
        // Keeps a permit for one who begins to wait later; the loop is the only one that waits.
        self.inner.1.notify_one();
    }

    pub fn is_set(&self) -> bool {
        self.inner.0.load(Ordering::Acquire)
    }

    /// Returns once it is set.
    pub async fn wait(&self) {
        while !self.is_set() {
            self.inner.1.notified().await;
        }
    }
}
