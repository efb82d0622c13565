//! One command in front of the coding-agent CLIs.
//!
//! A run flows one way: `cli → config → request → backend.plan → supervise → lines → protocol → event → session,
//! report → exit`. The pure parts (request, plan, protocol, event) have no async, no clock and no file system.

pub mod backend;
pub mod cli;
pub mod command;
pub mod config;
pub mod decide;
pub mod duration;
pub mod error;
pub mod event;
pub mod exit;
pub mod lines;
pub mod locate;
pub mod marker;
pub mod mcp;
pub mod media;
pub mod outcome;
pub mod report;
pub mod request;
pub mod schema;
pub mod session;
pub mod suggest;
pub mod supervise;
pub mod tool;
