//! What is known to be different in versions of Claude Code after the tested ones (seen in 2.1.326).

use crate::backend::{Output, tested_versions};
use crate::request::Request;
use semver::Version;

/// Remembered for the next run of a conversation: which instructions it began with.
const CARRIED_SYSTEM: &str = "system";

/// Which CLI it is that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    #[default]
    Tested,
    Newer,
}

impl Release {
    pub fn of(version: &str) -> Self {
        let newest = tested_versions("claude").and_then(|tested| Version::parse(tested.newest).ok());
        match Version::parse(version).ok().zip(newest) {
            Some((told, newest)) if told > newest => Self::Newer,
            _ => Self::Tested,
        }
    }
}

/// The instructions of a conversation. A newer CLI keeps those that it began with, and says nothing of others.
#[derive(Debug)]
pub struct Instructions {
    /// Of this run, by their fingerprint; empty if there are none.
    given: String,
    /// Of the conversation's beginning; `None` if it begins now, or nobody knows.
    kept: Option<String>,
}

impl Instructions {
    pub fn new(request: &Request) -> Self {
        let earlier = request.conversation.continuation();
        Self {
            given: request
                .system
                .as_ref()
                .map(|system| system.fingerprint())
                .unwrap_or_default(),
            kept: earlier.and_then(|earlier| earlier.carried.get(CARRIED_SYSTEM).cloned()),
        }
    }

    pub fn told_by(&self, release: Release, out: &mut Output<'_>) {
        if release == Release::Tested {
            return;
        }
        let kept = self.kept.as_ref().unwrap_or(&self.given);
        if *kept != self.given {
            out.warning(
                "this version of Claude keeps the system prompt that a conversation began with: this one is not heard",
            );
        }
        out.carry(CARRIED_SYSTEM, kept.clone());
    }
}
