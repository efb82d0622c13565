//! The only place that spawns, signals, waits and kills.
//!
//! A headless run is a tree of processes behind a guard ([`run`]); the ladder beside it decides without IO what happens
//! next. The whole tree ends with the run, however the run ends:
//!
//! - Linux: a guard process that is a subreaper kills until nothing is left, also after a SIGKILL of our own process.
//! - macOS and other Unix: the same guard kills the CLI's process group. A descendant that left the group (`setsid`)
//!   and was orphaned cannot be found there.
//! - Windows: a job object that ends with its handle.

mod dotenv;
mod driver;
pub mod environment;
mod error;
mod feed;
#[cfg(unix)]
mod guard;
#[cfg_attr(unix, path = "interactive_unix.rs")]
#[cfg_attr(not(unix), path = "interactive_windows.rs")]
mod interactive;
mod ladder;
mod output_closed;
mod probe;
#[cfg(unix)]
mod process_table;
mod run;
mod scratch;
#[cfg_attr(unix, path = "signals_unix.rs")]
#[cfg_attr(not(unix), path = "signals_windows.rs")]
mod signals;
mod spawn;
mod tail;
#[cfg_attr(unix, path = "tree_unix.rs")]
#[cfg_attr(not(unix), path = "tree_windows.rs")]
mod tree;

pub use driver::{Driver, Stream};
pub use error::{SpawnError, SpawnStep, shortage};
pub use interactive::interactive;
pub use ladder::{Action, Input, Ladder, Limits, Why};
pub use output_closed::OutputClosed;
pub use probe::{Probe, ProbeEnd, ProbeOutput, probe};
pub use run::{Ending, Run, SignalPolicy, run};
pub use scratch::{Parting, Scratch, default_root, no_scratch, without_comments as json_without_comments};
