//! The order of use: one line a use, newest last, appended in one write and read from the end.
//!
//! It is a cache. Lines that are torn, foreign or point to nothing are skipped; a missing file is made again from the
//! records. It must not be asked for anything but the order.

use super::file::{Root, is_at};
use super::index::digest;
use super::key::Key;
use super::path_text;
use jiff::Timestamp;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// `<microseconds, 16 hex> <key> <directory, 16 hex>\n`
const LINE: usize = 16 + 1 + 12 + 1 + 16 + 1;
const FIRST_BLOCK: u64 = 512;
const LARGEST_BLOCK: u64 = 64 * 1024;
/// Every so many lines the one who wrote the last looks whether most of them are repeats.
const COMPACT_EVERY: u64 = 8192;

/// One use of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) at: i64,
    pub(super) key: Key,
    pub(super) directory: String,
}

impl Use {
    pub(super) fn new(at: Timestamp, key: Key, directory: &Path) -> Self {
        Self {
            at: at.as_microsecond(),
            key,
            directory: directory_mark(directory),
        }
    }

    fn line(&self) -> String {
        format!("{:016x} {} {}\n", self.at.max(0), self.key, self.directory)
    }

    /// Reads the end of a line, so that a good line after a torn one is still found.
    fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line.get(line.len().checked_sub(LINE - 1)?..)?).ok()?;
        let mut words = text.split(' ');
        let (at, key, directory) = (words.next()?, words.next()?, words.next()?);
        let directory = Some(directory).filter(|mark| mark.len() == 16)?;
        Some(Self {
            at: i64::from_str_radix(at, 16).ok()?,
            key: key.parse().ok()?,
            directory: directory.to_owned(),
        })
    }
}

/// How a directory is written in the journal.
pub(super) fn directory_mark(directory: &Path) -> String {
    let mut digest = digest(path_text::bytes(directory));
    digest.truncate(16);
    digest
}

/// The journal of one store.
pub(super) struct Journal<'a> {
    root: &'a Root,
    path: PathBuf,
}

impl<'a> Journal<'a> {
    pub(super) fn of(root: &'a Root) -> Self {
        let path = root.path().join("recent");
        Self { root, path }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The uses, newest first; nothing if there is no journal.
    pub(super) fn newest_first(&self) -> Option<NewestFirst> {
        NewestFirst::open(File::open(&self.path).ok()?).ok()
    }

    /// Writes a journal where there is none. `uses` are oldest first.
    pub(super) fn create(&self, uses: &[Use]) -> io::Result<()> {
        self.root.write_new(&self.path, text_of(uses).as_bytes())
    }

    /// Adds a use, unless it repeats the newest one.
    pub(super) fn append(&self, new: &Use) -> io::Result<()> {
        let newest = self.newest_first().and_then(|mut uses| uses.next());
        if newest.is_some_and(|newest| newest.key == new.key && newest.directory == new.directory) {
            return Ok(());
        }
        let mut file = self.open_shared()?;
        file.write_all(new.line().as_bytes())?;
        let lines = file.metadata()?.len() / LINE as u64;
        drop(file);
        if lines.is_multiple_of(COMPACT_EVERY) {
            self.compact()?;
        }
        Ok(())
    }

    /// Compaction replaces the file: whoever adds to it holds it shared and makes sure that it is still in place.
    fn open_shared(&self) -> io::Result<File> {
        loop {
            let file = self.root.open(&self.path, OpenOptions::new().append(true).read(true))?;
            file.lock_shared()?;
            if is_at(&file, &self.path) {
                return Ok(file);
            }
        }
    }

    /// Keeps the last use of each conversation, if that halves the file.
    fn compact(&self) -> io::Result<()> {
        let length = std::fs::metadata(&self.path)?.len();
        let uses = self.newest_first().map(last_uses).unwrap_or_default();
        match uses.len() as u64 * 2 > length / LINE as u64 {
            true => Ok(()),
            false => self.replace(&uses, length),
        }
    }

    /// Puts `uses` (oldest first) in the place of the first `length` bytes; what was added since stays. Nobody waits
    /// for it longer than the rename takes, and it gives up if somebody else is at it.
    pub(super) fn replace(&self, uses: &[Use], length: u64) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        if file.try_lock().is_err() || !is_at(&file, &self.path) {
            return Ok(());
        }
        let mut content = text_of(uses).into_bytes();
        file.seek(SeekFrom::Start(length))?;
        file.read_to_end(&mut content)?;
        self.root
            .write(&self.path, &content, super::file::Durability::Process)?;
        Ok(())
    }

