//! Small pointers from a name, a native id or a directory to a key. They only lead to a record; the record decides.

use super::file::{Durability, Root};
use super::key::Key;
use super::path_text;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What a conversation can be found by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle<'a> {
    Name(&'a str),
    Native { backend: &'a str, id: &'a str },
    Directory(&'a Path),
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

    /// A lost name or id loses a conversation; a lost directory only its place in `--last`.
    fn durability(&self) -> Durability {
        match self {
            Self::Name(_) | Self::Native { .. } => Durability::Machine,
            Self::Directory(_) => Durability::Process,
        }
    }

    /// Where it points to. A pointer that is missing, damaged or made for another text points nowhere.
    pub(super) fn read(&self, root: &Root) -> Option<Key> {
        let pointer = read(&self.path(root))?;
        (pointer.text == self.text()).then_some(pointer.key)
    }

    /// Makes it point to `key`. Costs one read when it does already.
    pub(super) fn write(&self, root: &Root, key: Key) -> io::Result<()> {
        let path = self.path(root);
        let pointer = Pointer { key, text: self.text() };
        if read(&path).as_ref() == Some(&pointer) {
            return Ok(());
        }
        root.write(&path, &serde_json::to_vec(&pointer)?, self.durability())
    }

    /// Removes it if it points to `key`.
    pub(super) fn remove(&self, root: &Root, key: Key) {
        if self.read(root) == Some(key) {
            // A pointer that stays is stale, and ignored as such.
            let _ = std::fs::remove_file(self.path(root));
        }
    }
}

pub(super) fn read(path: &Path) -> Option<Pointer> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The keys that a native id points to, whatever the backend.
pub(super) fn keys_of_native_id(root: &Root, id: &str) -> Vec<Key> {
    let digest = digest(id.as_bytes());
    let some_path = sharded(root, "native", &digest, "");
    let Some(Ok(entries)) = some_path.parent().map(std::fs::read_dir) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&digest[2..]))
        .filter_map(|entry| read(&entry.path()))
        .filter(|pointer| pointer.text == id)
        .map(|pointer| pointer.key)
        .collect()
}

fn sharded(root: &Root, folder: &str, digest: &str, suffix: &str) -> PathBuf {
    let (shard, rest) = digest.split_at(2);
    root.path().join(folder).join(shard).join(format!("{rest}{suffix}"))
}

/// The file-name form of any text: the same in every version and on every machine, and hard to collide on purpose
/// (names come from strangers). A collision would cost a lookup, never give a wrong record.
pub(super) fn digest(bytes: &[u8]) -> String {
    uuid::Uuid::new_v5(&uuid::Uuid::nil(), bytes).simple().to_string()
}
