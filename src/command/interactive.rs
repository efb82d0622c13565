//! `-i`: the CLI's own terminal UI, with the same backend, model, permission, directory and conversation.

use crate::backend::{Backend, Feature};
use crate::error::Failure;
use std::io::IsTerminal;

/// Whether an interactive run makes sense here.
pub fn check(backend: &dyn Backend) -> Result<(), Failure> {
    let support = backend.capabilities().of(Feature::Interactive);
    if !support.is_supported() {
        return Err(Failure::usage(format!(
            "{} cannot be interactive: {}",
            backend.display_name(),
            support.note
        )));
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(
            Failure::usage("--interactive wants a terminal on standard input and output")
                .hint("leave it out for a headless run"),
        );
    }
    Ok(())
}
