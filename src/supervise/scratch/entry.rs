//! What a plan wants to have in the scratch directory: files, copies, merged settings, mirrors of directories.

use crate::backend::ScratchEntry;
use crate::bytes;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes an entry.
pub(super) fn make(entry: &ScratchEntry) -> io::Result<()> {
    match entry {
        ScratchEntry::File { path, contents } => write_private(path, contents),
        ScratchEntry::MergedJson { path, base, patch } => {
            // An empty file in its place could give more rights: what the user denied would be gone.
            let merged = merged_json(&read_if_there(base)?, patch)
                .map_err(|why| unusable(base, &format!("cannot be used: {why}; mend it, or take it away")))?;
            write_private(path, &serde_json::to_vec_pretty(&merged)?)
        }
        ScratchEntry::Mirror {
            path,
            of,
            except,
            create,
        } => mirror(path, of, except, create),
        ScratchEntry::Copy { path, of } => write_private(path, &read(of)?),
        ScratchEntry::CopyOrEmpty { path, of } => write_private(path, &read_if_there(of)?),
        ScratchEntry::Found { path, within, suffix } => match largest(within, suffix, FOUND_DEPTH) {
            Some((_, file)) => write_private(path, &read(&file)?),
            None => Ok(()),
        },
    }
}

/// What a file of the user's holds; nothing, if it is not there. One that cannot be read is an error, because it may say
/// what must not be done.
fn read_if_there(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Ok(contents) => Ok(contents),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, why: &io::Error) -> io::Error {
    unusable(path, &format!("cannot be read: {why}"))
}

/// What is wrong is a file of the user's, and not the place for ours: `no_scratch` tells them apart by this kind.
fn unusable(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {why}", path.display()))
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

/// `patch` merged into the object that `base` is: objects key by key, everything else replaced. A blank file is an empty
/// object; of one that is neither, the CLIs make different things, from a refusal to ignoring it without a word.
fn merged_json(base: &[u8], patch: &serde_json::Value) -> Result<serde_json::Value, String> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let base = without_comments(base.strip_prefix(BYTE_ORDER_MARK).unwrap_or(base));
    let object = match base.trim_ascii() {
        [] => serde_json::Map::new(),
        _ => serde_json::from_slice(&base).map_err(|error| format!("it is no JSON object ({error})"))?,
    };
    let mut merged = serde_json::Value::Object(object);
    merge(&mut merged, patch);
    Ok(merged)
}

/// The settings files of these CLIs may hold `//` and `/* */` comments: spaces in their place.
pub fn without_comments(json: &[u8]) -> Vec<u8> {
    let mut plain = json.to_vec();
    let mut position = 0;
    while position < json.len() {
        let rest = &json[position..];
        let length = match rest {
            [b'"', ..] => string_length(rest),
            [b'/', b'/', ..] => bytes::find(rest, |byte| byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => bytes::find_word(rest, b"*/").map_or(rest.len(), |end| end + 2),
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
        Err(error) => return Err(unreadable(of, &error)),
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
    use super::super::{Scratch, no_scratch};
    use super::*;
    use crate::error::ErrorKind;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn json_is_merged_into_what_is_there() {
        let base = br#"{"a":{"keep":1,"change":2},"list":[1],"b":true}"#;
        let patch = json!({"a":{"change":3,"new":4},"list":[2]});
        assert_eq!(
            merged_json(base, &patch).unwrap(),
            json!({"a":{"keep":1,"change":3,"new":4},"list":[2],"b":true})
        );
        for blank in [&b""[..], b"\xef\xbb\xbf{}", b" \n", b"// nothing"] {
            assert_eq!(merged_json(blank, &patch).unwrap(), patch);
        }
        for broken in [&b"{\"permissions\": "[..], b"[1]", b"no json"] {
            let why = merged_json(broken, &patch).unwrap_err();
            assert!(why.contains("it is no JSON object"), "{why}");
        }
    }

    #[test]
    fn settings_that_are_broken_or_cannot_be_read_are_not_taken_for_none() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_in(&parent.path().join("root")).unwrap();
        let of = parent.path().join("settings.json");
        let path = scratch.path().unwrap().join("settings.json");
        let filled = || {
            let merged = ScratchEntry::MergedJson {
                path: path.clone(),
                base: of.clone(),
                patch: json!({"a": 1}),
            };
            let copied = ScratchEntry::CopyOrEmpty {
                path: path.clone(),
                of: of.clone(),
            };
            [merged, copied].map(|entry| scratch.fill(&[entry]).map_err(|error| no_scratch(&error)))
        };
        assert_eq!(filled(), [Ok(()), Ok(())], "without any");
        fs::write(&of, r#"{"permissions": {"deny": ["Read(./secret)"]}, }"#).unwrap();
        let told = filled()[0].clone().unwrap_err();
        assert!(
            told.message.contains("settings.json cannot be used") && told.message.contains("line 1"),
            "{told}"
        );
        // Even root cannot read a directory.
        fs::remove_file(&of).unwrap();
        fs::create_dir(&of).unwrap();
        for told in filled() {
            let told = told.unwrap_err();
            assert!(
                told.message.starts_with(&format!("{} cannot be read: ", of.display())),
                "{told}"
            );
            assert_eq!(told.kind, ErrorKind::Usage, "the place for private files is all right");
        }
    }

    #[test]
    fn comments_in_settings_do_not_lose_them() {
        let base = br#"{ // "x": 1
            "url": "http://host/*not*/ \\\"//", /* " */ "a": 2 } // end"#;
        assert_eq!(
            merged_json(base, &json!({"b": 3})).unwrap(),
            json!({"url": "http://host/*not*/ \\\"//", "a": 2, "b": 3})
        );
        for odd in [&b"/"[..], b"/*", b"//", b"\"", b"\"\\", b"{\"a\":1}/"] {
            let _ = merged_json(odd, &json!({}));
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
        let path = |name: &str| scratch.path().unwrap().join(name);
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
        assert_eq!(
            fs::metadata(path("deep/copy")).unwrap().permissions().mode() & 0o777,
            0o600
        );
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
        let path = scratch.path().unwrap().join("home");
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
            path: scratch.path().unwrap().join("other"),
            of: parent.path().join("missing"),
            except: Vec::new(),
            create: Vec::new(),
        };
        scratch.fill(&[missing]).unwrap();
        assert!(scratch.path().unwrap().join("other").is_dir());
        drop(scratch);
        assert!(
            of.join("credentials").exists(),
            "links are removed, not what they point to"
        );
    }
}
