//! Private files, whole or not at all: written beside, synced, renamed; or a line more at the end of what is there. The
//! only place that creates anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// A file in `tmp/` that is older than this was left by a crash.
pub(super) const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// What a write must survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// A crash of this process. The content can be made again if the machine dies.
    Process,
    /// A crash of the machine.
    Machine,
}

/// What is at a path already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Present {
    Nothing,
    /// A file of just as many bytes.
    SameLength,
}

/// The directory below which everything is written.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn temporary_directory(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// Puts `bytes` at `path` in one step: a reader sees the old content or the new one. Gives the file that lies there
    /// now.
    pub(super) fn write(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<File> {
        let temporary = self.temporary(bytes, durability)?;
        let file = match temporary.persist(path) {
            Ok(file) => file,
            Err(error) if error.error.kind() == io::ErrorKind::NotFound => {
                self.create_parent(path)?;
                error.file.persist(path)?
            }
            Err(error) => return Err(error.error),
        };
        if durability == Durability::Machine {
            sync_parent(path)?;
        }
        Ok(file)
    }

    /// Adds a line to a file of lines, in one write: a crash leaves the lines that were there, and a torn one after them
    /// at worst. Gives the file; nothing if there is none, or it would be longer than `longest` then.
    pub(super) fn append(
        &self,
        path: &Path,
        line: &[u8],
        longest: u64,
        durability: Durability,
    ) -> io::Result<Option<File>> {
        // What cannot be opened like this is for the one who replaces it.
        let Ok(mut file) = not_waiting(File::options().read(true).append(true)).open(path) else {
            return Ok(None);
        };
        let present = file.metadata()?;
        if !present.is_file() || present.len() + line.len() as u64 > longest {
            return Ok(None);
        }
        close_to_others(&file)?;
        let written = match ends_a_line(&mut file)? {
            true => file.write_all(line),
            false => file.write_all(&[b"\n", line].concat()),
        };
        if let Err(error) = written {
            // Of a full disk nothing is left but what was there.
            let _ = file.set_len(present.len());
            return Err(error);
        }
        if durability == Durability::Machine {
            file.sync_data()?;
        }
        Ok(Some(file))
    }

    /// Puts `bytes` at `path` where a torn or empty file does no harm: in the place of as many bytes, or in a new file. It
    /// costs a third of `write`.
    pub(super) fn write_small(&self, path: &Path, bytes: &[u8], present: Present) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(present == Present::Nothing);
        private(&mut options);
        let opened = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && present == Present::Nothing => {
                self.create_parent(path)?;
                options.open(path)
            }
            opened => opened,
        };
        match opened {
            Ok(mut file) => {
                close_to_others(&file)?;
                file.write_all(bytes)
            }
            // Somebody else was here first.
            Err(_) => self.write(path, bytes, Durability::Process).map(drop),
        }
    }

    /// The same, unless there is something at `path` already.
    pub(super) fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = self.temporary(bytes, Durability::Process)?;
        match temporary.persist_noclobber(path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error),
        }
    }

    fn temporary(&self, bytes: &[u8], durability: Durability) -> io::Result<NamedTempFile> {
        let directory = self.temporary_directory();
        let mut builder = tempfile::Builder::new();
        builder.prefix("put-");
        let mut temporary = match builder.tempfile_in(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_directory(&directory)?;
                builder.tempfile_in(&directory)?
            }
            result => result?,
        };
        close_to_others(temporary.as_file())?;
        temporary.write_all(bytes)?;
        if durability == Durability::Machine {
            temporary.as_file().sync_data()?;
        }
        Ok(temporary)
    }

    /// Opens a file that is appended to or locked, and makes it if it is not there.
    pub(super) fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let mut options = options.clone();
        options.create(true);
        private(&mut options);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_parent(path)?;
                options.open(path)?
            }
            result => result?,
        };
        close_to_others(&file)?;
        Ok(file)
    }

    pub(super) fn create_parent(&self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent() else { return Ok(()) };
        // Usually only the last of them is missing.
        match private_directories().create(parent) {
            Ok(()) => restrict(parent, |_| 0o700),
            Err(_) => self.create_directory(parent),
        }
    }

    /// Makes a directory below the root, the root included, each closed to others whatever the umask is. One that was
    /// there and that its owner may not write to stays so: somebody wanted that.
    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        if let Some(parent) = self.0.parent() {
            private_directories().recursive(true).create(parent)?;
        }
        create_or_close(&self.0)?;
        let below = directory.strip_prefix(&self.0).unwrap_or(Path::new(""));
        let mut reached = self.0.clone();
        for component in below {
            reached.push(component);
            create_or_close(&reached)?;
        }
        Ok(())
    }

    /// Removes what crashes left in `tmp/`; tells how many files that were.
    pub(super) fn sweep(&self, now: SystemTime) -> usize {
        let Ok(entries) = std::fs::read_dir(self.temporary_directory()) else {
            return 0;
        };
        entries
            .flatten()
            .filter(|entry| is_older(entry, now, ABANDONED_AFTER))
            .filter(|entry| std::fs::remove_file(entry.path()).is_ok())
            .count()
    }
}

/// The content of a file. Of something else in its place nothing is read: a pipe could be waited for without end.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = not_waiting(File::options().read(true)).open(path)?;
    let present = file.metadata()?;
    if !present.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(present.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn not_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK)
}

#[cfg(not(unix))]
fn not_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Whether the next byte begins a line: what a crash left is not to be gone on with.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    match file.seek(SeekFrom::End(-1)) {
        Ok(_) => file.read_exact(&mut last)?,
        Err(_) => return Ok(true),
    }
    Ok(last == *b"\n")
}

/// A name is on the disk only when its directory is. Some file systems cannot be asked for that, and do what they do.
#[cfg(unix)]
fn sync_parent(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    match File::open(parent)?.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether the file was last written more than `age` before `now`.
pub(super) fn is_older(entry: &std::fs::DirEntry, now: SystemTime, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|passed| passed > age))
}

fn private_directories() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn create_or_close(directory: &Path) -> io::Result<()> {
    match private_directories().create(directory) {
        Ok(()) => restrict(directory, |_| 0o700),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => restrict(directory, |mode| mode & 0o700),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn private(_options: &mut OpenOptions) {}

/// The umask may have taken too much, or an older file may give too much.
#[cfg(unix)]
fn close_to_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o777 != 0o600 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn restrict(directory: &Path, wanted: impl Fn(u32) -> u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(directory)?.permissions();
    let mode = permissions.mode() & 0o777;
    if wanted(mode) != mode {
        permissions.set_mode(wanted(mode));
        std::fs::set_permissions(directory, permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_directory: &Path, _wanted: impl Fn(u32) -> u32) -> io::Result<()> {
    Ok(())
}

/// Whether an open file is still the one at `path`.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Nothing that is locked is removed or replaced here.
#[cfg(not(unix))]
pub(super) fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_cannot_sync_directories_keeps_files_all_the_same() {
        assert!(File::open("/proc/self").unwrap().sync_all().is_err());
        assert!(sync_parent(Path::new("/proc/self/record")).is_ok());
        assert!(sync_parent(Path::new("/proc/none/record")).is_err());
    }
}
