//! The sections: each measures one goal and says whether it is met.

use crate::child;
use crate::contestant::{Place, Way, median, medians, peak_memory, processor_time, time, time_through_pipe};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

const MEGABYTE: u64 = 1_000_000;
/// The recording that throughput is measured with.
const RECORDING: u64 = 200 * MEGABYTE;

/// The CLIs that harnesscli drives as well.
const PEERS: [&str; 3] = ["claude", "codex", "opencode"];

type Section = (&'static str, fn(&Place));

const SECTIONS: &[Section] = &[
    ("size", size),
    ("start", start),
    ("run", run),
    ("throughput", throughput),
    ("growing", growing),
    ("memory", memory),
    ("latency", latency),
    ("parallel", parallel),
    ("sessions", sessions),
];

/// The sections that were asked for, or all.
pub fn chosen() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let place = Place::new();
    for (name, section) in SECTIONS {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            println!("== {name}");
            section(&place);
        }
    }
}

fn goal(what: &str, value: String, met: bool) {
    println!("{:8} {what}: {value}", if met { "met" } else { "NOT MET" });
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn speed(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn size(place: &Place) {
    let bytes = std::fs::metadata(&place.agentctl).map_or(0, |metadata| metadata.len());
    let megabytes = bytes as f64 / 1e6;
    goal("binary, at most 5 MB", format!("{megabytes:.2} MB"), megabytes <= 5.0);
}

fn start(place: &Place) {
    let ways: Vec<Way<'_>> = vec![
        Box::new(|| time(&mut place.bare("nothing"))),
        Box::new(|| time(place.command(&place.agentctl, "").arg("--version"))),
        Box::new(|| time(place.command(&place.agentctl, "").arg("--help"))),
    ];
    let [nothing, version, help] = medians(300, &ways)[..] else {
        return;
    };
    for (what, took) in [("--version", version), ("--help", help)] {
        let times = ratio(took, nothing);
        let value = format!("{took:.2?} against {nothing:.2?}, {times:.2} ×");
        goal(
            &format!("{what} within 1.5 × of a program that does nothing"),
            value,
            times <= 1.5,
        );
    }
}

fn run(place: &Place) {
    for backend in ["codex", "claude"] {
        let role = format!("file {}", place.file(backend, 1).display());
        let mut ways: Vec<Way<'_>> = vec![
            Box::new(|| time(&mut place.bare(&role))),
            Box::new(|| time(&mut place.run(backend, "json", &role))),
            Box::new(|| time(place.run(backend, "json", &role).arg("--ephemeral"))),
        ];
        if place.peer(backend, &role).is_some() {
            ways.push(Box::new(|| time(&mut place.peer(backend, &role).expect("the peer"))));
        }
        let took = medians(200, &ways);
        let added = took[1].saturating_sub(took[0]);
        let value = format!("{added:.2?} ({:.2?} without storing)", took[2].saturating_sub(took[0]));
        goal(
            &format!("added to a small run of {backend}, at most 3 ms"),
            value,
            added <= Duration::from_millis(3),
        );
        if let Some(peer) = took.get(3) {
            let peers = peer.saturating_sub(took[0]);
            goal(
                "less than harnesscli",
                format!("{added:.2?} against {peers:.2?}"),
                added < peers,
            );
        }
    }
}

