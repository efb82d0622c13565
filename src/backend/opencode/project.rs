//! What of a project OpenCode runs although it is told to leave projects alone.
//!
//! A part of OpenCode loads the plugins of a project whatever `OPENCODE_DISABLE_PROJECT_CONFIG` and `OPENCODE_PURE` say.
//! They are programs with every right, so a limited run beside one is refused. The only file of this backend that reads
//! the file system, and it changes nothing.

use crate::bytes;
use crate::error::Failure;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: &[&str] = &[".opencode/plugin", ".opencode/plugins"];
const SETTINGS: &[&str] = &[
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
];

/// Refuses a directory in which, or above which, a plugin lies. What lies in the user's home is the user's own.
pub fn without_plugins(cwd: &Path, home: &Path) -> Result<(), Failure> {
    let projects = cwd.ancestors().take_while(|directory| *directory != home);
    match projects.filter_map(plugin).next() {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "OpenCode would run the plugins of this project, which no limit holds: {}",
            path.display()
        ))
        .hint("use `--permission full` without tool rules if you trust them, or another working directory")),
    }
}

fn plugin(directory: &Path) -> Option<PathBuf> {
    let folders = FOLDERS.iter().map(|name| directory.join(name));
    let files = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    let mut programs = files.map(|entry| entry.path()).filter(|path| is_program(path));
    programs.next().or_else(|| {
        let mut settings = SETTINGS.iter().map(|name| directory.join(name));
        settings.find(|path| fs::read(path).is_ok_and(|text| names_plugins(&text)))
    })
}

fn is_program(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("js" | "ts"))
}

/// Whether settings might name a plugin: by its key, or by one that is written with escapes.
fn names_plugins(settings: &[u8]) -> bool {
    let holds = |wanted: &[u8]| bytes::find_word(settings, wanted).is_some();
    holds(b"\"plugin") || holds(b"\\u")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, text: &str) -> bool {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        let file = project.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::create_dir_all(project.join("deep/er")).unwrap();
        fs::write(file, text).unwrap();
        let own = home.path().join(".opencode/plugin");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("mine.js"), "").unwrap();
        without_plugins(&project.join("deep/er"), home.path()).is_err()
    }

    #[test]
    fn a_plugin_anywhere_above_is_refused_unless_it_is_the_users_own() {
        assert!(refused(".opencode/plugin/evil.js", ""));
        assert!(refused(".opencode/plugins/evil.ts", ""));
        assert!(!refused(".opencode/plugin/README.md", ""));
        assert!(!refused("src/plugin/evil.js", ""));
    }

    #[test]
    fn settings_that_name_plugins_are_refused_however_they_spell_it() {
        assert!(refused("opencode.json", r#"{"plugin": ["./evil.js"]}"#));
        assert!(refused("opencode.jsonc", r#"{"plugins": [/* */"evil"],}"#));
        assert!(refused(".opencode/opencode.json", r#"{"pl\u0075gin": ["./evil.js"]}"#));
        assert!(!refused("opencode.json", r#"{"permission": {"*": "allow"}}"#));
    }
}
