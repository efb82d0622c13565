//! Whether the state directory can be trusted.

use crate::error::Failure;
use std::path::Path;

/// The failure of having no place at all.
pub fn nowhere() -> Failure {
    Failure::usage("there is no home directory to keep sessions in").hint("set HOME or AGENTCTL_STATE_DIR")
}

/// Refuses a place that is no directory, or where somebody else could plant records: a record says what a resumed agent
/// may do. A symbolic link is followed, and its target must pass the same test.
pub(super) fn check(root: &Path) -> Result<(), Failure> {
    let metadata = match std::fs::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return check_missing(root),
        Err(error) => return Err(unusable(root, &error.to_string())),
    };
    if !metadata.is_dir() {
        return Err(unusable(root, "it is not a directory"));
    }
    check_owner(root, &metadata)
}

/// A link to nowhere cannot be made into a directory.
fn check_missing(root: &Path) -> Result<(), Failure> {
    match std::fs::symlink_metadata(root) {
        Ok(_) => Err(unusable(root, "it is a symbolic link to a place that does not exist")),
        Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn check_owner(root: &Path, metadata: &std::fs::Metadata) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let me = rustix::process::geteuid().as_raw();
    let owner = metadata.uid();
    if owner != me && owner != 0 && me != 0 {
        return Err(unusable(root, "it belongs to another user"));
    }
    // Our own directory is closed to others before anything is written; a shared one like /tmp is left alone.
    let open_to_others = metadata.mode() & 0o022 != 0;
    if open_to_others && (owner != me || metadata.mode() & STICKY != 0) {
        return Err(unusable(root, "other users can write to it"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_root: &Path, _metadata: &std::fs::Metadata) -> Result<(), Failure> {
    Ok(())
}

/// The one wording for a state directory that does not work.
pub(super) fn unusable(root: &Path, why: &str) -> Failure {
    Failure::usage(format!("sessions cannot be kept in {}: {why}", root.display()))
        .hint("choose another place with AGENTCTL_STATE_DIR")
}
