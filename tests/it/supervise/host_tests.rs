//! Signals, a closed or stalled reader, and the death of the supervisor itself.

use super::fake::{PATIENCE, eventually, is_alive, survivors};
use super::host::Host;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn last(lines: &[String]) -> &str {
    lines.last().map_or("", String::as_str)
}

#[test]
fn an_interrupt_is_passed_on_politely() {
    let mut host = Host::new(["polite", "say ready", "sleep 1000"])
        .env("HOST_GRACE", "60000")
        .start();
    host.wait_for("ready");
    host.signal(libc::SIGINT);
    let lines = host.finish();
    assert_eq!(lines[lines.len() - 2], "got 15");
    assert_eq!(last(&lines), "ended Signal(2) code Some(0) signal None");
}

#[test]
fn termination_and_hangup_end_the_run_too() {
    for (signal, name) in [(libc::SIGTERM, "Signal(15)"), (libc::SIGHUP, "Signal(1)")] {
        let mut host = Host::new(["daemon", "stubborn", "say ready", "sleep 1000"]).start();
        host.wait_for("ready");
        host.signal(signal);
        assert_eq!(last(&host.finish()), format!("ended {name} code None signal Some(15)"));
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let mut host = Host::new(["ignore TERM INT", "say ready", "sleep 1000"])
        .env("HOST_GRACE", "60000")
        .start();
    host.wait_for("ready");
    host.signal(libc::SIGINT);
    std::thread::sleep(SECOND / 5);
    let start = Instant::now();
    host.signal(libc::SIGINT);
    assert_eq!(last(&host.finish()), "ended Signal(2) code None signal Some(9)");
    assert!(start.elapsed() < 30 * SECOND);
}

#[test]
fn a_killed_supervisor_leaves_no_process_and_no_file() {
    let mut host = Host::new([
        "daemon",
        "nameless",
        "stubborn",
        "hold",
        "hopper",
        "say ready",
        "sleep 1000",
    ])
    .start();
    host.wait_for("ready");
    assert_eq!(host.temporary_files().len(), 1);
    host.signal(libc::SIGKILL);
    host.child.wait().unwrap();
    host.assert_nothing_is_left();
}

#[test]
fn a_supervisor_that_is_killed_at_any_moment_leaves_nothing() {
    for delay in 0..30 {
        let mut host = Host::new(["daemon", "child", "say ready", "sleep 1000"]).start();
        std::thread::sleep(Duration::from_millis(delay));
        host.signal(libc::SIGKILL);
        host.child.wait().unwrap();
        // Before the guard exists only the next run can remove the directory.
        let temporary = host.temporary().to_owned();
        let mut next = Host::new(["say next"]).env("TMPDIR", &temporary).start();
        next.child.wait().unwrap();
        host.assert_nothing_is_left();
    }
}

#[test]
fn a_killed_guard_leaves_no_process_either() {
    let mut host = Host::new(["daemon", "stubborn", "child", "hold", "say ready", "sleep 1000"]).start();
    host.wait_for("ready");
    // SAFETY: the guard of our own host.
    unsafe { libc::kill(host.guard(), libc::SIGKILL) };
    assert_eq!(last(&host.finish()), "ended Exited code None signal None");
}

#[test]
fn a_panic_leaves_nothing() {
    let mut host = Host::new(["daemon", "stubborn", "say panic", "sleep 1000"])
        .quiet()
        .start();
    assert!(!host.child.wait().unwrap().success());
    host.assert_nothing_is_left();
}

#[test]
fn a_closed_reader_ends_the_run_quietly_even_if_nothing_is_said() {
    let mut host = Host::new(["daemon", "say ready", "sleep 1000"]).quiet().start();
    host.wait_for("ready");
    host.stdout = None;
    eventually("the end", PATIENCE, || host.child.try_wait().unwrap().is_some());
    host.assert_nothing_is_left();
}

#[test]
fn a_stalled_reader_does_not_freeze_the_timeout_and_memory_stays_flat() {
    let host = Host::new(["flood 200000000", "sleep 1000"])
        .env("HOST_TIMEOUT", "5000")
        .start();
    // Nobody reads; the flood goes to a file that has no name.
    let mut host = host;
    let pid = host.pid();
    let start = Instant::now();
    let mut largest = 0;
    while host.child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
        largest = largest.max(resident.unwrap_or(0));
        assert!(start.elapsed() < 40 * SECOND, "frozen");
        std::thread::sleep(SECOND / 50);
    }
    assert!(largest < 40_000, "{largest} kB");
    host.assert_nothing_is_left();
}

