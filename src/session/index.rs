//! Small pointers from a name, a native id or a directory to a key. They only lead to a record; the record decides.

use super::file::{Durability, Present, Root};
use super::key::Key;
use super::path_text;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// 4096 directories: one is looked through for a native id whose backend is not known, so it must stay short.
const SHARD_LENGTH: usize = 3;

/// What a conversation can be found by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle<'a> {
    Name(&'a str),
    Native { backend: &'a str, id: &'a str },
    Directory(&'a Path),
}

/// Where a pointer leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Key(Key),
    Nowhere,
    /// There is a pointer, but not what it says: only the records themselves can tell.
    Unreadable,
}

/// The content of a pointer. `text` is what it was made for, so that a damaged record still has its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pointer {
    pub(super) key: Key,
    text: String,
}

impl Handle<'_> {
    fn path(&self, root: &Root) -> PathBuf {
        match self {
            Self::Name(name) => sharded(root, "names", &digest(name.as_bytes()), ""),
            Self::Native { backend, id } => {
                sharded(root, "native", &digest(id.as_bytes()), &digest(backend.as_bytes())[..8])
            }
            Self::Directory(directory) => sharded(root, "cwd", &digest(path_text::bytes(directory)), ""),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Name(name) => (*name).to_owned(),
            Self::Native { id, .. } => (*id).to_owned(),
            Self::Directory(directory) => directory.to_string_lossy().into_owned(),
        }
    }

    /// Where it points to. A pointer that was made for another text points nowhere.
    pub(super) fn read(&self, root: &Root) -> Target {
        match read(&self.path(root)) {
            Ok(Some(pointer)) if pointer.text == self.text() => Target::Key(pointer.key),
            Ok(_) => Target::Nowhere,
            Err(_) => Target::Unreadable,
        }
    }

    /// Makes it point to `key`. Costs one read when it does already.
    pub(super) fn write(&self, root: &Root, key: Key) -> io::Result<()> {
        let path = self.path(root);
        let pointer = Pointer { key, text: self.text() };
        let bytes = serde_json::to_vec(&pointer)?;
        // Neither synced nor whole at once: a crash leaves a part at worst, and what cannot be read is looked for
        // elsewhere. Keys are all of one length.
        match read(&path) {
            Ok(Some(present)) if present == pointer => Ok(()),
            Ok(Some(present)) if present.text == pointer.text => root.write_small(&path, &bytes, Present::SameLength),
            Ok(None) => root.write_small(&path, &bytes, Present::Nothing),
            _ => root.write(&path, &bytes, Durability::Process).map(drop),
        }
    }

    /// Removes it if it points to `key`.
    pub(super) fn remove(&self, root: &Root, key: Key) {
        if self.read(root) == Target::Key(key) {
            // A pointer that stays is stale, and ignored as such.
            let _ = std::fs::remove_file(self.path(root));
        }
    }
}

/// A pointer, nothing if there is none, or why it cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Option<Pointer>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The keys that a native id points to, whatever the backend.
pub(super) fn keys_of_native_id(root: &Root, id: &str) -> Vec<Key> {
    let digest = digest(id.as_bytes());
    let some_path = sharded(root, "native", &digest, "");
    let Some(Ok(entries)) = some_path.parent().map(std::fs::read_dir) else {
        return Vec::new();
    };
    let beginning = &digest.as_bytes()[SHARD_LENGTH..];
    entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(beginning))
        .filter_map(|entry| read(&entry.path()).ok().flatten())
        .filter(|pointer| pointer.text == id)
        .map(|pointer| pointer.key)
        .collect()
}

fn sharded(root: &Root, folder: &str, digest: &str, suffix: &str) -> PathBuf {
    let (shard, rest) = digest.split_at(SHARD_LENGTH);
    root.path().join(folder).join(shard).join(format!("{rest}{suffix}"))
}

/// The file-name form of any text: the same in every version and on every machine, and hard to collide on purpose
/// (names come from strangers). A collision would cost a lookup, never give a wrong record.
pub(super) fn digest(bytes: &[u8]) -> String {
    uuid::Uuid::new_v5(&uuid::Uuid::nil(), bytes).simple().to_string()
}
