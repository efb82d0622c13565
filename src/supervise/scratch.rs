//! The private directory of one run: made before the CLI starts, gone afterwards.
//!
//! Drop removes it; if we are killed the run's guard does; if that is killed too, the next run finds that nobody holds
//! the directory's lock any more and removes it then.

mod entry;

pub use entry::without_comments;

use super::tree::Keeper;
use crate::backend::ScratchEntry;
use crate::error::{ErrorKind, Failure};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A directory that only we may enter, if the run needs one.
#[derive(Debug)]
pub struct Scratch {
    directory: Option<Directory>,
    keeper: Option<Keeper>,
}

/// It is gone when this is dropped.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Locked for as long as the run lives.
    lock: Option<File>,
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        self.lock = None;
        discard_lock(&self.path);
        // Only if it is empty.
        if let Some(root) = self.path.parent() {
            let _ = fs::remove_dir(root);
        }
    }
}

/// The end of a run: its guard removes the directory and ends. Whoever drops this waits for that, and removes what is
/// left.
#[derive(Debug)]
#[must_use = "there is something better to do than to wait"]
pub struct Parting {
    _keeper: Option<Keeper>,
    _directory: Option<Directory>,
}

/// Where scratch directories lie: private to the user and cleared by the system now and then.
pub fn default_root() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && path.is_dir());
    match runtime {
        Some(runtime) => runtime.join("agentctl"),
        None => temporary_root(),
    }
}

fn temporary_root() -> PathBuf {
    std::env::temp_dir().join(private_name())
}

/// What to say when a run's private files cannot be made, whoever makes them.
pub fn no_scratch(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::InvalidData {
        return Failure::usage(error.to_string()).hint("mend that file: the run needs a copy of it");
    }
    let message = format!("cannot make a private temporary directory: {error}");
    Failure::new(ErrorKind::Crashed, message).hint(format!(
        "{} must be there and writable; TMPDIR names another place",
        std::env::temp_dir().display()
    ))
}