#[test]
fn a_reader_that_comes_late_gets_everything() {
    let mut host = Host::new(["flood 20000000", "say flooded"]).start();
    std::thread::sleep(SECOND);
    host.wait_for("flooded");
    let lines = host.finish();
    assert_eq!(lines.iter().filter(|line| line.len() == 99).count(), 200_000);
    assert_eq!(last(&lines), "ended Exited code Some(0) signal None");
}

#[test]
fn a_suspended_run_suspends_its_whole_tree_and_its_clock() {
    let mut host = Host::new(["child", "daemon", "say ready", "sleep 2", "say woke"])
        .env("HOST_TIMEOUT", "6000")
        .like_a_job()
        .start();
    host.wait_for("ready");
    let state = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    let guard = host.guard();
    let tree = || -> Vec<i32> { host.tree().into_iter().filter(|pid| *pid != guard).collect() };
    assert_eq!(tree().len(), 4, "the host, the agent and the two it left");
    host.signal(libc::SIGTSTP);
    eventually("all are stopped", PATIENCE, || {
        tree().into_iter().all(|pid| state(pid) == Some('T'))
    });
    // Longer than the timeout.
    std::thread::sleep(7 * SECOND);
    assert!(tree().into_iter().all(|pid| state(pid) == Some('T')));
    host.signal(libc::SIGCONT);
    let lines = host.finish();
    assert_eq!(last(&lines), "ended Exited code Some(0) signal None");
    assert!(lines.iter().any(|line| line == "woke"));
}

#[test]
fn a_run_that_nobody_could_continue_is_not_suspended() {
    let mut host = Host::new(["say ready", "sleep 1", "say still here"]).orphaned().start();
    host.wait_for("ready");
    host.signal(libc::SIGTSTP);
    eventually("the end", 60 * SECOND, || host.child.try_wait().unwrap().is_some());
    assert_eq!(last(&host.finish()), "ended Exited code Some(0) signal None");
}

#[test]
fn a_lock_stays_taken_until_the_tree_of_a_killed_supervisor_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let mut host = Host::new(["stubborn", "say ready", "sleep 1000"])
        .env("HOST_LOCK", &path)
        .start();
    host.wait_for("ready");
    let guard = host.guard();
    let file = std::fs::File::open(&path).unwrap();
    assert!(file.try_lock().is_err());
    // A stopped guard cannot end the tree yet.
    // SAFETY: the guard of our own host.
    unsafe { libc::kill(guard, libc::SIGSTOP) };
    host.signal(libc::SIGKILL);
    host.child.wait().unwrap();
    assert!(file.try_lock().is_err(), "the tree lives and the lock is free");
    // SAFETY: as above; it is not reaped while it is stopped.
    unsafe { libc::kill(guard, libc::SIGCONT) };
    eventually("the lock is free", PATIENCE, || file.try_lock().is_ok());
    host.assert_nothing_is_left();
    assert!(!is_alive(guard));
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let mut host = Host::new(["say ready", "sleep 1", "say still here"])
        .ignoring(libc::SIGHUP)
        .start();
    host.wait_for("ready");
    host.signal(libc::SIGHUP);
    let lines = host.finish();
    assert_eq!(last(&lines), "ended Exited code Some(0) signal None");
}

#[test]
fn the_token_finds_what_it_should() {
    let mut host = Host::new(["daemon", "say ready", "sleep 1000"]).start();
    host.wait_for("ready");
    assert_eq!(
        survivors(host.token()).len(),
        4,
        "the host, its guard, the agent, the daemon"
    );
    host.signal(libc::SIGTERM);
    host.finish();
}
