//! Finding a backend's program before anything is spawned, so that what is wrong is said clearly.

use crate::backend::Backend;
use crate::config::path_variable;
use crate::error::{ErrorKind, Failure};
use crate::shell;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The program of a backend: the configured one, or the first on `search_path`.
pub fn program(
    backend: &dyn Backend,
    configured: Option<&Path>,
    search_path: Option<&OsStr>,
    cwd: &Path,
) -> Result<PathBuf, Failure> {
    if backend.name() == "mock" && configured.is_none() {
        return ourselves(search_path, cwd);
    }
    let wanted = configured.unwrap_or(Path::new(backend.program()));
    let found = match is_bare(wanted) {
        true => on_path(wanted, search_path, cwd),
        false => Some(cwd.join(wanted)),
    };
    let Some(path) = found else {
        return Err(missing(
            backend,
            &format!("`{}` is not on PATH", wanted.display()),
            configured,
        ));
    };
    check(backend, &path, configured)?;
    Ok(path)
}

/// Whether a program is named without a directory: then it is looked for on `PATH`.
pub fn is_bare(program: &Path) -> bool {
    let mut parts = program.components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Set once this process is known to be the command, whatever its file is called.
static IS_AGENTCTL: AtomicBool = AtomicBool::new(false);

/// This process is the command: the mock agent is its own program.
pub fn we_are_agentctl() {
    IS_AGENTCTL.store(true, Ordering::Relaxed);
}

/// The mock agent is agentctl itself; a library caller needs one on its `PATH`.
fn ourselves(search_path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, Failure> {
    let current = std::env::current_exe()
        .ok()
        .filter(|path| IS_AGENTCTL.load(Ordering::Relaxed) || path.file_stem() == Some(OsStr::new("agentctl")));
    current
        .or_else(|| on_path(Path::new("agentctl"), search_path, cwd))
        .ok_or_else(|| {
            Failure::new(
                ErrorKind::NotInstalled,
                "the mock agent is agentctl itself, and `agentctl` is not on PATH",
            )
            .hint("cargo install --path .")
        })
}

fn on_path(name: &Path, search_path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    let found = which::which_in(name, search_path, cwd).ok();
    // A file that is there but cannot be run deserves another message than one that is not there.
    found.or_else(|| {
        let directories = std::env::split_paths(search_path?).collect::<Vec<_>>();
        directories
            .into_iter()
            .map(|directory| directory.join(name))
            .find(|path| path.is_file())
    })
}

fn check(backend: &dyn Backend, path: &Path, configured: Option<&Path>) -> Result<(), Failure> {
    let unusable = |why: &str| {
        Failure::new(
            ErrorKind::NotExecutable,
            format!("the {} CLI at {} {why}", backend.display_name(), path.display()),
        )
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing(
            backend,
            &format!("there is nothing at {}", path.display()),
            configured,
        )),
        Err(error) => Err(unusable(&format!("cannot be looked at: {error}"))),
        Ok(metadata) if metadata.is_dir() => {
            Err(unusable("is a directory").hint(format!("name the program itself: {}", how_to_name(backend.name()))))
        }
        Ok(_) if is_executable(path) => Ok(()),
        Ok(_) if looks_like_a_program(path) => {
            Err(unusable("is not executable").hint(format!("chmod +x {}", shell::quote(path.as_os_str()))))
        }
        Ok(_) => Err(unusable("is not executable, and it is no program")
            .hint(format!("name another: {}", how_to_name(backend.name())))),
    }
}

/// Whether the file begins as a script or as a binary of Unix does.
fn looks_like_a_program(path: &Path) -> bool {
    let mut head = [0_u8; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    let known: [&[u8]; 5] = [
        b"#!",
        b"\x7fELF",
        b"\xcf\xfa\xed\xfe",
        b"\xce\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
    ];
    read.is_ok() && known.iter().any(|magic| head.starts_with(magic))
}

/// The ways to name the program of a backend that every command knows.
pub fn how_to_name(backend: &str) -> String {
    format!("set {} or `path` under [backends.{backend}]", path_variable(backend))
}

fn missing(backend: &dyn Backend, why: &str, configured: Option<&Path>) -> Failure {
    let name = backend.name();
    let message = format!("the {} CLI was not found: {why}", backend.display_name());
    Failure::new(ErrorKind::NotInstalled, message).hint(match configured {
        // Another place of lower rank would not be looked at.
        Some(_) => format!(
            "correct what names it, or leave it out: --cli-path, BACKEND_CLI_PATH, {} or `path` under [backends.{name}]",
            path_variable(name)
        ),
        None => format!("install it with `{}`, or {}", backend.install_hint(), how_to_name(name)),
    })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    true
}
