//! One run at a time in one conversation.
//!
//! A lock is an advisory lock on a file of its own, held as long as the file is open anywhere: a supervisor may pass
//! the descriptor on, so that the conversation stays taken until the agent's last process is gone. Lock files are left
//! where they are; `prune` removes one only while it holds it, and whoever gets a lock makes sure that its file is still
//! in place.

use super::file::{Root, is_at};
use super::index::digest;
use super::key::Key;
use crate::error::{ErrorKind, Failure};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Those who only look whether a lock is held, or clear it away, hold it for a moment.
const NO_PATIENCE: Duration = Duration::from_millis(20);

/// Which lock a conversation has. It is decided when the conversation begins, by what it was begun with, and kept in
/// its record: by name, by key and by native id everybody takes the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LockId(String);

impl LockId {
    /// For a conversation without a name.
    pub fn of_key(key: Key) -> Self {
        Self(format!("key-{key}"))
    }

    /// For a conversation that begins with `--session NAME`.
    pub fn of_name(name: &str) -> Self {
        Self(format!("name-{}", digest(name.as_bytes())))
    }

    /// For a conversation that was begun outside of agentctl.
    pub fn of_native_id(backend: &str, native_id: &str) -> Self {
        Self(format!(
            "native-{}",
            digest(format!("{backend}\n{native_id}").as_bytes())
        ))
    }

    /// All in one directory: nobody looks through it but `prune`, and a new conversation neither makes a directory nor
    /// waits for the disk to tell where one has room.
    pub(super) fn path(&self, root: &Root) -> PathBuf {
        root.path().join("locks").join(format!("{}.lock", self.0))
    }
}

/// Records can be edited: an id is a path component only if it looks like one of ours.
impl TryFrom<String> for LockId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let ours = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        match (5..=64).contains(&text.len()) && text.bytes().all(ours) {
            true => Ok(Self(text)),
            false => Err("not the id of a lock"),
        }
    }
}

impl From<LockId> for String {
    fn from(id: LockId) -> Self {
        id.0
    }
}

/// What to do while somebody else has the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Take no lock at all, and make nothing: for somebody who only looks.
    Unheld,
    No,
    For(Duration),
    Forever,
}

/// A conversation that is ours until this is dropped (and every copy of its descriptor is closed).
#[derive(Debug)]
pub struct Guard {
    /// None where no lock can be made (see `open`) or none was wanted.
    file: Option<File>,
    id: LockId,
}

impl Guard {
    /// The open lock file: a copy of it held elsewhere keeps the conversation taken.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// What the record of this conversation must say.
    pub fn id(&self) -> &LockId {
        &self.id
    }
}

/// Takes a lock, in turn: the kernel keeps the queue.
pub(super) fn take(root: &Root, id: &LockId, wait: Wait) -> Result<Guard, Failure> {
    if wait == Wait::Unheld {
        return Ok(Guard {
            file: None,
            id: id.clone(),
        });
    }
    let path = id.path(root);
    let begun = Instant::now();
    loop {
        let Some(file) = open(root, &path).map_err(|error| unusable(&path, &error))? else {
            return Ok(Guard {
                file: None,
                id: id.clone(),
            });
        };
        let file = match file.try_lock() {
            Ok(()) => file,
            Err(TryLockError::WouldBlock) => wait_for(file, wait, begun, &path)?,
            Err(TryLockError::Error(error)) => return Err(unusable(&path, &error)),
        };
        if is_at(&file, &path) {
            return Ok(Guard {
                file: Some(file),
                id: id.clone(),
            });
        }
    }
}

/// A place that cannot be written still has the locks of the conversations that were begun there, or nothing if they
/// were cleared away: nobody can take them then, and nobody can change what they protect.
fn open(root: &Root, path: &Path) -> io::Result<Option<File>> {
    let error = match root.open(path, OpenOptions::new().read(true).write(true)) {
        Ok(file) => return Ok(Some(file)),
        Err(error) => error,
    };
    if !matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    ) {
        return Err(error);
    }
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(absent) if absent.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) => Err(error),
    }
}

