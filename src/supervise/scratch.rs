//! The private directory of one run: made before the CLI starts, gone afterwards.
//!
//! Drop removes it; if we are killed the run's guard does; if that is killed too, the next run finds that nobody holds
//! the directory's lock any more and removes it then.

use super::tree::Keeper;
use crate::backend::ScratchEntry;
use crate::error::{ErrorKind, Failure};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A directory that only we may enter.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Locked for as long as the run lives.
    _lock: File,
    keeper: Option<Keeper>,
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

/// What to say when there is no place for a run's private files.
pub fn no_scratch(error: &io::Error) -> Failure {
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
            remove_stale(root);
            let path = root.join(uuid::Uuid::new_v4().simple().to_string());
            match make_private_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made?,
            }
            let Ok(lock) = open_lock(&path) else { continue };
            if lock.try_lock().is_ok() && path.exists() {
                return Ok(Self {
                    path,
                    _lock: lock,
                    keeper: None,
                });
            }
        }
        Err(io::Error::other(format!(
            "cannot make a directory in {}",
            root.display()
        )))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the entries of a plan. They must lie inside.
    pub fn fill(&self, entries: &[ScratchEntry]) -> io::Result<()> {
        for entry in entries {
            let path = entry.path();
            self.check_inside(path)?;
            match entry {
                ScratchEntry::File { path, contents } => write_private(path, contents)?,
                ScratchEntry::MergedJson { path, base, patch } => {
                    let merged = merged_json(fs::read(base).ok().as_deref(), patch);
                    write_private(path, &serde_json::to_vec_pretty(&merged)?)?;
                }
                ScratchEntry::Mirror {
                    path,
                    of,
                    except,
                    create,
                } => mirror(path, of, except, create)?,
                ScratchEntry::Copy { path, of } => write_private(path, &fs::read(of)?)?,
                ScratchEntry::CopyOrEmpty { path, of } => write_private(path, &fs::read(of).unwrap_or_default())?,
                ScratchEntry::Found { path, within, suffix } => {
                    if let Some((_, file)) = largest(within, suffix, FOUND_DEPTH) {
                        write_private(path, &fs::read(file)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps a run's guard, so that the directory is removed even if we are killed after the run.
    pub(super) fn keep(&mut self, keeper: Keeper) {
        self.keeper = Some(keeper);
    }

    /// Removes the directory, and tells the run's guard to end meanwhile.
    pub fn remove(mut self) -> Parting {
        let mut keeper = self.keeper.take();
        if let Some(keeper) = &mut keeper {
            keeper.dismiss();
        }
        Parting { _keeper: keeper }
    }

    fn check_inside(&self, path: &Path) -> io::Result<()> {
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        if path.starts_with(&self.path) && !climbs {
            return Ok(());
        }
        let message = format!("{} is not in the scratch directory", path.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

/// The guard of a run on its way out. Whoever drops this waits for its end.
#[derive(Debug)]
#[must_use = "there is something better to do than to wait"]
pub struct Parting {
    _keeper: Option<Keeper>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        // Only if it is empty.
        if let Some(root) = self.path.parent() {
            let _ = fs::remove_dir(root);
        }
        self.keeper = None;
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

/// A directory itself can be locked on Unix; elsewhere a file in it is.
#[cfg(unix)]
fn open_lock(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
fn open_lock(path: &Path) -> io::Result<File> {
    File::create(path.with_extension("lock"))
}

/// Removes what runs left that were killed together with their guards.
fn remove_stale(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !path.is_dir() {
            continue;
        }
        let unlocked = open_lock(&path).is_ok_and(|lock| lock.try_lock().is_ok());
        if unlocked {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(contents)
}

/// How deep `ScratchEntry::Found` looks.
const FOUND_DEPTH: u32 = 3;

/// The largest file whose name ends in `suffix`, with its size. Links are not followed.
fn largest(within: &Path, suffix: &str, depth: u32) -> Option<(u64, PathBuf)> {
    let entries = fs::read_dir(within).ok()?;
    entries
        .flatten()
        .filter_map(|entry| {
            let kind = entry.file_type().ok()?;
            if kind.is_dir() && depth > 1 {
                largest(&entry.path(), suffix, depth - 1)
            } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(suffix) {
                Some((entry.metadata().ok()?.len(), entry.path()))
            } else {
                None
            }
        })
        .max()
}

/// `patch` merged into `base`: objects key by key, everything else replaced.
fn merged_json(base: Option<&[u8]>, patch: &serde_json::Value) -> serde_json::Value {
    let base = base.and_then(|bytes| serde_json::from_slice(&without_comments(bytes)).ok());
    let mut merged = match base {
        Some(object @ serde_json::Value::Object(_)) => object,
        _ => serde_json::Value::Object(serde_json::Map::new()),
    };
    merge(&mut merged, patch);
    merged
}

/// The settings files of these CLIs may hold `//` and `/* */` comments: spaces in their place.
pub fn without_comments(json: &[u8]) -> Vec<u8> {
    let mut plain = json.to_vec();
    let mut position = 0;
    while position < json.len() {
        let rest = &json[position..];
        let length = match rest {
            [b'"', ..] => string_length(rest),
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            [b'/', b'*', ..] => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2),
            _ => 1,
        };
        if rest[0] == b'/' && length > 1 {
            plain[position..position + length].fill(b' ');
        }
        position += length;
    }
    plain
}

/// The length of the string that `json` begins with, its quotes included.
fn string_length(json: &[u8]) -> usize {
    let mut position = 1;
    while position < json.len() {
        match json[position] {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    json.len()
}

fn merge(base: &mut serde_json::Value, patch: &serde_json::Value) {
    match (base, patch) {
        (serde_json::Value::Object(base), serde_json::Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (base, patch) => *base = patch.clone(),
    }
}

fn mirror(path: &Path, of: &Path, except: &[OsString], create: &[OsString]) -> io::Result<()> {
    fs::create_dir_all(path)?;
    for name in create {
        fs::create_dir_all(of.join(name))?;
    }
    let entries = match fs::read_dir(of) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let link = path.join(&name);
        // What an earlier entry of the plan made there is meant.
        if except.contains(&name) || link.symlink_metadata().is_ok() {
            continue;
        }
        make_link(&entry.path(), &link)?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    if target.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777)
    }

    #[test]
    fn it_is_private_and_gone_afterwards_with_its_root() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let scratch = Scratch::create_in(&root).unwrap();
        let path = scratch.path().to_owned();
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
        assert!(!path.exists() && other.path().exists());
        drop(other);
        assert!(!root.exists());
    }

    #[test]
    fn entries_outside_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_in(&parent.path().join("root")).unwrap();
        for path in [parent.path().join("elsewhere"), scratch.path().join("../up")] {
            let entry = ScratchEntry::File {
                path: path.clone(),
                contents: Vec::new(),
            };
            assert!(scratch.fill(&[entry]).is_err());
            assert!(!path.exists());
        }
    }

    #[test]
    fn json_is_merged_into_what_is_there() {
        let base = br#"{"a":{"keep":1,"change":2},"list":[1],"b":true}"#;
        let patch = json!({"a":{"change":3,"new":4},"list":[2]});
        assert_eq!(
            merged_json(Some(base), &patch),
            json!({"a":{"keep":1,"change":3,"new":4},"list":[2],"b":true})
        );
        assert_eq!(merged_json(Some(b"// no json"), &patch), patch);
        assert_eq!(merged_json(Some(b"[1]"), &patch), patch);
        assert_eq!(merged_json(None, &patch), patch);
    }

    #[test]
    fn comments_in_settings_do_not_lose_them() {
        let base = br#"{ // "x": 1
            "url": "http://host/*not*/ \\\"//", /* " */ "a": 2 } // end"#;
        assert_eq!(
            merged_json(Some(base), &json!({"b": 3})),
            json!({"url": "http://host/*not*/ \\\"//", "a": 2, "b": 3})
        );
        for odd in [&b"/"[..], b"/*", b"//", b"\"", b"\"\\", b"{\"a\":1}/"] {
            let _ = merged_json(Some(odd), &json!({}));
        }
    }

    #[test]
    fn files_are_copied_and_the_largest_of_several_is_found() {
        let parent = tempfile::tempdir().unwrap();
        let chats = parent.path().join("tmp/project/chats");
        fs::create_dir_all(&chats).unwrap();
        let whole = chats.join("session-1-abc.jsonl");
        fs::write(&whole, "the conversation").unwrap();
        fs::write(chats.join("session-2-abc.jsonl"), "a stub").unwrap();
        fs::write(chats.join("session-3-def.jsonl"), "another conversation").unwrap();
        let scratch = Scratch::create_in(&parent.path().join("root")).unwrap();
        let path = |name: &str| scratch.path().join(name);
        let found = |name: &str, suffix: &str| ScratchEntry::Found {
            path: path(name),
            within: parent.path().join("tmp"),
            suffix: suffix.to_owned(),
        };
        let copy = ScratchEntry::Copy {
            path: path("deep/copy"),
            of: whole.clone(),
        };
        let absent = ScratchEntry::CopyOrEmpty {
            path: path("deep/absent"),
            of: path("nowhere"),
        };
        scratch
            .fill(&[found("fork", "-abc.jsonl"), found("none", "-ghi.jsonl"), copy, absent])
            .unwrap();
        assert_eq!(fs::read(path("deep/absent")).unwrap(), b"");
        assert_eq!(fs::read_to_string(path("fork")).unwrap(), "the conversation");
        assert_eq!(fs::read_to_string(path("deep/copy")).unwrap(), "the conversation");
        assert_eq!(mode(&path("deep/copy")), 0o600);
        assert!(!path("none").exists());
    }

    #[test]
    fn a_mirror_links_everything_but_what_is_named_and_survives_a_missing_original() {
        let parent = tempfile::tempdir().unwrap();
        let of = parent.path().join("original");
        fs::create_dir_all(of.join("chats")).unwrap();
        fs::write(of.join("settings.json"), "{}").unwrap();
        fs::write(of.join("credentials"), "x").unwrap();
        let scratch = Scratch::create_in(&parent.path().join("root")).unwrap();
        let path = scratch.path().join("home");
        let mirror = |of: &Path, path: &Path| ScratchEntry::Mirror {
            path: path.to_owned(),
            of: of.to_owned(),
            except: vec!["settings.json".into()],
            create: vec!["history".into()],
        };
        scratch.fill(&[mirror(&of, &path)]).unwrap();
        assert!(path.join("chats").is_symlink() && path.join("credentials").is_symlink());
        assert!(path.join("history").is_symlink() && of.join("history").is_dir());
        assert!(!path.join("settings.json").exists());
        let missing = ScratchEntry::Mirror {
            path: scratch.path().join("other"),
            of: parent.path().join("missing"),
            except: Vec::new(),
            create: Vec::new(),
        };
        scratch.fill(&[missing]).unwrap();
        assert!(scratch.path().join("other").is_dir());
        drop(scratch);
        assert!(
            of.join("credentials").exists(),
            "links are removed, not what they point to"
        );
    }

    #[test]
    fn what_a_dead_run_left_is_removed_and_what_a_living_one_uses_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("root");
        let living = Scratch::create_in(&root).unwrap();
        let dead = root.join("dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("file"), "x").unwrap();
        let _new = Scratch::create_in(&root).unwrap();
        assert!(!dead.exists());
        assert!(living.path().exists());
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
