//! The terminal as the spinner draws on it: frames for a voice, so that drawing never waits for a terminal that is stopped
//! (Ctrl-S).
//!
//! A frame is one line, whatever the terminal makes of its characters (the line does not wrap) and of a new width: the cursor
//! rests at its beginning, and where a terminal breaks the line anew because its window became narrower, clearing from
//! there on clears all of it. A shell that has put us in the background writes on the terminal itself: then nothing is
//! drawn.

use super::voice::Voice;
use console::Term;
use indicatif::TermLike;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The line, and from its second column on what is below. A terminal whose first line is cleared together with all others
/// may take that for a screen to be kept, and fill its history with frames (tmux does).
const CLEARING: &str = "\r\x1b[K\x1b[C\x1b[J\r";
const WITHOUT_WRAPPING: &str = "\x1b[?7l";
const WRAPPING: &str = "\x1b[?7h";

#[derive(Debug)]
pub(super) struct Canvas {
    /// Asked for its size only.
    terminal: Term,
    voice: Voice,
    frame: Mutex<Frame>,
    is_ours: fn() -> bool,
}

/// Whether the shell left the terminal to us. One that controls nobody, or that another world controls (a container), is
/// ours as well.
fn is_in_front() -> bool {
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;
    tcgetpgrp(io::stderr()).map_or(true, |group| group == getpgrp())
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
            is_ours: is_in_front,
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

    /// Leaves out the blanks that a progress bar fills its line with.
    fn write_str(&self, text: &str) -> io::Result<()> {
        if text.bytes().all(|byte| byte == b' ') {
            return Ok(());
        }
        self.frame().content = Content::Text;
        // The cursor rests on the blank behind the spinner, which it would hide otherwise.
        self.draw(format!("{WITHOUT_WRAPPING}{text}{WRAPPING}\r\x1b[C").as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(CLEARING.as_bytes())
    }

    /// Where nobody looks, frames are not gathered: each begins with clearing the one before.
    fn flush(&self) -> io::Result<()> {
        let Frame { bytes, content } = std::mem::take(&mut *self.frame());
        if !(self.is_ours)() {
            return Ok(());
        }
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
        let canvas = Canvas {
            is_ours: || true,
            ..Canvas::new(Voice::on(write))
        };
        (canvas, read)
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
        assert_eq!(
            seen(canvas, terminal),
            format!("{CLEARING}\x1b[?7lone\x1b[?7h\r\x1b[C\x1b[1A{CLEARING}")
        );
    }

    #[test]
    fn a_terminal_that_the_shell_uses_is_left_alone() {
        let (mut canvas, terminal) = canvas();
        canvas.is_ours = || false;
        draw(&canvas, "frame");
        canvas.clear_line().unwrap();
        canvas.flush().unwrap();
        assert_eq!(seen(canvas, terminal), "");
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
        let frame = format!("{CLEARING}\x1b[?7lframe\x1b[?7h\r\x1b[C");
        assert!(seen.len() < 10_000 * frame.len(), "{}", seen.len());
        assert!(seen.ends_with(&format!("{frame}{CLEARING}")));
    }
}
