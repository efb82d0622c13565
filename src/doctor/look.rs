//! The user's files that a checkup names, read and never written.

use crate::backend::{Backend, Checkup, Content, Seen, Site};
use crate::config::Environment;
use crate::owner;
use crate::supervise::environment::{self, Wishes};
use crate::supervise::json_without_comments;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than any settings file has; the rest of a larger one is not looked at.
const MOST: u64 = 32 * 1024 * 1024;

/// A backend's surroundings.
pub struct Look {
    pub checkup: Checkup,
    pub site: Site,
    files: BTreeMap<PathBuf, Content>,
}

impl Look {
    /// Reads what the checkup of a backend names. `program` is where it was found, or would be.
    pub fn at(backend: &dyn Backend, program: PathBuf, scratch: PathBuf, ours: &Environment) -> Self {
        let env = environment::build(ours.all().clone(), &Wishes::default()).unwrap_or_else(|_| ours.all().clone());
        let site = Site {
            program,
            scratch,
            home: ours.home().unwrap_or_else(|| PathBuf::from("/")),
            env,
            root: owner::is_root(),
        };
        let checkup = backend.checkup(&site);
        let files = checkup.files.iter().map(|path| (path.clone(), read(path))).collect();
        Self { checkup, site, files }
    }

    pub fn seen(&self) -> Seen<'_> {
        Seen {
            site: &self.site,
            files: &self.files,
        }
    }
}

fn read(path: &Path) -> Content {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let result = opened.and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    match result {
        Ok(_) => {
            let json = serde_json::from_slice(&bytes)
                .or_else(|_| serde_json::from_slice(&json_without_comments(&bytes)))
                .ok();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Content::Text { text, json }
        }
        Err(error) if is_absent(&error) => Content::Absent,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}
