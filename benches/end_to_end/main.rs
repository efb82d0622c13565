//! What agentctl costs, end to end: `cargo bench --bench end_to_end [-- SECTION…]`, with the sections `size`, `start`,
//! `run`, `throughput`, `growing`, `memory`, `latency`, `parallel` and `sessions`.
//!
//! Everything is measured against something else in the same run: the contestants take turns, and the median of each is
//! taken, so that whatever else the machine does hits all alike. The stand-in for a CLI is this program itself, told what
//! to play by an environment variable. `jq` and `harnesscli` (0.1.6) take part if they are on the `PATH`; `AGENTCTL` names
//! another agentctl than the one that was built along.

#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod contestant;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
#[path = "../streams/mod.rs"]
mod streams;

#[cfg(target_os = "linux")]
fn main() {
    match std::env::var(child::ROLE) {
        Ok(role) => child::play(&role),
        Err(_) => measure::chosen(),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this is measured on Linux only");
}
