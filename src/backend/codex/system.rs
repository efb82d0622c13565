//! The system prompt. Codex takes it in a configuration value on the command line, once: the first run writes it into
//! the thread, and a later one is ignored.

use super::protocol::CARRIED_SYSTEM;
use super::toml;
use crate::backend::{Launch, Site};
use crate::request::{Conversation, Placement, Request, System};

/// The most bytes of one argument. Linux takes 128 KiB; Windows takes 32,767 characters for the whole command.
pub const ARGUMENT_LIMIT: usize = if cfg!(windows) { 16_000 } else { 120_000 };

/// What is left to do after the arguments were given.
pub struct Said {
    /// To put before the prompt.
    pub preamble: Option<String>,
    pub warning: Option<String>,
}

/// Gives `request.system` to the CLI, as far as arguments and files can.
pub fn give(request: &Request, site: &Site, launch: &mut Launch) -> Said {
    let nothing = Said {
        preamble: None,
        warning: None,
    };
    let Some(system) = &request.system else {
        return nothing;
    };
    if system.placement == Placement::Replace {
        let path = site.scratch("system.md");
        launch.arg("-c");
        launch.arg(format!(
            "model_instructions_file={}",
            toml::string(&path.to_string_lossy())
        ));
        launch.file(path, system.text.clone());
        return nothing;
    }
    let argument = format!("developer_instructions={}", toml::string(&system.text));
    let fits = argument.len() <= ARGUMENT_LIMIT;
    if fits {
        launch.args(["-c".to_owned(), argument]);
    }
    match (standing(request, system), fits) {
        (Standing::Kept, _) | (Standing::New, true) => nothing,
        (Standing::New, false) => Said {
            preamble: Some(preamble(&system.text)),
            warning: Some(format!(
                "a system prompt of {} bytes is too long for Codex' command line: it goes before the prompt instead",
                system.text.len()
            )),
        },
        (Standing::Changed, _) => Said {
            preamble: Some(preamble(&system.text)),
            warning: Some(
                "Codex keeps the system prompt that a conversation began with: this one goes before the prompt instead"
                    .to_owned(),
            ),
        },
    }
}

enum Standing {
    /// The thread begins with this run.
    New,
    /// The thread has this very system prompt in its history.
    Kept,
    /// The thread has another one, or nobody knows.
    Changed,
}

fn standing(request: &Request, system: &System) -> Standing {
    match &request.conversation {
        Conversation::Fresh { .. } => Standing::New,
        Conversation::Resume(thread) | Conversation::Fork { of: thread, .. } => {
            match thread.carried.get(CARRIED_SYSTEM) {
                Some(kept) if *kept == system.fingerprint() => Standing::Kept,
                _ => Standing::Changed,
            }
        }
    }
}

fn preamble(text: &str) -> String {
    format!("<system_instructions>\n{text}\n</system_instructions>\n\n")
}
