//! The console as the spinner draws on it: directly, because moving its cursor is more than writing bytes.

use super::voice::Voice;
use console::Term;
use indicatif::TermLike;
use std::io;
use std::time::Duration;

/// How long a frame waits for the lines that come before it.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Canvas {
    terminal: Term,
    voice: Voice,
}

impl Canvas {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            terminal: Term::buffered_stderr(),
            voice,
        }
    }
}

impl TermLike for Canvas {
    fn width(&self) -> u16 {
        self.terminal.size().1
    }

    fn height(&self) -> u16 {
        self.terminal.size().0
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.terminal.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.terminal.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.terminal.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.terminal.move_cursor_left(columns)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.terminal.write_line(line)
    }

    /// Leaves out the blanks that a progress bar fills its line with: the cursor stays behind the text.
    fn write_str(&self, text: &str) -> io::Result<()> {
        match text.bytes().all(|byte| byte == b' ') {
            true => Ok(()),
            false => self.terminal.write_str(text),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.terminal.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.voice.settle(PATIENCE);
        self.terminal.flush()
    }
}
