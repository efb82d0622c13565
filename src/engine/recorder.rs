//! `--record FILE`: keeps the raw exchange in the form that the mock agent plays. A file that cannot be written costs a
//! warning, never the run.

use crate::backend::ExitStatus;
use crate::backend::mock::recording::{self, Asked, Bytes, Entry};
use crate::error::Failure;
use crate::request::Conversation;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    out: BufWriter<File>,
    begun: Instant,
    failed: Option<std::io::Error>,
    /// How long the file was before this part.
    start: u64,
}

impl Recorder {
    /// Begins a recording, or a further part of it: the process number `part` of the run.
    pub fn begin(path: &Path, part: u32, backend: &str, conversation: &Conversation) -> Result<Self, Failure> {
        let mut options = File::options();
        match part {
            0 => options.write(true).create(true).truncate(true),
            _ => options.append(true).create(true),
        };
        // What an agent says may be private.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(path)
            .map_err(|error| Failure::usage(format!("--record {}: {error}", path.display())))?;
        let start = file.metadata().map_or(0, |metadata| metadata.len());
        let mut recorder = Self {
            path: path.to_owned(),
            start,
            out: BufWriter::new(file),
            begun: Instant::now(),
            failed: None,
        };
        recorder.write(&Entry::Recording {
            version: recording::VERSION,
            backend: backend.into(),
            conversation: Asked::of(conversation),
        });
        Ok(recorder)
    }

    pub fn stdin(&mut self, bytes: &[u8]) {
        for line in bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n') {
            let at_ms = self.at_ms();
            self.write(&Entry::Stdin {
                at_ms,
                line: Bytes::of(line),
            });
        }
    }

    pub fn stdout(&mut self, line: &[u8]) {
        let at_ms = self.at_ms();
        self.write(&Entry::Stdout {
            at_ms,
            line: Bytes::of(line),
        });
    }

    pub fn stderr(&mut self, line: &[u8]) {
        let at_ms = self.at_ms();
        self.write(&Entry::Stderr {
            at_ms,
            line: Bytes::of(line),
        });
    }

    /// Ends this part. Returns what the user should know.
    pub fn finish(mut self, exit: ExitStatus) -> Option<String> {
        let at_ms = self.at_ms();
        self.write(&Entry::Exit {
            at_ms,
            code: exit.code,
            signal: exit.signal,
        });
        let flushed = self.out.flush();
        let error = self.failed.or(flushed.err())?;
        Some(format!(
            "the recording {} is not complete: {error}",
            self.path.display()
        ))
    }

    /// Takes this part back: the process did nothing, and another one takes its place. A pipe keeps what it was given.
    pub fn discard(self) {
        if let Ok(file) = self.out.into_inner() {
            let _ = file.set_len(self.start);
        }
    }

    fn at_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn write(&mut self, entry: &Entry<'_>) {
        if self.failed.is_none() {
            self.failed = recording::write(entry, &mut self.out).err();
        }
    }
}