    pub(super) fn length(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

fn text_of(uses: &[Use]) -> String {
    uses.iter().map(Use::line).collect()
}

/// The last use of each conversation, oldest first.
fn last_uses(newest_first: NewestFirst) -> Vec<Use> {
    let mut seen = HashSet::new();
    let mut uses: Vec<Use> = newest_first.filter(|one| seen.insert(one.key)).collect();
    uses.reverse();
    uses
}

/// Reads a journal backwards, so that the newest uses cost the same however many there are.
pub(super) struct NewestFirst {
    file: File,
    /// Everything from here on was read.
    position: u64,
    /// What was read and not yet given out; before `position` == 0 it may begin in the middle of a line.
    text: Vec<u8>,
    /// How much to read next: little at first, since most ask for the newest few.
    block: u64,
}

impl NewestFirst {
    fn open(mut file: File) -> io::Result<Self> {
        let position = file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            position,
            text: Vec::new(),
            block: FIRST_BLOCK,
        })
    }

    fn read_block(&mut self) -> io::Result<()> {
        let start = self.position.saturating_sub(self.block);
        let mut block = vec![0; (self.position - start) as usize];
        self.file.seek(SeekFrom::Start(start))?;
        self.file.read_exact(&mut block)?;
        self.position = start;
        self.block = (self.block * 4).min(LARGEST_BLOCK);
        // A file without line ends is not ours: of a line that goes on and on only the end can be a use.
        if self.text.len() > LINE {
            self.text.drain(..self.text.len() - LINE);
        }
        block.append(&mut self.text);
        self.text = block;
        Ok(())
    }

    /// The last line of what was read; nothing if more must be read to have it whole.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        match self.text.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => {
                let line = self.text.split_off(end + 1);
                self.text.truncate(end);
                Some(line)
            }
            None if self.position == 0 && !self.text.is_empty() => Some(std::mem::take(&mut self.text)),
            None => None,
        }
    }
}

impl Iterator for NewestFirst {
    type Item = Use;

    fn next(&mut self) -> Option<Use> {
        loop {
            match self.take_line() {
                Some(line) => {
                    if let Some(one) = Use::parse(&line) {
                        return Some(one);
                    }
                }
                None if self.position == 0 => return None,
                None => self.read_block().ok()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(count: i64) -> Vec<Use> {
        let directory = Path::new("/project");
        (0..count)
            .map(|at| Use::new(Timestamp::from_microsecond(at).unwrap(), Key::fresh(), directory))
            .collect()
    }

    fn root() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path().to_owned());
        (directory, root)
    }

    #[test]
    fn uses_come_back_newest_first_over_many_blocks() {
        let (_directory, root) = root();
        let journal = Journal::of(&root);
        let mut uses = uses(2000);
        journal.create(&uses).unwrap();
        uses.reverse();
        assert_eq!(journal.newest_first().unwrap().collect::<Vec<_>>(), uses);
    }

    #[test]
    fn torn_and_foreign_lines_are_skipped() {
        let (directory, root) = root();
        let journal = Journal::of(&root);
        let uses = uses(3);
        let mut content = uses[0].line();
        content.push_str(&uses[1].line()[..20]);
        content.push_str(&uses[1].line());
        content.push_str("something else entirely, longer than a line ought to be\n\n");
        content.push_str(&uses[2].line());
        content.push_str(&uses[2].line()[..30]);
        std::fs::write(directory.path().join("recent"), &content).unwrap();
        let read: Vec<Use> = journal.newest_first().unwrap().collect();
        assert_eq!(read, [uses[2].clone(), uses[1].clone(), uses[0].clone()]);
    }

    #[test]
    fn compaction_keeps_the_last_use_of_each_and_what_was_added_meanwhile() {
        let (_directory, root) = root();
        let journal = Journal::of(&root);
        let uses = uses(4);
        let repeated: Vec<Use> = uses.iter().cycle().take(400).cloned().collect();
        journal.create(&repeated[..399]).unwrap();
        let length = journal.length();
        journal.append(&uses[3]).unwrap();
        journal.compact().unwrap();
        assert_eq!(journal.length(), 4 * LINE as u64);
        assert!(length > journal.length());
        assert_eq!(journal.newest_first().unwrap().next(), Some(uses[3].clone()));
    }
}
