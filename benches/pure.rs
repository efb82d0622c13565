//! The parts that a run is made of: the framer, each decoder, the reporters, the store. `cargo bench --bench pure [-- NAME]`.
//! How the store behaves when it is full is measured by `--bench store`.

mod streams;

use agentctl::backend::{Output, Tally, find};
use agentctl::event::Event;
use agentctl::lines::{Frame, Framer, LINE_CAP};
use agentctl::report::{Json, Pace, Report, StreamJson, Surroundings, Text};
use agentctl::request::Request;
use agentctl::session::{Key, LockId, Record, Store};
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

fn store(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(directory.path()).expect("a store");
    let key = Key::fresh();
    let mut record = Record::new(key, LockId::of_key(key), "mock", "/", jiff::Timestamp::now());
    record.name = Some("a name".to_owned());
    record.refresh_native_id("d5c43934-51e6-45f7-b52e-75afe3cbe846");
    store.put(&record).expect("a place to write");
    let mut group = criterion.benchmark_group("store");
    group.bench_function("put, synced", |bencher| bencher.iter(|| store.put(black_box(&record))));
    group.bench_function("put, not synced", |bencher| {
        bencher.iter(|| store.put_unsynced(black_box(&record)).map(drop));
    });
    group.bench_function("get", |bencher| bencher.iter(|| store.get(black_box(&key)).is_ok()));
    group.bench_function("by name", |bencher| {
        bencher.iter(|| store.by_name(black_box("a name")).is_ok())
    });
    group.bench_function("last", |bencher| bencher.iter(|| black_box(store.last()).is_some()));
}

criterion_group!(pure, framer, decoders, reporters, store);
criterion_main!(pure);
