//! Waiting for what must become true while something else goes on.

use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn eventually(what: &str, within: Duration, holds: impl FnMut() -> bool) {
    assert!(comes_true(within, holds), "not within {within:?}: {what}");
}

/// Whether it becomes true within this time.
pub fn comes_true(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let give_up = Instant::now() + within;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= give_up {
            return false;
        }
        sleep(Duration::from_millis(10));
    }
}
