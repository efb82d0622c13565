//! The program itself: what else on `PATH` has its name, whether the interpreter of a script is there, and which version
//! the package around it says it is.

use super::report::Check;
use crate::exit::Exit;
use crate::locate;
use serde::Deserialize;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Other programs of the same name that come later on `PATH`. A link to the same file is no other program.
pub fn shadowed(found: &Path, name: &str, search_path: Option<&OsStr>) -> Vec<PathBuf> {
    let Some(search_path) = search_path else {
        return Vec::new();
    };
    let own = found.canonicalize().ok();
    let mut others: Vec<PathBuf> = which::which_in_all(name, Some(search_path), ".")
        .map(Iterator::collect)
        .unwrap_or_default();
    others.retain(|path| path != found && path.canonicalize().ok() != own);
    others.dedup();
    others
}

/// A script whose interpreter is not there starts as little as no script at all.
pub fn interpreter_check(backend: &str, program: &Path, search_path: Option<&OsStr>) -> Option<Check> {
    let line = first_line(program)?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let interpreter = words.next()?;
    let missing = |what: &str| {
        let message = format!("{} needs `{what}`, which is not there", program.display());
        Check::failure("binary", Exit::NotInstalled, message)
    };
    if !Path::new(interpreter).exists() {
        let how = locate::how_to_name(backend);
        return Some(missing(interpreter).hint(format!("install {interpreter}, or name another binary: {how}")));
    }
    if Path::new(interpreter).file_name() != Some(OsStr::new("env")) {
        return None;
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    match which::which_in(name, search_path, ".") {
        Ok(_) => None,
        Err(_) => Some(missing(name).hint(match name {
            "node" => "install Node.js and put `node` on PATH".to_owned(),
            name => format!("put `{name}` on PATH"),
        })),
    }
}

fn first_line(program: &Path) -> Option<String> {
    let mut head = [0_u8; 256];
    let length = std::fs::File::open(program).ok()?.read(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head[..length]);
    head.lines().next().map(str::to_owned)
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// The version that the npm package around a program tells, without starting the program.
pub fn installed_version(program: &Path, package: &str) -> Option<String> {
    let real = program.canonicalize().ok()?;
    for directory in real.ancestors().skip(1).take(6) {
        let Ok(text) = std::fs::read_to_string(directory.join("package.json")) else {
            continue;
        };
        if let Ok(found) = serde_json::from_str::<Package>(&text)
            && found.name == package
        {
            return Some(found.version);
        }
    }
    None
}
