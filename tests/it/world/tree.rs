//! What a directory holds, byte for byte, and how two such states differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every entry below a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    /// A socket, a pipe, or something that cannot be read.
    Other,
}

impl Tree {
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        collect(root, root, &mut entries);
        Self(entries)
    }

    /// What was added (`+`), removed (`-`) and changed (`~`) since `earlier`, outside of the given folders.
    pub fn changes_since(&self, earlier: &Tree, except: &[&str]) -> Vec<String> {
        let counts = |path: &Path| !except.iter().any(|folder| path.starts_with(folder));
        let mut changes = Vec::new();
        for (path, entry) in self.0.iter().filter(|(path, _)| counts(path)) {
            match earlier.0.get(path) {
                None => changes.push(format!("+ {}", path.display())),
                Some(before) if before != entry => changes.push(format!("~ {}", path.display())),
                Some(_) => {}
            }
        }
        let removed = earlier
            .0
            .keys()
            .filter(|path| counts(path) && !self.0.contains_key(*path));
        changes.extend(removed.map(|path| format!("- {}", path.display())));
        changes
    }
}

fn collect(root: &Path, folder: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type();
        let found = match kind {
            Ok(kind) if kind.is_dir() => {
                collect(root, &path, entries);
                Entry::Folder
            }
            Ok(kind) if kind.is_symlink() => fs::read_link(&path).map_or(Entry::Other, Entry::Link),
            Ok(kind) if kind.is_file() => fs::read(&path).map_or(Entry::Other, Entry::File),
            _ => Entry::Other,
        };
        let name = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        entries.insert(name, found);
    }
}
