//! The CLI's own terminal UI: it gets our console. Ctrl-C is its affair meanwhile.

use super::environment;
use super::error::{SpawnError, SpawnStep};
use crate::backend::{ExitStatus, Launch};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

/// Runs the CLI in our console until it ends, and then what is to be done about it: a Ctrl-C does not keep us from that.
#[expect(clippy::disallowed_methods, reason = "this is the module that spawns")]
pub fn interactive<T>(
    launch: &Launch,
    env: &BTreeMap<OsString, OsString>,
    then: impl FnOnce(ExitStatus) -> T,
) -> Result<T, SpawnError> {
    let token = uuid::Uuid::new_v4().to_string();
    // While somebody listens, Ctrl-C does not end us.
    let _listening = tokio::signal::windows::ctrl_c();
    let status = Command::new(&launch.program)
        .args(&launch.args)
        .env_clear()
        .envs(environment::of_launch(env, launch, &token))
        .current_dir(&launch.cwd)
        .status()
        .map_err(|error| SpawnError::new(SpawnStep::Execute, launch, error))?;
    Ok(then(ExitStatus {
        code: status.code(),
        signal: None,
    }))
}