/// Whether somebody holds a lock. A taker who does not want to wait allows for the moment that the look takes.
pub(super) fn is_held(root: &Root, id: &LockId) -> bool {
    File::open(id.path(root)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Removes the file of a lock that nobody holds.
pub(super) fn remove_if_free(path: &Path) {
    // Elsewhere there is no telling whether an open file is still in place.
    if cfg!(unix)
        && let Ok(file) = File::open(path)
        && file.try_lock().is_ok()
        && is_at(&file, path)
    {
        // One that stays costs an empty file.
        let _ = std::fs::remove_file(path);
    }
}

/// Removes the file of a lock that we hold, and gives the lock back: whoever waits for it takes it anew.
pub(super) fn remove_held(guard: Guard, root: &Root) {
    if cfg!(unix) {
        // One that stays costs an empty file.
        let _ = std::fs::remove_file(guard.id.path(root));
    }
}

/// Waits in a thread of its own, because a wait for a file lock cannot have a deadline. If the deadline passes first,
/// the thread gives the lock back as soon as it gets it.
fn wait_for(file: File, wait: Wait, begun: Instant, path: &Path) -> Result<File, Failure> {
    let patience = match wait {
        Wait::Unheld | Wait::No => NO_PATIENCE,
        Wait::For(patience) => patience,
        Wait::Forever => {
            file.lock().map_err(|error| unusable(path, &error))?;
            return Ok(file);
        }
    };
    let (sender, receiver) = mpsc::channel();
    let waiting = move || {
        let locked = file.lock();
        // If nobody listens any more, the file is closed here and the lock with it.
        let _ = sender.send(locked.map(|()| file));
    };
    std::thread::Builder::new()
        .name("session-lock".to_owned())
        .spawn(waiting)
        .map_err(|error| unusable(path, &error))?;
    match receiver.recv_timeout(patience.saturating_sub(begun.elapsed())) {
        Ok(locked) => locked.map_err(|error| unusable(path, &error)),
        Err(_) => Err(busy(wait)),
    }
}

fn busy(waited: Wait) -> Failure {
    let failure = |message: String| Failure::new(ErrorKind::Busy, message);
    match waited {
        Wait::For(time) => failure(format!("another run still has this conversation after {time:?}"))
            .hint("give it more time with --wait, or try again later"),
        Wait::Unheld | Wait::No | Wait::Forever => {
            failure("another run has this conversation".to_owned()).hint("wait for it with --wait, or try again later")
        }
    }
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!(
        "the conversation cannot be locked with {}: {error}",
        path.display()
    ))
    .hint("choose another place with AGENTCTL_STATE_DIR")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path().to_owned());
        (directory, root)
    }

    #[test]
    fn the_second_taker_is_told_that_the_conversation_is_busy() {
        let (_directory, root) = root();
        let id = LockId::of_name("a channel");
        let guard = take(&root, &id, Wait::No).unwrap();
        assert_eq!(take(&root, &id, Wait::No).unwrap_err().kind, ErrorKind::Busy);
        let patience = Wait::For(Duration::from_millis(20));
        assert_eq!(take(&root, &id, patience).unwrap_err().kind, ErrorKind::Busy);
        drop(guard);
        take(&root, &id, Wait::For(Duration::from_secs(20))).unwrap();
    }

    #[test]
    fn a_waiter_gets_the_lock_when_it_becomes_free() {
        let (_directory, root) = root();
        let id = LockId::of_key(Key::fresh());
        let guard = take(&root, &id, Wait::No).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| take(&root, &id, Wait::For(Duration::from_secs(20))));
            drop(guard);
            waiter.join().unwrap().unwrap();
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_file_was_removed_while_waiting_is_taken_anew() {
        let (_directory, root) = root();
        let id = LockId::of_key(Key::fresh());
        let path = id.path(&root);
        let guard = take(&root, &id, Wait::No).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| take(&root, &id, Wait::For(Duration::from_secs(20))));
            std::fs::remove_file(&path).unwrap();
            drop(guard);
            let taken = waiter.join().unwrap().unwrap();
            assert!(is_at(taken.file().unwrap(), &path));
        });
    }

    #[test]
    fn a_held_lock_is_not_removed() {
        let (_directory, root) = root();
        let id = LockId::of_key(Key::fresh());
        let guard = take(&root, &id, Wait::No).unwrap();
        remove_if_free(&id.path(&root));
        assert!(id.path(&root).exists());
        drop(guard);
        remove_if_free(&id.path(&root));
        assert_eq!(id.path(&root).exists(), cfg!(not(unix)));
    }

    #[test]
    fn an_id_that_could_leave_the_directory_is_refused() {
        for text in ["", "..", "key-../../x", "KEY-AAAA", "key-\n"] {
            assert!(LockId::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }
}
