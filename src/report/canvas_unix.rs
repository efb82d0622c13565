//! The terminal as the spinner draws on it: frames for a voice, so that drawing never waits for a terminal that is stopped
//! (Ctrl-S).

use super::voice::Voice;
use console::Term;
use indicatif::TermLike;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Canvas {
    /// Asked for its size only.
    terminal: Term,
    voice: Voice,
    frame: Mutex<Frame>,
}

/// What is drawn at once.
#[derive(Debug, Default)]
struct Frame {
    bytes: Vec<u8>,
    content: Content,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Content {
    /// It only clears what was there.
    #[default]
    Nothing,
    Text,
}

impl Canvas {
    pub(super) fn new(voice: Voice) -> Self {
        Self {
            terminal: Term::stderr(),
            voice,
            frame: Mutex::default(),
        }
    }

    fn frame(&self) -> MutexGuard<'_, Frame> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, bytes: &[u8]) -> io::Result<()> {
        self.frame().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn move_cursor(&self, count: usize, direction: char) -> io::Result<()> {
        match count {
            0 => Ok(()),
            count => self.draw(format!("\x1b[{count}{direction}").as_bytes()),
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
        self.move_cursor(lines, 'A')
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.move_cursor(lines, 'B')
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'C')
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'D')
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.draw(format!("{line}\n").as_bytes())
    }

    /// Leaves out the blanks that a progress bar fills its line with: the cursor stays behind the text.
    fn write_str(&self, text: &str) -> io::Result<()> {
        if text.bytes().all(|byte| byte == b' ') {
            return Ok(());
        }
        self.frame().content = Content::Text;
        self.draw(text.as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(b"\r\x1b[2K")
    }

    /// Where nobody looks, frames are not gathered: each begins with clearing the one before.
    fn flush(&self) -> io::Result<()> {
        let Frame { bytes, content } = std::mem::take(&mut *self.frame());
        if content == Content::Nothing || !self.voice.is_behind() {
            self.voice.say(bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeWriter, Read};

    fn draw(canvas: &Canvas, text: &str) {
        canvas.clear_line().unwrap();
        canvas.write_str(text).unwrap();
        canvas.write_str("   ").unwrap();
        canvas.flush().unwrap();
    }

    fn canvas() -> (Canvas, impl Read) {
        let (read, write): (_, PipeWriter) = io::pipe().unwrap();
        (Canvas::new(Voice::on(write)), read)
    }

    fn seen(canvas: Canvas, mut terminal: impl Read) -> String {
        // The thread ends when all is written.
        drop(canvas);
        let mut text = String::new();
        terminal.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_frame_is_drawn_without_the_blanks_at_its_end() {
        let (canvas, terminal) = canvas();
        draw(&canvas, "one");
        canvas.move_cursor_up(1).unwrap();
        canvas.move_cursor_right(0).unwrap();
        canvas.clear_line().unwrap();
        canvas.flush().unwrap();
        assert_eq!(seen(canvas, terminal), "\r\x1b[2Kone\x1b[1A\r\x1b[2K");
    }

    #[test]
    fn a_terminal_that_takes_nothing_is_spared_the_frames_and_cleared_all_the_same() {
        let (canvas, terminal) = canvas();
        // More than a pipe holds.
        for _ in 0..100_000 {
            draw(&canvas, "frame");
        }
        canvas.clear_line().unwrap();
        canvas.flush().unwrap();
        let seen = seen(canvas, terminal);
        assert!(seen.len() < 10_000 * "\r\x1b[2Kframe".len(), "{}", seen.len());
        assert!(seen.ends_with("frame\r\x1b[2K"));
    }
}
