//! The command that a backend plans: everything the supervisor needs to start it, and nothing about what it means.

use crate::bytes;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where a run takes place: what a plan may know about the machine, gathered beforehand so that planning stays pure.
#[derive(Clone, Debug)]
pub struct Site {
    /// The resolved binary.
    pub program: PathBuf,
    /// A private directory of this run (0700). If the plan speaks of it, it exists before the child starts and is gone
    /// afterwards.
    pub scratch: PathBuf,
    pub home: PathBuf,
    /// The environment that the child will inherit, after `--env` and scrubbing.
    pub env: BTreeMap<OsString, OsString>,
    /// Whether we run as root.
    pub root: bool,
}

impl Site {
    /// A variable of the child's environment, unless it is empty or not text.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .filter(|value| !value.is_empty())
    }

    /// A path in the scratch directory.
    pub fn scratch(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.join(name)
    }
}

/// A command, its environment, its input and the private files it needs.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Changes to the child's environment: a value to set, or `None` to remove.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// A file of `KEY=VALUE` lines that the CLI would read by itself, if it could be kept from reading a project's as
    /// well. Its variables are added where they are not set; it need not be there.
    pub env_file: Option<PathBuf>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// Made in the scratch directory before the child starts, in this order.
    pub files: Vec<ScratchEntry>,
    pub stop: Stop,
}

impl Launch {
    pub fn new(site: &Site, cwd: &Path) -> Self {
        Self {
            program: site.program.clone(),
            args: Vec::new(),
            env: Vec::new(),
            env_file: None,
            cwd: cwd.to_owned(),
            stdin: Stdin::Closed,
            files: Vec::new(),
            stop: Stop::Terminate,
        }
    }

    /// Whether anything of it lies in this directory, or speaks of it.
    pub fn mentions(&self, directory: &Path) -> bool {
        let directory = directory.as_os_str().as_encoded_bytes();
        let speaks = |bytes: &[u8]| bytes::find_word(bytes, directory).is_some();
        let values = self.env.iter().filter_map(|(_, value)| value.as_ref());
        let stdin = match &self.stdin {
            Stdin::Bytes(bytes) | Stdin::Held(bytes) => bytes.as_slice(),
            Stdin::Closed | Stdin::Inherited => &[],
        };
        !self.files.is_empty()
            || self
                .args
                .iter()
                .chain(values)
                .any(|word| speaks(word.as_encoded_bytes()))
            || self
                .env_file
                .as_ref()
                .is_some_and(|file| speaks(file.as_os_str().as_encoded_bytes()))
            || speaks(stdin)
    }

    pub fn arg(&mut self, arg: impl Into<OsString>) -> &mut Self {
        self.args.push(arg.into());
        self
    }

    pub fn args<I, A>(&mut self, args: I) -> &mut Self
    where
        I: IntoIterator<Item = A>,
        A: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub fn env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    pub fn file(&mut self, path: impl Into<PathBuf>, contents: impl Into<Vec<u8>>) -> &mut Self {
        self.files.push(ScratchEntry::File {
            path: path.into(),
            contents: contents.into(),
        });
        self
    }
}

/// What the CLI reads on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: end of file at once.
    Closed,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// These bytes, then open until the protocol closes it (`Output::close_stdin`).
    Held(Vec<u8>),
    /// The terminal; interactive runs only.
    Inherited,
}

/// Something to make in the scratch directory. Paths are absolute and lie inside it.
#[derive(Clone, Debug)]
pub enum ScratchEntry {
    /// A file, 0600, with its parent directories.
    File { path: PathBuf, contents: Vec<u8> },
    /// A copy of a file, 0600.
    Copy { path: PathBuf, of: PathBuf },
    /// A copy of a file, 0600; empty if the file is not there.
    CopyOrEmpty { path: PathBuf, of: PathBuf },
    /// A copy, 0600, of the largest file below `within` (three levels deep at most) whose name ends in `suffix`: a
    /// conversation that the CLI keeps under a name which only the file system knows, perhaps beside stubs of it.
    /// Without such a file nothing is made, and the CLI says that it is missing.
    Found {
        path: PathBuf,
        within: PathBuf,
        suffix: String,
    },
    /// A JSON object file: what `base` holds (nothing, if it is not there or blank; comments are left out), with `patch`
    /// merged into it key by key. A base that is no JSON object, or that cannot be read, is an error.
    MergedJson {
        path: PathBuf,
        base: PathBuf,
        patch: serde_json::Value,
    },
    /// A directory with a symbolic link for every entry of `of`, except those named; the directory is made even if
    /// `of` is not there. The subdirectories in `create` are made in `of` first, so that what the CLI writes there is
    /// kept.
    Mirror {
        path: PathBuf,
        of: PathBuf,
        except: Vec<OsString>,
        create: Vec<OsString>,
    },
}

impl ScratchEntry {
    /// What is made.
    pub fn path(&self) -> &Path {
        match self {
            Self::File { path, .. }
            | Self::Copy { path, .. }
            | Self::CopyOrEmpty { path, .. }
            | Self::Found { path, .. }
            | Self::MergedJson { path, .. }
            | Self::Mirror { path, .. } => path,
        }
    }
}

/// How this CLI is best asked to stop, so that it saves its session and ends its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM to its process group.
    #[default]
    Terminate,
    /// SIGINT to its process group.
    Interrupt,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Launch {
        let site = Site {
            program: "/bin/agent".into(),
            scratch: "/scratch".into(),
            home: "/home/user".into(),
            env: Default::default(),
            root: false,
        };
        Launch::new(&site, Path::new("/project"))
    }

    #[test]
    fn whatever_speaks_of_the_scratch_directory_needs_it() {
        let scratch = Path::new("/scratch");
        let plain = launch();
        assert!(!plain.mentions(scratch));
        let mut all = vec![plain.clone(), plain.clone(), plain.clone(), plain.clone(), plain];
        all[0].arg("--config=/scratch/x");
        all[1].env("TMPDIR", "/scratch/tmp");
        all[2].stdin = Stdin::Held(b"read /scratch/x".to_vec());
        all[3].env_file = Some("/scratch/.env".into());
        all[4].file("/scratch/x", "");
        for launch in all {
            assert!(launch.mentions(scratch), "{launch:?}");
        }
    }
}
