//! What a lookup costs among 100,000 conversations, against 10: `cargo bench --bench store [-- COUNT]`.
//!
//! Each lookup opens the store anew, as a command does. The last column is the ratio; the design promises at most 1.5.

use agentctl::session::{Filter, Key, LockId, Record, Store, Wait};
use jiff::{SignedDuration, Timestamp};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FEW: usize = 10;
const MANY: usize = 100_000;
const ROUNDS: usize = 2000;

type Lookup = fn(&Case) -> usize;

const LOOKUPS: &[(&str, Lookup)] = &[
    ("last, any directory", |case| found(case.store().last())),
    ("last, this directory", |case| found(case.store().last_in(&case.cwd))),
    ("by key", |case| found(case.store().find(case.key.as_str()).ok())),
    ("by prefix", |case| {
        found(case.store().find(&case.key.as_str()[..10]).ok())
    }),
    ("by name", |case| found(case.store().by_name(&case.name).ok().flatten())),
    ("by name, any kind", |case| found(case.store().find(&case.name).ok())),
    ("by native id", |case| {
        found(case.store().by_native_id("mock", &case.native_id).ok().flatten())
    }),
    ("by native id, any backend", |case| {
        found(case.store().find(&case.native_id).ok())
    }),
    // No more than the smaller store has, so that both read as many records.
    ("list 10", |case| {
        case.store().recent(&Filter::default(), 10).records.len()
    }),
    ("claim by name", |case| {
        found(case.store().claim_name(&case.name, Wait::No).ok())
    }),
    ("put again", |case| found(case.store().put(&case.record).ok())),
];

fn main() {
    let many = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    let few = Case::new(FEW);
    let many = Case::new(many.unwrap_or(MANY));
    report(&format!(
        "{:28} {:>10} {:>10} {:>6}",
        "lookup", few.count, many.count, "ratio"
    ));
    for (name, lookup) in LOOKUPS {
        let (with_few, with_many) = medians(*lookup, &few, &many);
        let ratio = with_many.as_secs_f64() / with_few.as_secs_f64();
        report(&format!("{name:28} {with_few:>10.1?} {with_many:>10.1?} {ratio:>6.2}"));
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
fn report(line: &str) {
    println!("{line}");
}

/// A store, and one of its conversations in the middle of it.
struct Case {
    directory: tempfile::TempDir,
    count: usize,
    cwd: PathBuf,
    key: Key,
    name: String,
    native_id: String,
    record: Record,
}

impl Case {
    fn new(count: usize) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(directory.path()).expect("a store");
        let now = Timestamp::now();
        let begun = Instant::now();
        let records: Vec<Record> = (0..count).map(|number| record(number, now)).collect();
        for record in &records {
            store.put(record).expect("a place to write");
        }
        let each = begun.elapsed() / count as u32;
        report(&format!("{count} conversations: {each:.1?} for each first put"));
        let record = records[count / 2].clone();
        Self {
            directory,
            count,
            cwd: record.cwd.clone(),
            key: record.key,
            name: record.name.clone().unwrap_or_default(),
            native_id: record.native_id.clone(),
            record,
        }
    }

    fn store(&self) -> Store {
        Store::open(self.directory.path()).expect("a store")
    }
}

fn record(number: usize, now: Timestamp) -> Record {
    let key = Key::fresh();
    let cwd = Path::new("/home/somebody/projects").join((number % 1000).to_string());
    let at = now + SignedDuration::from_millis(number as i64);
    let mut record = Record::new(key, LockId::of_key(key), "mock", cwd, at);
    record.name = Some(format!("https://chat.example/channel/{number}"));
    record.refresh_native_id(&format!("00000000-0000-4000-8000-{number:012}"));
    record.begin(at);
    record
}

fn found<T>(record: Option<T>) -> usize {
    usize::from(record.is_some())
}

/// The two in turns, so that whatever else the machine does hits both.
fn medians(lookup: Lookup, few: &Case, many: &Case) -> (Duration, Duration) {
    let (mut with_few, mut with_many) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with_few.push(time(lookup, few));
        with_many.push(time(lookup, many));
    }
    (median(with_few), median(with_many))
}

fn time(lookup: Lookup, case: &Case) -> Duration {
    let begun = Instant::now();
    assert!(black_box(lookup(case)) > 0, "nothing was found");
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