fn throughput(place: &Place) {
    for (backend, ..) in crate::streams::RECORDINGS {
        let file = place.file(backend, RECORDING);
        let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        let role = format!("file {}", file.display());
        let mut names = vec!["cat", "stream-json", "json"];
        let mut ways: Vec<Way<'_>> = vec![
            Box::new(|| time_through_pipe(&mut place.bare(&role))),
            Box::new(|| time(&mut place.run(backend, "stream-json", &role))),
            Box::new(|| time(&mut place.run(backend, "json", &role))),
        ];
        if let Some(jq) = &place.jq {
            names.push("jq -c .");
            let file = file.clone();
            ways.push(Box::new(move || {
                time(place.command(jq, "").args(["-c", "."]).arg(&file))
            }));
        }
        if PEERS.contains(backend) && place.peer(backend, &role).is_some() {
            names.push("harnesscli");
            ways.push(Box::new(|| time(&mut place.peer(backend, &role).expect("the peer"))));
        }
        let took = medians(3, &ways);
        let speeds: Vec<String> = names
            .iter()
            .zip(&took)
            .map(|(name, took)| format!("{name} {:.0} MB/s", speed(bytes, *took)))
            .collect();
        println!("         {backend}: {}", speeds.join(", "));
        for (name, least) in [("jq -c .", 10.0), ("harnesscli", 4.0)] {
            if let Some(at) = names.iter().position(|one| *one == name) {
                let times = ratio(took[at], took[1]);
                let what = format!("{backend} to stream-json, at least {least} × faster than {name}");
                goal(&what, format!("{times:.1} ×"), times >= least);
            }
        }
        goal(
            &format!("{backend} to json, faster still"),
            format!("{:.2} ×", ratio(took[1], took[2])),
            took[2] < took[1],
        );
        let _ = std::fs::remove_file(&file);
    }
}

fn growing(place: &Place) {
    let role = "growing 100000 10";
    let mut bytes = 0;
    crate::streams::growing_answer(100_000, 10, |line| bytes += line.len() as u64);
    let ways: Vec<Way<'_>> = vec![
        Box::new(|| time_through_pipe(&mut place.bare(role))),
        Box::new(|| time(&mut place.run("pi", "stream-json", role))),
    ];
    let took = medians(3, &ways);
    let (cat, ours) = (speed(bytes, took[0]), speed(bytes, took[1]));
    let value = format!("{ours:.0} MB/s over {} MB (cat: {cat:.0} MB/s)", bytes / MEGABYTE);
    goal(
        "pi, every line with the whole message, at least 500 MB/s",
        value,
        ours >= 500.0,
    );
}

fn memory(place: &Place) {
    let peak = |bytes: u64| {
        let role = format!("repeat claude {bytes}");
        let child = place.run("claude", "stream-json", &role).spawn();
        peak_memory(child.expect("a program that starts")) as f64 / 1e6
    };
    let (short, long) = (peak(50 * MEGABYTE), peak(1000 * MEGABYTE));
    let value = format!("{long:.1} MB (over 50 MB: {short:.1} MB)");
    goal(
        "peak memory over 1 GB of normal lines, at most 10 MB",
        value,
        long <= 10.0,
    );
    const LINE: u64 = 40 * MEGABYTE;
    let child = place.run("claude", "stream-json", &format!("line {LINE}")).spawn();
    let peak = peak_memory(child.expect("a program that starts")) as f64 / 1e6;
    goal(
        "peak memory with a line of 40 MB, at most twice that beyond the 10 MB",
        format!("{peak:.1} MB"),
        peak <= 10.0 + 2.0 * LINE as f64 / 1e6,
    );
}

/// How long the first text takes from the CLI's write to our read, and the result.
fn delay(command: &mut std::process::Command, mark: &str) -> Duration {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a program that starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut seen = Vec::new();
    let mut delay = Duration::ZERO;
    loop {
        let chunk = out.fill_buf().expect("a pipe that can be read");
        let now = child::now();
        if chunk.is_empty() {
            break;
        }
        seen.extend_from_slice(chunk);
        let count = chunk.len();
        out.consume(count);
        let text = String::from_utf8_lossy(&seen);
        let written = text.split_once(mark).and_then(|(_, rest)| rest.split_once(" ns"));
        if let Some(nanoseconds) = written
            .and_then(|(number, _)| number.parse().ok())
            .filter(|_| delay.is_zero())
        {
            delay = now.saturating_sub(Duration::from_nanos(nanoseconds));
        }
    }
    child.wait().expect("a program that ends");
    delay
}

