//! Says, once to each user at a terminal, that an agent whose rights nobody chose has all of them.

use crate::backend::Backend;
use crate::config::{Environment, Layers, Origin};
use crate::decide::{RunSettings, Verbosity};
use crate::report::tell;
use crate::request::{Permission, Request};
use crate::session::Store;
use std::io::IsTerminal;

const NOTE: &str = "note: the agent has full rights: it runs commands and changes files without asking";
/// A user interface could ask, and has the same rights all the same.
const REASON: &str = ", because a headless run cannot ask";
const HINT: &str = "hint: -P read-only or -P edit limits it; `permission` in the configuration file chooses for good (this is said once)";

/// The note, if it is due: the agent has full rights that its user did not choose, a person may read it, and they have not
/// been told before. A project chooses for nobody: a stranger's `permission = "full"` would keep people from being told.
pub fn note(
    backend: &dyn Backend,
    request: &Request,
    layers: &Layers,
    settings: &RunSettings,
    environment: &Environment,
) {
    let chosen = layers
        .0
        .iter()
        .filter(|layer| !matches!(layer.origin, Origin::Project(_)))
        .any(|layer| layer.settings.permission.is_some());
    // The mock agent only pretends.
    if chosen
        || request.permission != Permission::Full
        || backend.name() == "mock"
        || settings.verbosity == Verbosity::Quiet
        || !std::io::stderr().is_terminal()
    {
        return;
    }
    let store = environment.state_dir().and_then(|state| Store::open(state).ok());
    if store.is_none_or(|store| store.is_news("full-rights")) {
        let reason = if settings.interactive { "" } else { REASON };
        tell(&format!("{NOTE}{reason}\n{HINT}\n"));
    }
}
