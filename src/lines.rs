//! Bytes to lines: the framer between a pipe and a protocol.
//!
//! It owns one buffer that the caller reads into, hands out each complete line as a slice of it, and drops a line
//! beyond the cap with a count instead of the stream. It does no IO and knows nothing of what a line means.

use crate::bytes;

/// The longest line that is kept, unless the caller says otherwise.
pub const LINE_CAP: usize = 64 << 20;

/// The room for one read: it starts small and doubles while reads fill it.
const SMALLEST_READ: usize = 8 << 10;
const LARGEST_READ: usize = 256 << 10;

/// The largest buffer that is kept when it is empty: a huge line is not paid for during the rest of the run.
const KEPT: usize = 1 << 20;

/// What comes out of a [`Framer`].
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line without its `\n` or `\r\n`.
    Line(&'a [u8]),
    /// A line was longer than the cap; so many bytes of it were dropped, its newline included if it had one.
    Dropped(u64),
}

/// Splits a byte stream into lines. Read into [`space`](Self::space), say how much with
/// [`filled`](Self::filled), take frames with [`next_frame`](Self::next_frame) until there is none, and at the end of
/// the stream take what is left with [`last_frame`](Self::last_frame).
#[derive(Debug)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Where the first unfinished line begins.
    start: usize,
    /// Up to here there is no newline.
    searched: usize,
    end: usize,
    cap: usize,
    read_size: usize,
    /// Bytes of the line at hand that were thrown away already; the line is being skipped if there are any.
    skipped: u64,
}

impl Framer {
    /// A framer that keeps lines of up to `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            end: 0,
            cap,
            read_size: SMALLEST_READ,
            skipped: 0,
        }
    }

    /// Where to read the next bytes to; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.searched = 0;
            self.end = 0;
            if self.buffer.len() > KEPT {
                self.buffer = Vec::new();
            }
        }
        if self.buffer.len() - self.end < self.read_size {
            self.make_room();
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were read into [`space`](Self::space).
    pub fn filled(&mut self, count: usize) {
        let room = self.buffer.len() - self.end;
        let count = count.min(room);
        self.end += count;
        if count == room {
            self.read_size = (self.read_size * 2).min(LARGEST_READ);
        }
    }

    /// The next complete line, or word of one that was dropped.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let Some(offset) = newline(&self.buffer[self.searched..self.end]) else {
            self.searched = self.end;
            if self.skipped > 0 || self.end - self.start > self.cap.saturating_add(1) {
                self.skipped += (self.end - self.start) as u64;
                self.start = self.end;
            }
            return None;
        };
        let newline = self.searched + offset;
        let line = self.start..newline;
        self.start = newline + 1;
        self.searched = self.start;
        self.frame(line, 1)
    }

    /// At the end of the stream: the last line, if it had no newline.
    pub fn last_frame(&mut self) -> Option<Frame<'_>> {
        let line = self.start..self.end;
        self.start = self.end;
        self.searched = self.end;
        if line.is_empty() && self.skipped == 0 {
            return None;
        }
        self.frame(line, 0)
    }

    fn frame(&mut self, line: std::ops::Range<usize>, newline: u64) -> Option<Frame<'_>> {
        let bytes = &self.buffer[line];
        let whole = std::mem::take(&mut self.skipped) + bytes.len() as u64 + newline;
        if whole > bytes.len() as u64 + newline {
            return Some(Frame::Dropped(whole));
        }
        let bytes = match bytes {
            [text @ .., b'\r'] if newline > 0 => text,
            _ => bytes,
        };
        if bytes.len() > self.cap {
            return Some(Frame::Dropped(whole));
        }
        Some(Frame::Line(bytes))
    }

    /// Moves the unfinished line to the front, into a bigger buffer if it needs one.
    fn make_room(&mut self) {
        let kept = self.end - self.start;
        let needed = kept + self.read_size;
        if needed <= self.buffer.len() && self.start >= kept {
            self.buffer.copy_within(self.start..self.end, 0);
        } else {
            // A fresh zeroed allocation costs nothing until it is touched, unlike growing in place.
            let mut bigger = vec![0; (kept * 2).min(kept + self.cap.min(LINE_CAP)).max(needed)];
            bigger[..kept].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = bigger;
        }
        self.searched -= self.start;
        self.start = 0;
        self.end = kept;
    }
}