fn latency(place: &Place) {
    let ways: Vec<Way<'_>> = vec![
        Box::new(|| delay(&mut place.bare("clock"), "at ")),
        Box::new(|| delay(&mut place.run("claude", "text", "clock"), "at ")),
        Box::new(|| delay(&mut place.run("claude", "stream-json", "clock"), "at ")),
        Box::new(|| delay(&mut place.bare("clock"), "end ")),
        Box::new(|| delay(&mut place.run("claude", "json", "clock"), "end ")),
    ];
    let took = medians(60, &ways);
    for (at, format) in [(1, "text"), (2, "stream-json")] {
        let added = took[at].saturating_sub(took[0]);
        let what = format!("first event in {format}, under 1 ms added");
        goal(&what, format!("{added:.2?}"), added < Duration::from_millis(1));
    }
    let added = took[4].saturating_sub(took[3]);
    println!(
        "         json has one event, the result: {added:.2?} after the CLI's, with its exit and the session on disk"
    );
}

fn parallel(place: &Place) {
    const RUNS: u32 = 64;
    let role = format!("file {}", place.file("codex", 1).display());
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let before = processor_time();
        for _ in 0..RUNS {
            time(&mut place.run("codex", "json", &role));
        }
        let between = processor_time();
        let children: Vec<_> = (0..RUNS).map(|_| place.run("codex", "json", &role).spawn()).collect();
        for child in children {
            let status = child.and_then(|mut child| child.wait());
            assert!(status.is_ok_and(|status| status.success()), "one of many runs failed");
        }
        alone.push((between - before) / RUNS);
        together.push((processor_time() - between) / RUNS);
    }
    let (alone, together) = (median(alone), median(together));
    let times = ratio(together, alone);
    let value = format!("{together:.2?} against {alone:.2?}, {times:.2} ×");
    goal(
        "processor time of each of 64 runs, within 1.3 × of one alone",
        value,
        times <= 1.3,
    );
}

fn sessions(place: &Place) {
    let few = store(place, 10);
    let many = store(place, 100_000);
    let ask = |(state, key): &(PathBuf, String), which: &str| {
        let mut command = place.command(&place.agentctl, "");
        command.env("AGENTCTL_STATE_DIR", state);
        match which {
            "sessions list --limit 20" => command.args(["sessions", "list", "--limit", "20"]),
            "resume --last" => command.args(["resume", "--last", "--any-dir", "--dry-run", "go on"]),
            "resume by key" => command.args(["resume", key, "--dry-run", "go on"]),
            _ => command.args(["resume", "name of 5", "--dry-run", "go on"]),
        };
        time(&mut command)
    };
    for which in [
        "resume --last",
        "resume by key",
        "resume by name",
        "sessions list --limit 20",
    ] {
        let ways: Vec<Way<'_>> = vec![Box::new(|| ask(&few, which)), Box::new(|| ask(&many, which))];
        let took = medians(200, &ways);
        let times = ratio(took[1], took[0]);
        let what = format!("{which} among 100,000 sessions, within 1.5 × of 10");
        let value = format!("{:.2?} against {:.2?}, {times:.2} ×", took[1], took[0]);
        goal(&what, value, times <= 1.5);
    }
}

/// A store with so many conversations, made once, and the key of one of them.
fn store(place: &Place, count: usize) -> (PathBuf, String) {
    use agentctl::session::{Key, LockId, Record, Store};
    let directory = place.directory.join(format!("sessions-{count}"));
    if !directory.exists() {
        let begun = Instant::now();
        let half = directory.with_extension("half");
        let _ = std::fs::remove_dir_all(&half);
        let store = Store::open(&half).expect("a store");
        for number in 0..count {
            let key = Key::fresh();
            let at = jiff::Timestamp::now();
            let mut record = Record::new(key, LockId::of_key(key), "mock", &place.directory, at);
            record.name = Some(format!("name of {number}"));
            record.refresh_native_id(&format!("00000000-0000-4000-8000-{number:012}"));
            record.begin(at);
            store.put(&record).expect("a place to write");
        }
        std::fs::rename(&half, &directory).expect("a place to write");
        println!("         {count} sessions stored in {:.0?}", begun.elapsed());
    }
    let store = Store::open(&directory).expect("a store");
    let record = store.by_name("name of 5").ok().flatten().expect("a session");
    (directory, record.key.to_string())
}
