//! A second process for tests that need one: this test binary again, told by the environment what to do.

use super::{at, key, record};
use agentctl::session::{Key, Record, Store, Wait};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROLE: &str = "SESSION_TEST_ROLE";
const PLACE: &str = "SESSION_TEST_PLACE";

pub const PUT_FOREVER_KEY: &str = "k3f9k3f9k3f9";
pub const CONVERSATIONS: usize = 8;
pub const RUNS_EACH: usize = 4;

/// Starts a helper that works in `place`; it is told its role as text.
pub fn start(role: &str, place: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "session::helper::a_helper_does_as_it_is_told",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(PLACE, place)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the helper says that it is at work.
pub fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines
        .find(|line| line.as_ref().is_ok_and(|line| line.ends_with("ready")))
        .unwrap()
        .unwrap();
}

#[test]
fn a_helper_does_as_it_is_told() {
    let role = std::env::var(ROLE);
    let place = match std::env::var_os(PLACE) {
        Some(place) => place.into(),
        None => tempfile::tempdir().unwrap().path().join("state"),
    };
    match role.as_deref() {
        // Without a role it is a test like any other: one process, one conversation.
        Err(_) => {
            put_once(&place);
            let store = Store::open(&place).unwrap();
            assert_eq!(store.get(&key(PUT_FOREVER_KEY)).unwrap().unwrap().runs, 1);
            std::fs::remove_dir_all(place).unwrap();
        }
        Ok("put forever") => put_forever(&place),
        Ok("converse") => converse(&place),
        Ok("put on a full disk") => put_on_a_full_disk(&place),
        Ok("claim and sleep") => claim_and_sleep(&place),
        Ok(umask) => {
            let mask = rustix::fs::RawMode::from_str_radix(umask, 8).unwrap();
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
            put_once(&place);
        }
    }
}

#[expect(clippy::print_stdout, reason = "the one who started this process reads it")]
fn say(line: &str) {
    println!("{line}");
}

fn put_once(place: &Path) {
    let store = Store::open(place).unwrap();
    let mut record = record(key(PUT_FOREVER_KEY), 0);
    record.name = Some("a name".to_owned());
    let claim = store.claim_name("a name", Wait::No).unwrap();
    record.lock = claim.guard.id().clone();
    store.put(&record).unwrap();
    let exchange = agentctl::session::Exchange {
        time: at(0),
        prompt: "question".to_owned(),
        answer: "answer".to_owned(),
        is_error: false,
    };
    store.keep_exchange(&record.key, &exchange).unwrap();
}

/// Records of many sizes, so that a kill can hit any part of a write.
fn put_forever(place: &Path) {
    let store = Store::open(place).unwrap();
    let mut record = record(key(PUT_FOREVER_KEY), 0);
    say("ready");
    for size in (0..).step_by(997) {
        let filling = "x".repeat(size % 100_000);
        record.options.insert("size".to_owned(), filling.len().to_string());
        record.options.insert("filling".to_owned(), filling);
        record.refresh_native_id(&format!("native-{size}"));
        record.earlier_native_ids.clear();
        record.begin(at(size as i64));
        store.put(&record).unwrap();
    }
}

/// Several runs of random conversations, each noted in a log beside the store: `begin`, `put ID`, `end`.
fn converse(place: &Path) {
    let store = Store::open(place).unwrap();
    let process = std::process::id();
    for run in 0..RUNS_EACH {
        let conversation = (uuid::Uuid::new_v4().as_u128() % CONVERSATIONS as u128) as usize;
        let name = conversation_name(conversation);
        let claim = store.claim_name(&name, Wait::For(Duration::from_secs(120))).unwrap();
        let log = place.join(format!("log-{conversation}"));
        note(&log, &format!("{process} begin"));
        let mut record = claim.record.unwrap_or_else(|| {
            let key = Key::fresh();
            let mut record = Record::new(key, claim.guard.id().clone(), "mock", "/project", at(0));
            record.name = Some(name.clone());
            record
        });
        let native_id = format!("{process}-{run}");
        record.refresh_native_id(&native_id);
        record.begin(jiff::Timestamp::now());
        store.put(&record).unwrap();
        note(&log, &format!("{process} put {native_id}"));
        std::thread::sleep(Duration::from_millis(5));
        store.put(&record).unwrap();
        note(&log, &format!("{process} end"));
    }
}

pub fn conversation_name(conversation: usize) -> String {
    format!("channel {conversation} 🦀")
}

fn note(log: &Path, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(log).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// No file may grow any more: what a full disk or a quota does.
fn put_on_a_full_disk(place: &Path) {
    let nothing = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // SAFETY: ignoring a signal installs no handler; without it the limit would kill instead of failing the write.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, nothing).unwrap();
    let store = Store::open(place).unwrap();
    let failure = store.put(&record(key(PUT_FOREVER_KEY), 99)).unwrap_err();
    say(&format!("failed: {failure}"));
}

fn claim_and_sleep(place: &Path) {
    let store = Store::open(place).unwrap();
    let _claim = store.claim_name("a name", Wait::No).unwrap();
    say("ready");
    std::thread::sleep(Duration::from_secs(600));
}