/// Where the first line ends. Only where there is much to look through is it worth asking what the processor can do.
fn newline(bytes: &[u8]) -> Option<usize> {
    match bytes.len() {
        0..=SMALLEST_READ => bytes::find(bytes, |byte| byte == b'\n'),
        _ => memchr::memchr(b'\n', bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Owned {
        Line(Vec<u8>),
        Dropped(u64),
    }

    fn own(frame: Frame<'_>) -> Owned {
        match frame {
            Frame::Line(line) => Owned::Line(line.to_vec()),
            Frame::Dropped(bytes) => Owned::Dropped(bytes),
        }
    }

    fn feed(framer: &mut Framer, mut bytes: &[u8], frames: &mut Vec<Owned>) {
        while !bytes.is_empty() {
            let space = framer.space();
            let count = bytes.len().min(space.len());
            space[..count].copy_from_slice(&bytes[..count]);
            framer.filled(count);
            bytes = &bytes[count..];
            while let Some(frame) = framer.next_frame() {
                frames.push(own(frame));
            }
        }
    }

    fn frames(cap: usize, chunks: &[&[u8]]) -> Vec<Owned> {
        let mut framer = Framer::new(cap);
        let mut frames = Vec::new();
        for chunk in chunks {
            feed(&mut framer, chunk, &mut frames);
        }
        frames.extend(framer.last_frame().map(own));
        assert_eq!(framer.last_frame(), None);
        frames
    }

    fn line(text: &str) -> Owned {
        Owned::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_split_wherever_the_reads_fall() {
        assert_eq!(
            frames(100, &[b"one\ntw", b"o\n\nthr", b"ee\n"]),
            [line("one"), line("two"), line(""), line("three")]
        );
    }

    #[test]
    fn a_carriage_return_is_stripped_only_before_a_newline() {
        assert_eq!(
            frames(100, &[b"a\r\nb\rc\r", b"\nd\r"]),
            [line("a"), line("b\rc"), line("d\r")]
        );
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        assert_eq!(frames(100, &[b"a\nhalf"]), [line("a"), line("half")]);
    }

    #[test]
    fn a_line_beyond_the_cap_is_dropped_with_a_count_and_its_neighbours_survive() {
        assert_eq!(
            frames(4, &[b"ab\n123456789\ncd\n", b"1234\n12345\nef"]),
            [
                line("ab"),
                Owned::Dropped(10),
                line("cd"),
                line("1234"),
                Owned::Dropped(6),
                line("ef")
            ]
        );
        assert_eq!(
            frames(4, &[b"x\n12345", b"6789", b"0", b"1\ny\n"]),
            [line("x"), Owned::Dropped(12), line("y")]
        );
        assert_eq!(frames(4, &[b"1234567", b"89"]), [Owned::Dropped(9)]);
    }

    #[test]
    fn memory_returns_after_a_huge_line_and_stays_near_its_length_meanwhile() {
        let mut framer = Framer::new(LINE_CAP);
        let mut frames = Vec::new();
        let huge = vec![b'x'; 20 << 20];
        feed(&mut framer, &huge, &mut frames);
        feed(&mut framer, b"\n", &mut frames);
        assert_eq!(frames, [Owned::Line(huge)]);
        assert!(framer.buffer.len() <= 45 << 20, "{}", framer.buffer.len());
        feed(&mut framer, b"small\n", &mut frames);
        assert!(framer.buffer.len() <= KEPT, "{}", framer.buffer.len());
    }

    #[test]
    fn a_line_that_never_ends_is_skipped_without_being_kept() {
        let mut framer = Framer::new(1 << 20);
        let mut frames = Vec::new();
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..50 {
            feed(&mut framer, &chunk, &mut frames);
        }
        assert!(framer.buffer.len() <= 6 << 20, "{}", framer.buffer.len());
        assert_eq!(framer.last_frame(), Some(Frame::Dropped(50 << 20)));
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_invented(
            lines in prop::collection::vec(prop::collection::vec(prop::sample::select(b"ab\r\0\xff".to_vec()), 0..12), 0..12),
            cuts in prop::collection::vec(1usize..9, 1..20),
        ) {
            let stream = lines.join(&b'\n');
            let mut chunks = Vec::new();
            let mut rest = stream.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = tail;
            }
            let mut expected = Vec::new();
            let count = lines.len();
            for (index, line) in lines.iter().enumerate() {
                let last = index + 1 == count;
                let kept = if last { line.as_slice() } else { line.strip_suffix(b"\r").unwrap_or(line) };
                match (last, kept.len() > 6) {
                    (true, _) if line.is_empty() => {}
                    (_, false) => expected.push(Owned::Line(kept.to_vec())),
                    (_, true) => expected.push(Owned::Dropped((line.len() + usize::from(!last)) as u64)),
                }
            }
            prop_assert_eq!(frames(6, &chunks), expected);
        }
    }
}
