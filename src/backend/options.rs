//! `--option K=V`: the names that a backend knows.

use crate::error::Failure;
use std::collections::BTreeMap;

/// Fails on a name that is not in `known` (name and help), with the one that was probably meant.
pub fn check(backend: &str, given: &BTreeMap<String, String>, known: &[(&str, &str)]) -> Result<(), Failure> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    match given.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let failure = Failure::usage(format!("{backend} has no option `{unknown}`"));
            Err(match (crate::suggest::closest(unknown, &names), names.as_slice()) {
                (Some(similar), _) => failure.hint(format!("did you mean `{similar}`?")),
                (None, []) => failure.hint("it has no options of its own; raw arguments go after `--`"),
                (None, names) => failure.hint(format!("its options are: {}", names.join(", "))),
            })
        }
    }
}
