//! The backends of this user: the built-in ones and those that the configuration declares.

use crate::backend::{self, Backend};
use crate::config::Config;
use crate::error::Failure;
use crate::suggest;

/// The backend of this name; an unknown one is a usage error that lists the valid ones.
pub fn find(name: &str, config: &Config) -> Result<&'static dyn Backend, Failure> {
    if let Some(backend) = backend::find(name) {
        return Ok(backend);
    }
    let names = names(config);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let failure = Failure::usage(format!(
        "there is no backend `{name}`: the backends are {}",
        names.join(", ")
    ));
    Err(match suggest::closest(name, &names) {
        Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
        None => failure.hint(format!(
            "a backend of your own is declared by [backends.{name}] in {}",
            config.path.display()
        )),
    })
}

/// The names of all backends, in the order in which they are shown.
pub fn names(_config: &Config) -> Vec<String> {
    backend::BACKENDS
        .iter()
        .map(|backend| backend.name().to_owned())
        .collect()
}
