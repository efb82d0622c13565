//! Supervision with an agent that misbehaves on command: one behaviour, one test. After each of them the process table
//! holds nothing of the run, looked up by a token in the environment and by the numbers that the agent told.

pub mod binary;
pub mod fake;
mod host;
mod host_tests;
mod output;
mod storm;
mod tree;
