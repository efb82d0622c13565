//! Ctrl-C of our console during a run. Windows has no suspension to pass on.

use std::io;
use std::time::Duration;

const SIGINT: i32 = 2;

pub(super) struct Signals {
    ctrl_c: tokio::signal::windows::CtrlC,
}

impl Signals {
    pub(super) fn install() -> io::Result<Option<Self>> {
        let ctrl_c = tokio::signal::windows::ctrl_c()?;
        Ok(Some(Self { ctrl_c }))
    }

    pub(super) async fn next(&mut self) -> i32 {
        match self.ctrl_c.recv().await {
            Some(()) => SIGINT,
            None => std::future::pending().await,
        }
    }
}

pub(super) fn is_suspend(_signal: i32) -> bool {
    false
}

pub(super) fn suspend_ourselves() -> Duration {
    Duration::ZERO
}
