//! One file a subcommand: plain arguments in, output over any `Write`, an exit code out.

pub mod sessions;
