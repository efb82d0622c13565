//! What the fuzz targets do: any bytes go in, and nothing may panic, overflow or lose a byte.
//!
//! `cargo +nightly fuzz run TARGET -- -max_total_time=600`, with a target for the line framer (`lines`) and one for each
//! backend's decoder. `fuzz/seed` makes a corpus for the decoders from the recordings in `tests/fixtures`.

use agentctl::backend::{ExitStatus, Output, Tally, find};
use agentctl::event::Event;
use agentctl::lines::{Frame, Framer};
use agentctl::outcome::{Ended, Facts, settle};
use agentctl::request::Request;

/// The line framer against the plainest way to split lines. The first two bytes choose the cap and the size of a read.
pub fn frame(data: &[u8]) {
    let [cap, read, stream @ ..] = data else { return };
    let (cap, read) = (usize::from(*cap), usize::from(*read).max(1));
    let mut framer = Framer::new(cap);
    let mut got = Vec::new();
    for chunk in stream.chunks(read) {
        framer.space()[..chunk.len()].copy_from_slice(chunk);
        framer.filled(chunk.len());
        while let Some(frame) = framer.next_frame() {
            got.push(own(&frame));
        }
    }
    got.extend(framer.last_frame().as_ref().map(own));
    assert_eq!(got, plainly(stream, cap));
}

/// A line, or how much was dropped.
type Owned = Result<Vec<u8>, u64>;

fn own(frame: &Frame<'_>) -> Owned {
    match frame {
        Frame::Line(line) => Ok(line.to_vec()),
        Frame::Dropped(bytes) => Err(*bytes),
    }
}

fn plainly(stream: &[u8], cap: usize) -> Vec<Owned> {
    let keep = |line: &[u8], whole: usize| {
        if line.len() > cap { Err(whole as u64) } else { Ok(line.to_vec()) }
    };
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let last = lines.pop().unwrap_or_default();
    let mut frames: Vec<Owned> = lines
        .into_iter()
        .map(|line| keep(line.strip_suffix(b"\r").unwrap_or(line), line.len() + 1))
        .collect();
    if !last.is_empty() {
        frames.push(keep(last, last.len()));
    }
    frames
}

/// One backend's decoder from the first line to the result. A line that begins with `!` is one of stderr.
pub fn decode(name: &str, data: &[u8]) {
    let backend = find(name).expect("a backend of this name");
    let request = Request::new("a prompt", "/");
    let mut protocol = backend.protocol(&request);
    let mut tally = Tally::default();
    let mut commands = Vec::new();
    let mut events = 0u64;
    let mut sink = |_: &Event<'_>| events += 1;
    for line in data.split(|byte| *byte == b'\n') {
        let mut out = Output::new(&mut tally, &mut sink, &mut commands);
        match line {
            [b'!', line @ ..] => protocol.stderr(line, &mut out),
            line => protocol.stdout(line, &mut out),
        }
    }
    let exit = ExitStatus {
        code: Some(i32::from(data.len() % 3 == 0)),
        signal: None,
    };
    protocol.finish(exit, &mut Output::new(&mut tally, &mut sink, &mut commands));
    let facts = Facts {
        backend: backend.name(),
        display_name: backend.display_name(),
        conversation: &request.conversation,
        tally,
        ended: Ended::ByItself,
        exit,
        stderr_tail: "",
        max_turns: None,
        duration_ms: 1,
    };
    settle(facts);
}
