//! Directories in the form that every program takes.

use std::io;
use std::path::{Path, PathBuf};

/// The directory, absolute and without symbolic links. Anything else is an error.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if !path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"));
    }
    if !cfg!(windows) {
        return Ok(path);
    }
    let plain = path.to_str().and_then(without_verbatim_prefix);
    Ok(plain.map_or(path, PathBuf::from))
}

/// `\\?\C:\x` as `C:\x`, and `\\?\UNC\server\x` as `\\server\x`: cmd.exe, and with it every CLI that npm installed, refuses
/// to work in a directory that is written in the longer form. A name that only fits into that one is left as it is.
fn without_verbatim_prefix(path: &str) -> Option<String> {
    const MAX_PATH: usize = 260;
    let rest = path.strip_prefix(r"\\?\")?;
    let plain = match rest.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if rest.get(1..3) == Some(r":\") => rest.to_owned(),
        None => return None,
    };
    (plain.encode_utf16().count() < MAX_PATH).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_common_form_lose_the_verbatim_prefix() {
        let long = format!(r"\\?\C:\{}", "x".repeat(300));
        for (path, plain) in [
            (r"\\?\C:\Users\a", Some(r"C:\Users\a")),
            (r"\\?\C:\", Some(r"C:\")),
            (r"\\?\UNC\server\share\a", Some(r"\\server\share\a")),
            (r"\\?\Volume{b75e2c83}\a", None),
            (r"C:\Users", None),
            ("/home", None),
            (&long, None),
        ] {
            assert_eq!(without_verbatim_prefix(path).as_deref(), plain, "{path}");
        }
    }

    #[test]
    fn a_file_and_nothing_are_no_directories() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let kind = |path: &Path| absolute(path).unwrap_err().kind();
        assert_eq!(kind(&file), io::ErrorKind::NotADirectory);
        assert_eq!(kind(&folder.path().join("gone")), io::ErrorKind::NotFound);
        assert!(absolute(folder.path()).unwrap().is_absolute());
    }
}
