//! A record that cannot be used: reported, skipped, never fatal.

use super::key::Key;
use crate::error::{ErrorKind, Failure};
use std::path::PathBuf;

/// A session file that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session {key} cannot be read: {why} ({})", path.display())]
pub struct Damaged {
    pub key: Key,
    pub path: PathBuf,
    pub why: String,
}

impl From<Damaged> for Failure {
    fn from(damaged: Damaged) -> Self {
        let hint = format!("remove it with `agentctl sessions rm {}`", damaged.key);
        Self::new(ErrorKind::SessionNotFound, damaged.to_string()).hint(hint)
    }
}
