//! The one integration binary: `cargo test --test it NAME` runs one thing.
#![expect(clippy::disallowed_methods, reason = "tests start agentctl and the CLIs themselves")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clis;
mod command;
mod config;
mod contract;
#[cfg(unix)]
mod desk;
mod doctor;
mod generated;
#[cfg(unix)]
mod help;
mod model;
mod packaging;
#[cfg(unix)]
mod pipes;
mod properties;
#[cfg(target_os = "linux")]
mod readme;
mod real;
mod real_model;
mod session;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod terminal;
mod world;
