//! Who we are, and whose files we heed: what somebody else can write must not steer a run.

use std::path::Path;

/// Whether we run as root.
#[cfg(unix)]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
pub fn is_root() -> bool {
    false
}

/// Why a file is not to be heeded: it, or a link in its place, belongs to somebody else, or others can write to it or put
/// another one there. `sudoer` is who became root with sudo: as root we heed that user's files too, as git does.
#[cfg(unix)]
pub fn distrust(file: &Path, sudoer: Option<u32>) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let directory = file
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let looked_at = || {
        let link = std::fs::symlink_metadata(file)?;
        Ok([link, std::fs::metadata(file)?, std::fs::metadata(directory)?])
    };
    let [link, file, directory] = match looked_at() {
        Ok(metadata) => metadata,
        Err::<_, std::io::Error>(_) => return Some("it cannot be looked at"),
    };
    let me = rustix::process::geteuid().as_raw();
    let sudoer = sudoer.filter(|_| me == 0);
    verdict(
        |owner| owner == me || owner == 0 || Some(owner) == sudoer,
        [link.uid(), file.uid()],
        file.mode(),
        directory.mode(),
    )
}

#[cfg(not(unix))]
pub fn distrust(_file: &Path, _sudoer: Option<u32>) -> Option<&'static str> {
    None
}

/// In a sticky directory nobody but its owner can take a file's place.
#[cfg(unix)]
fn verdict(heeded: impl Fn(u32) -> bool, owners: [u32; 2], file: u32, directory: u32) -> Option<&'static str> {
    const WRITABLE: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    if !owners.into_iter().all(heeded) {
        Some("it belongs to another user")
    } else if file & WRITABLE != 0 {
        Some("every user can write to it")
    } else if directory & WRITABLE != 0 && directory & STICKY == 0 {
        Some("every user can write to its directory")
    } else {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn a_file_is_heeded_if_nobody_else_can_write_it() {
        let ours = |owner| owner == 1000 || owner == 0;
        for (owners, file, directory, heeded) in [
            ([1000, 1000], 0o644, 0o755, true),
            ([0, 0], 0o644, 0o755, true),
            // A group of one's own is usual, and so is its right to write.
            ([1000, 1000], 0o664, 0o775, true),
            ([1000, 1000], 0o644, 0o1777, true),
            ([1000, 1000], 0o644, 0o777, false),
            ([1000, 1000], 0o666, 0o755, false),
            ([1001, 1001], 0o644, 0o1777, false),
            ([1001, 1000], 0o644, 0o1777, false),
            ([1000, 1001], 0o644, 0o755, false),
        ] {
            let verdict = verdict(ours, owners, file, directory);
            assert_eq!(verdict.is_none(), heeded, "{owners:?} {file:o} {directory:o}");
        }
    }

    #[test]
    fn links_of_others_and_files_of_others_are_not_heeded_even_by_root() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let link = folder.path().join("link");
        std::fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!((distrust(&file, None), distrust(&link, None)), (None, None));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(distrust(&file, None), Some("every user can write to its directory"));
        assert_eq!(
            distrust(&folder.path().join("gone"), None),
            Some("it cannot be looked at")
        );
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
        // Only root can give a file away.
        if is_root() {
            std::os::unix::fs::lchown(&link, Some(1000), None).unwrap();
            assert!(distrust(&file, None).is_none() && distrust(&link, None).is_some());
            chown(&file, Some(1000), None).unwrap();
            assert!(distrust(&file, None).is_some() && distrust(&file, Some(1001)).is_some());
            assert_eq!(distrust(&file, Some(1000)), None, "the user who became root");
        }
    }
}