#[cfg(unix)]
fn private_name() -> String {
    format!("agentctl-{}", rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn private_name() -> String {
    "agentctl".to_owned()
}

impl Scratch {
    /// For a run that puts nothing anywhere.
    pub fn nowhere() -> Self {
        Self {
            directory: None,
            keeper: None,
        }
    }

    /// A new directory in the default place, after what dead runs left there was removed.
    pub fn create() -> io::Result<Self> {
        // A runtime directory that is another user's, as after `su`, is not a reason to give up.
        Self::create_in(&default_root()).or_else(|_| Self::create_in(&temporary_root()))
    }

    /// A new directory in `root`, which must be ours alone and is made if it is not there.
    pub fn create_in(root: &Path) -> io::Result<Self> {
        // Another run may remove the empty root, or take our directory for a dead one before it is locked.
        for _ in 0..20 {
            make_private_root(root)?;
            remove_stale(root, SystemTime::now());
            let path = root.join(name(uuid::Uuid::now_v7(), std::process::id()));
            match make_private_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made?,
            }
            let Ok(lock) = open_lock(&path) else { continue };
            if lock.try_lock().is_ok() && path.exists() {
                return Ok(Self {
                    directory: Some(Directory { path, lock: Some(lock) }),
                    keeper: None,
                });
            }
        }
        Err(io::Error::other(format!(
            "cannot make a directory in {}",
            root.display()
        )))
    }

    pub fn path(&self) -> Option<&Path> {
        Some(&self.directory.as_ref()?.path)
    }

    /// Makes the entries of a plan. They must lie inside.
    pub fn fill(&self, entries: &[ScratchEntry]) -> io::Result<()> {
        for entry in entries {
            self.check_inside(entry.path())?;
            entry::make(entry)?;
        }
        Ok(())
    }

    /// Keeps a run's guard, so that the directory is removed even if we are killed after the run.
    pub(super) fn keep(&mut self, keeper: Keeper) {
        self.keeper = Some(keeper);
    }

    /// Has the directory removed by the run's guard, while we do something else.
    pub fn part(mut self) -> Parting {
        if let Some(keeper) = &mut self.keeper {
            keeper.dismiss();
        }
        Parting {
            _keeper: self.keeper,
            _directory: self.directory,
        }
    }

    fn check_inside(&self, path: &Path) -> io::Result<()> {
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        if self.path().is_some_and(|ours| path.starts_with(ours)) && !climbs {
            return Ok(());
        }
        let message = format!("{} is not in the scratch directory", path.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

fn make_private_root(root: &Path) -> io::Result<()> {
    match make_private_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_private(root),
        made => made,
    }
}

#[cfg(unix)]
fn make_private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new().mode(0o700).create(path)?;
    // The umask may have taken our own rights.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private_dir(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// In a directory that everybody may write to, somebody may have been there before us.
#[cfg(unix)]
fn check_private(root: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = match fs::symlink_metadata(root) {
        // Another run removed it just now: the caller tries again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_dir() && ours && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    let message = format!(
        "{} is not a directory that only you may enter; remove it",
        root.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(not(unix))]
fn check_private(_root: &Path) -> io::Result<()> {
    Ok(())
}

/// A directory itself can be locked on Unix; elsewhere a file beside it is, because nothing in it may be open when it is
/// removed.
#[cfg(unix)]
fn open_lock(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
fn open_lock(path: &Path) -> io::Result<File> {
    File::create(lock_beside(path))
}

#[cfg(unix)]
fn discard_lock(_path: &Path) {}

#[cfg(not(unix))]
fn discard_lock(path: &Path) {
    let _ = fs::remove_file(lock_beside(path));
}

#[cfg(not(unix))]
fn lock_beside(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// A lock file without its directory: whoever removed the directory was killed before it got here.
#[cfg(not(unix))]
fn discard_orphaned_lock(path: &Path) {
    let directory = path.with_extension("");
    if path.extension() == Some(OsStr::new("lock")) && !directory.exists() {
        discard_lock(&directory);
    }
}

/// The name of a directory tells when it was made, and by whom.
fn name(made: uuid::Uuid, maker: u32) -> String {
    format!("{}-{maker}", made.simple())
}

/// Removes what runs left that were killed together with their guards. A young one whose maker lives is not looked at: of
/// many runs at once, each would ask after the locks of all the others.
fn remove_stale(root: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if is_in_use(&entry.file_name(), now) {
            continue;
        }
        if !path.is_dir() {
            #[cfg(not(unix))]
            discard_orphaned_lock(&path);
            continue;
        }
        let Ok(lock) = open_lock(&path) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(&path);
            drop(lock);
            discard_lock(&path);
        }
    }
}

/// How long the number of a process is believed to be still its own.
const YOUNG: Duration = Duration::from_secs(60);

/// Whether the name alone says so; if not, only the lock can tell.
fn is_in_use(name: &OsStr, now: SystemTime) -> bool {
    let parts = || {
        let (made, maker) = name.to_str()?.split_once('-')?;
        let (seconds, nanoseconds) = made.parse::<uuid::Uuid>().ok()?.get_timestamp()?.to_unix();
        let made = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))?;
        Some((made, maker.parse().ok()?))
    };
    parts().is_some_and(|(made, maker)| now.duration_since(made).is_ok_and(|age| age < YOUNG) && is_alive(maker))
}

#[cfg(unix)]
fn is_alive(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn is_alive(_pid: i32) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777)
    }

    #[test]
    fn it_is_private_and_gone_afterwards_with_its_root() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let scratch = Scratch::create_in(&root).unwrap();
        let path = scratch.path().unwrap().to_owned();
        let file = path.join("deep/secret.json");
        scratch
            .fill(&[ScratchEntry::File {
                path: file.clone(),
                contents: b"{}".to_vec(),
            }])
            .unwrap();
        assert_eq!((mode(&root), mode(&path), mode(&file)), (0o700, 0o700, 0o600));
        let other = Scratch::create_in(&root).unwrap();
        drop(scratch);
        assert!(!path.exists() && other.path().unwrap().exists());
        drop(other);
        assert!(!root.exists());
    }

    #[test]
    fn entries_outside_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_in(&parent.path().join("root")).unwrap();
        for path in [parent.path().join("elsewhere"), scratch.path().unwrap().join("../up")] {
            let entry = ScratchEntry::File {
                path: path.clone(),
                contents: Vec::new(),
            };
            assert!(scratch.fill(&[entry]).is_err());
            assert!(!path.exists());
        }
    }

    #[test]
    fn what_a_dead_run_left_is_removed_and_what_a_living_one_uses_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let living = Scratch::create_in(&root).unwrap();
        let long_ago = uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_700_000_000, 0));
        let just_now = uuid::Uuid::now_v7();
        let (we, nobody) = (std::process::id(), 4_194_305);
        let make = |name: &str| {
            let path = root.join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            path
        };
        let dead = ["foreign", &name(long_ago, we), &name(just_now, nobody)].map(make);
        let young = make(&name(just_now, we));
        let _new = Scratch::create_in(&root).unwrap();
        assert!(dead.iter().all(|dead| !dead.exists()), "{dead:?}");
        assert!(young.exists(), "its run may be about to lock it");
        assert!(living.path().unwrap().exists());
        remove_stale(&root, SystemTime::now() + 2 * YOUNG);
        assert!(!young.exists() && living.path().unwrap().exists());
    }

    #[test]
    fn a_root_that_others_may_enter_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Scratch::create_in(&root).is_err());
        let target = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &target).unwrap();
        assert!(Scratch::create_in(&target).is_err());
    }
}
