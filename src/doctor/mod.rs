//! Is each CLI usable here? Looks, asks and tells; costs no model call and writes nothing of the user's.
//!
//! What to look at and what answers mean is the backends' own business (`backend::checkup`). Here are the file system,
//! the processes and the report.

mod ask;
mod binary;
mod cause;
mod examine;
mod judge;
mod live;
mod look;
mod ourselves;
mod report;
mod together;

pub use binary::{installed_version, shadowed};
pub use cause::probable_cause;
pub use examine::{Scope, examine};
pub use live::ask_live;
pub use look::Look;
pub use ourselves::{Mistakes, ourselves};
pub use report::{BackendReport, Check, CheckStatus, DoctorReport, LiveReport, OwnReport, SCHEMA, exit_of};
pub use together::together;
