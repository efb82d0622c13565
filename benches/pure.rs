//! The parts without IO: the framer, each decoder, the reporters. `cargo bench --bench pure [-- NAME]`.

mod streams;

use agentctl::backend::{Output, Tally, find};
use agentctl::event::Event;
use agentctl::lines::{Frame, Framer, LINE_CAP};
use agentctl::report::{Json, Pace, Report, StreamJson, Surroundings, Text};
use agentctl::request::Request;
use agentctl::tool::ToolKind;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const LENGTH: u64 = 1 << 20;

fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    stream.split(|byte| *byte == b'\n')
}

/// In reads of the size that a pipe gives.
fn frame(stream: &[u8]) -> u64 {
    let mut framer = Framer::new(LINE_CAP);
    let mut count = 0;
    for chunk in stream.chunks(64 << 10) {
        framer.space()[..chunk.len()].copy_from_slice(chunk);
        framer.filled(chunk.len());
        while let Some(frame) = framer.next_frame() {
            count += u64::from(matches!(frame, Frame::Line(_)));
        }
    }
    count
}

fn decode(backend: &str, stream: &[u8], mut sink: impl FnMut(&Event<'_>)) -> Tally {
    let backend = find(backend).expect("a backend");
    let mut protocol = backend.protocol(&Request::new("hi", "/"));
    let (mut tally, mut commands) = (Tally::default(), Vec::new());
    for line in lines(stream) {
        protocol.stdout(line, &mut Output::new(&mut tally, &mut sink, &mut commands));
    }
    tally
}

fn framer(criterion: &mut Criterion) {
    let stream = streams::recording("claude").of_size(LENGTH);
    let mut group = criterion.benchmark_group("framer");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("lines of Claude", |bencher| bencher.iter(|| frame(black_box(&stream))));
}

fn decoders(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decoder");
    for (backend, ..) in streams::RECORDINGS {
        let stream = streams::recording(backend).of_size(LENGTH);
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_function(*backend, |bencher| {
            bencher.iter(|| {
                decode(backend, black_box(&stream), |event| {
                    black_box(event);
                })
            });
        });
    }
    let mut stream = Vec::new();
    streams::growing_answer(4000, 8, |line| stream.extend_from_slice(line));
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("pi, growing", |bencher| {
        bencher.iter(|| {
            decode("pi", black_box(&stream), |event| {
                black_box(event);
            })
        });
    });
}

fn reporters(criterion: &mut Criterion) {
    let events = [
        Event::Text {
            text: "a piece of an answer with a \"quote\" in it\n".into(),
        },
        Event::ToolStart {
            id: "toolu_01".into(),
            name: "Bash".into(),
            kind: ToolKind::Bash,
            input: None,
        },
        Event::ToolEnd {
            id: "toolu_01".into(),
            name: "Bash".into(),
            kind: ToolKind::Bash,
            ok: true,
            denied: false,
            output: Some("total 4\n-rw-r--r-- 1 user user 12 a.txt\n".into()),
        },
    ];
    let reporters: [(&str, Box<dyn Report>); 3] = [
        ("stream-json", Box::new(StreamJson)),
        ("json", Box::new(Json)),
        ("text", Box::new(Text::new(Pace::Streamed, Surroundings::Alone))),
    ];
    let mut group = criterion.benchmark_group("reporter, 3 events");
    for (name, mut reporter) in reporters {
        let mut out = Vec::new();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                out.clear();
                for event in &events {
                    reporter.event(black_box(event), &mut out);
                }
                black_box(out.len())
            });
        });
    }
}

criterion_group!(pure, framer, decoders, reporters);
criterion_main!(pure);
