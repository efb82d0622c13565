//! The one integration binary: `cargo test --test it NAME` runs one thing.
#![expect(clippy::disallowed_methods, reason = "tests start agentctl and the CLIs themselves")]

mod contract;
mod model;
