//! Where the store may be, what it looks like to others, and what happens where it cannot be written.

use super::{Fixture, check_private, files_below, helper, key, record};
use agentctl::error::ErrorKind;
use agentctl::session::{Key, Store};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

#[test]
fn directories_and_files_are_private_under_any_umask() {
    for umask in ["000", "022", "077", "777"] {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        let status = helper::start(umask, &state).wait().unwrap();
        assert!(status.success(), "umask {umask}");
        check_private(&state, umask);
    }
}

#[test]
fn a_directory_of_our_own_is_closed_before_anything_is_written_to_it() {
    let directory = tempfile::tempdir().unwrap();
    set_mode(directory.path(), 0o777);
    let store = Store::open(directory.path()).unwrap();
    store.put(&record(Key::fresh(), 0)).unwrap();
    assert_eq!(mode(directory.path()), 0o700);
}

#[test]
fn a_directory_shared_by_everybody_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    set_mode(directory.path(), 0o1777);
    let failure = Store::open(directory.path()).unwrap_err();
    assert!(failure.message.contains("other users can write to it"), "{failure}");
    assert!(failure.hint.unwrap().contains("AGENTCTL_STATE_DIR"));
    assert_eq!(mode(directory.path()), 0o1777 & 0o777);
}

#[test]
fn a_file_in_the_place_of_the_directory_is_told_plainly() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let failure = Store::open(file.path()).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    assert!(failure.message.contains("it is not a directory"), "{failure}");
    assert!(
        failure.message.contains(&file.path().display().to_string()),
        "{failure}"
    );
}

#[test]
fn a_link_to_a_directory_of_our_own_is_followed_and_one_to_nowhere_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    symlink(&real, &link).unwrap();
    let failure = Store::open(&link).unwrap_err();
    assert!(failure.message.contains("symbolic link"), "{failure}");
    std::fs::create_dir(&real).unwrap();
    let record = record(Key::fresh(), 0);
    Store::open(&link).unwrap().put(&record).unwrap();
    assert_eq!(Store::open(&real).unwrap().last(), Some(record));
}

#[test]
fn nothing_is_created_by_looking() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.last(), None);
    assert_eq!(fixture.store.by_name("a name").unwrap(), None);
    assert!(fixture.store.find("k3f9").is_err());
    assert!(!fixture.path().exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_fails_the_put_and_is_still_read() {
    let fixture = Fixture::new();
    let stored = fixture.put(0, |record| record.name = Some("a name".to_owned()));
    std::fs::remove_file(fixture.path().join("recent")).unwrap();
    let store = &fixture.store;
    let directories = [
        fixture.path().to_owned(),
        fixture.path().join("tmp"),
        fixture.path().join("sessions"),
    ];
    let (failure, found, last) = as_somebody_who_may_not_write(fixture.path().parent().unwrap(), &directories, || {
        let failure = store.put(&record(key("k3f9k3f9k3f9"), 1)).unwrap_err();
        (failure, store.by_name("a name").unwrap(), store.last())
    });
    assert!(failure.message.contains("sessions cannot be kept in"), "{failure}");
    assert!(
        failure.message.contains(&fixture.path().display().to_string()),
        "{failure}"
    );
    assert_eq!(found.as_ref(), Some(&stored));
    assert_eq!(last.as_ref(), Some(&stored));
}

#[test]
fn a_full_disk_fails_the_put_and_keeps_the_old_record() {
    let fixture = Fixture::new();
    fixture.put(0, |record| *record = super::record(key(helper::PUT_FOREVER_KEY), 0));
    let output = helper::start("put on a full disk", fixture.path())
        .wait_with_output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("failed: sessions cannot be kept in"), "{said}");
    let kept = fixture.store.get(&key(helper::PUT_FOREVER_KEY)).unwrap().unwrap();
    assert_eq!(kept, record(key(helper::PUT_FOREVER_KEY), 0));
    assert_eq!(
        files_below(&fixture.path().join("tmp")),
        [""; 0].map(std::path::PathBuf::from)
    );
}

/// Root may write anywhere, so root gives that up in this thread: files are then opened as nobody, who owns the
/// directories here and has taken the right to write from them.
#[cfg(target_os = "linux")]
fn as_somebody_who_may_not_write<T: Send>(
    top: &Path,
    directories: &[std::path::PathBuf],
    action: impl FnOnce() -> T + Send,
) -> T {
    const NOBODY: u32 = 65_534;
    let root = rustix::process::geteuid().is_root();
    set_mode(top, 0o755);
    if root {
        std::os::unix::fs::chown(top, Some(NOBODY), None).unwrap();
        own_all(top, NOBODY);
    }
    for directory in directories {
        set_mode(directory, 0o500);
    }
    let result = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if root {
                // SAFETY: changes with whose rights this thread, and no other, opens files.
                unsafe { libc::setfsuid(NOBODY) };
            }
            action()
        });
        thread.join().unwrap()
    });
    for directory in directories {
        set_mode(directory, 0o700);
    }
    result
}

#[cfg(target_os = "linux")]
fn own_all(directory: &Path, owner: u32) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        std::os::unix::fs::chown(entry.path(), Some(owner), None).unwrap();
        if entry.file_type().unwrap().is_dir() {
            own_all(&entry.path(), owner);
        }
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
