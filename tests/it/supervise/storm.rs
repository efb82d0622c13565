//! Many runs side by side, each with random misbehaviour and a random end: nothing may be left and nothing lost.

use super::binary::{ANSWER, END, Ended, Place, SESSION, TURN};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const RUNS: u64 = 200;
const SIDE_BY_SIDE: usize = 16;

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) ^ (self.0 >> 11)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.next()).unwrap_or(0) % choices.len()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Left,
    /// At any moment.
    Killed,
    /// Once the session is known.
    Signalled(i32),
    SignalledTwice,
    ReaderGone,
}

const MISBEHAVIOUR: &[&str] = &[
    "child",
    "daemon",
    "nameless",
    "hold",
    "stubborn",
    "hopper",
    "flood 3000000",
    "flood-err 1000000",
    "line 2000000",
    "junk",
    "err trouble",
    "sleep 0.05",
    "ignore TERM INT HUP",
    "polite",
    "close",
];
const LAST: &[&str] = &[
    "exit 0",
    "exit 1",
    "half {\"type\":",
    "die KILL",
    "die SEGV",
    "sleep 2",
    "spin",
    "cat",
];
const FATES: &[Fate] = &[
    Fate::Left,
    Fate::Left,
    Fate::Killed,
    Fate::Killed,
    Fate::Signalled(libc::SIGINT),
    Fate::Signalled(libc::SIGTERM),
    Fate::Signalled(libc::SIGHUP),
    Fate::SignalledTwice,
    Fate::ReaderGone,
];

fn one_run(place: &Place, seed: u64) -> (Fate, Ended) {
    let mut random = Random(seed);
    let mut steps = vec![SESSION, TURN];
    for _ in 0..random.next() % 4 {
        steps.push(random.one_of(MISBEHAVIOUR));
    }
    if !random.next().is_multiple_of(4) {
        steps.extend([ANSWER, END]);
    }
    steps.push(random.one_of(LAST));
    let fate = random.one_of(FATES);
    let delay = Duration::from_millis(random.next() % 400);
    let mut agentctl = place.run(&steps, &["--timeout", "4s"]);
    if fate == Fate::Killed {
        std::thread::sleep(delay);
        agentctl.signal(libc::SIGKILL);
    } else if agentctl.wait_for("session") {
        std::thread::sleep(delay / 4);
        match fate {
            Fate::Signalled(signal) => agentctl.signal(signal),
            Fate::SignalledTwice => {
                agentctl.signal(libc::SIGTERM);
                std::thread::sleep(delay / 10);
                agentctl.signal(libc::SIGINT);
            }
            Fate::ReaderGone => agentctl.stdout = None,
            Fate::Left | Fate::Killed => {}
        }
    }
    (fate, agentctl.finish())
}

fn check(seed: u64, fate: Fate, ended: &Ended) {
    let context = format!("seed {seed}, {fate:?}, {:?}, stderr {:?}", ended.status, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{context}");
    assert_ne!(ended.status.code(), Some(101), "{context}");
    match fate {
        Fate::Killed | Fate::ReaderGone => {}
        // The second signal may come when the result is being written: then it ends agentctl itself.
        Fate::SignalledTwice if ended.status.code().is_none() => {}
        Fate::Left | Fate::Signalled(_) | Fate::SignalledTwice => {
            assert_eq!(
                ended.result()["sessionId"],
                "0199a213-81c0-7800-8aa1-bbab2a035a53",
                "{context}"
            );
        }
    }
}

#[test]
fn a_storm_of_misbehaving_runs_leaves_nothing_and_loses_nothing() {
    let place = Place::new();
    let next = AtomicU64::new(0);
    let told = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= RUNS {
                        return;
                    }
                    let (fate, ended) = one_run(&place, seed);
                    check(seed, fate, &ended);
                    let known = ended.lines.iter().any(|line| line.starts_with("{\"type\":\"session\""));
                    told.fetch_add(u64::from(known), Ordering::Relaxed);
                }
            });
        }
    });
    place.assert_no_process_is_left();
    // A run that was killed before its guard existed leaves its directory to the next one.
    place.run(&[SESSION, TURN, ANSWER, END], &[]).finish().result();
    place.assert_nothing_is_left();
    let stored = place.sessions().len() as u64;
    assert!(stored > told.into_inner(), "{stored} sessions are stored");
}
