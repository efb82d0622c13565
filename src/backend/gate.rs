//! The gates of CLIs that do not look where symbolic links lead: a script of ours in front of the tools that take paths.
//! What is the same for all of them; each has a script of its own behind it.

use crate::error::Failure;
use crate::request::Request;
use std::fmt::Display;

const COMMON: &str = include_str!("gate.js");

/// The script of one run: its rights as JSON, what all gates have in common, the gate of one CLI.
pub fn script(rights: impl Display, own: &str) -> String {
    format!("const RIGHTS = {rights};\n{COMMON}\n{own}")
}

/// The directories that a run is kept in.
pub fn roots<'a>(request: &'a Request, display_name: &str) -> Result<Vec<&'a str>, Failure> {
    let directories = std::iter::once(&request.cwd).chain(&request.add_dirs);
    directories
        .map(|directory| {
            directory.to_str().ok_or_else(|| {
                Failure::usage(format!(
                    "{}: not a name that {display_name}'s gate can be given",
                    directory.display()
                ))
                .hint("use a directory whose name is valid UTF-8")
            })
        })
        .collect()
}
