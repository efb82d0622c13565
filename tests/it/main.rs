//! The one integration binary: `cargo test --test it NAME` runs one thing.
#![expect(clippy::disallowed_methods, reason = "tests start agentctl and the CLIs themselves")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(unix)]
mod clis;
mod command;
#[cfg(unix)]
mod config;
mod contract;
mod desk;
#[cfg(unix)]
mod doctor;
mod dry_run;
mod generated;
#[cfg(unix)]
mod help;
#[cfg(unix)]
mod model;
mod packaging;
#[cfg(unix)]
mod pipes;
mod properties;
#[cfg(target_os = "linux")]
mod readme;
#[cfg(unix)]
mod real;
#[cfg(unix)]
mod real_model;
#[cfg(unix)]
mod recording;
#[cfg(unix)]
mod restart;
mod session;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(unix)]
mod wait;
#[cfg(unix)]
mod world;

/// A background job and `nohup` ignore signals, and so would everything that is started here: a test that interrupts an
/// agent would wait for ever.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static HEAR_SIGNALS: extern "C" fn() = {
    extern "C" fn hear_signals() {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: nothing else runs yet, and the default is a valid disposition.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    hear_signals
};
