//! One decoder over a fixed stream, to be counted by callgrind: `instructions BACKEND [stream-json|none]`. See
//! `benches/instructions`, which runs it and compares.

mod streams;

use agentctl::backend::{ExitStatus, Output, Tally, find};
use agentctl::event::Event;
use agentctl::report::{Report, StreamJson};
use agentctl::request::Request;
use std::hint::black_box;

/// Long enough that starting the process does not count for much.
const LENGTH: u64 = 2 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(name) = arguments.next() else {
        // `cargo bench` runs everything; there is nothing to see here without callgrind.
        return;
    };
    let stream = match name.as_str() {
        "pi-growing" => {
            let mut stream = Vec::new();
            streams::growing_answer(4000, 8, |line| stream.extend_from_slice(line));
            stream
        }
        name => streams::recording(name).of_size(LENGTH),
    };
    let backend = find(name.split('-').next().unwrap_or_default()).expect("a backend");
    let request = Request::new("hi", "/");
    let mut protocol = backend.protocol(&request);
    let (mut tally, mut commands) = (Tally::default(), Vec::new());
    let (mut reporter, mut bytes) = (StreamJson, Vec::new());
    let mut written = 0;
    let mut sink = |event: &Event<'_>| {
        reporter.event(event, &mut bytes);
        written += bytes.len();
        bytes.clear();
    };
    for line in stream.split(|byte| *byte == b'\n') {
        protocol.stdout(line, &mut Output::new(&mut tally, &mut sink, &mut commands));
    }
    let exit = ExitStatus {
        code: Some(0),
        signal: None,
    };
    protocol.finish(exit, &mut Output::new(&mut tally, &mut sink, &mut commands));
    assert!(tally.completed, "the stream was not understood");
    black_box((written, tally));
}
