//! The list of built-in backends. Everything that names a backend (command line, `backends`, `doctor`, completions, the
//! contract tests) walks this list.

use super::{Backend, claude, codex, gemini, mock, opencode, pi};

/// Every built-in backend, in the order in which they are shown.
pub const BACKENDS: &[&dyn Backend] = &[
    // One line each, so that adding one touches nothing else.
    &claude::Claude,
    &codex::Codex,
    &gemini::GeminiCli,
    &opencode::OpenCode,
    &pi::Pi,
    &mock::Mock,
];

/// The built-in backend of this name.
pub fn find(name: &str) -> Option<&'static dyn Backend> {
    BACKENDS.iter().copied().find(|backend| backend.name() == name)
}
