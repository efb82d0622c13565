//! The README holds: every command in it runs as shown, and what it tells about the code is so.
//!
//! A `console` block is run line by line and its output compared, `…` standing for anything; `console terminal` is run on
//! a terminal and compared with the screen. `file=PATH` puts a block into a file. `needs=PROGRAM` is run where there is
//! that program, and `sbatch` with a stand-in for Slurm. The lines of a `slow` block build, install, measure or download:
//! they are run when `AGENTCTL_README=require` asks for it, and then a program that is not there is a failure too; without
//! it a note on standard error tells what was not run. `AGENTCTL_BLESS=1` writes the tables anew.
//!
//! | file | owns |
//! | --- | --- |
//! | `block` | the text and its blocks |
//! | `shown` | commands with their output |
//! | `slow` | commands that take minutes, and what they leave |
//! | `tables` | tables and numbers |

mod block;
mod shown;
mod slow;
mod tables;

use std::io::Write as _;

/// Whether everything has to be run, however long it takes.
fn is_required() -> bool {
    std::env::var("AGENTCTL_README").is_ok_and(|value| value == "require")
}

/// Says what was not run. Not eprintln: the test harness would swallow it, since the test passes.
fn note(what: &str) {
    let how = "AGENTCTL_README=require cargo test --test it readme";
    let _ = writeln!(std::io::stderr(), "note: {what}\nto require it: {how}");
}
