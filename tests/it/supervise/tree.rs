//! How runs end, and that nothing is left of them.

use super::fake::{Fake, Outcome, example};
use agentctl::backend::{ExitStatus, Stop};
use agentctl::error::ErrorKind;
use agentctl::supervise::{SpawnStep, Why};
use std::time::Duration;

/// In milliseconds: until then the agent has begun and done its first steps, also on a loaded machine.
const ENOUGH_TO_BEGIN: u64 = 3000;

fn exited(code: i32) -> ExitStatus {
    ExitStatus {
        code: Some(code),
        signal: None,
    }
}

fn killed_by(signal: i32) -> ExitStatus {
    ExitStatus {
        code: None,
        signal: Some(signal),
    }
}

fn why_and_exit(outcome: &Outcome) -> (Why, ExitStatus) {
    (outcome.ending.why, outcome.ending.exit)
}

#[test]
fn a_plain_run_tells_its_lines_and_its_code() {
    let outcome = Fake::new(["say one", "err oops", "say two", "exit 7"]).run();
    assert_eq!(outcome.said(), ["one", "two"]);
    assert_eq!(outcome.ending.stderr_tail, "oops");
    assert_eq!(why_and_exit(&outcome), (Why::Exited, exited(7)));
}

#[test]
fn a_death_by_signal_is_told() {
    let outcome = Fake::new(["say one", "die SEGV"]).run();
    assert_eq!(why_and_exit(&outcome), (Why::Exited, killed_by(libc::SIGSEGV)));
}

#[test]
fn half_a_line_before_death_is_delivered() {
    let outcome = Fake::new(["say one", "half tw", "die KILL"]).run();
    assert_eq!(outcome.said(), ["one", "tw"]);
}

#[test]
fn a_child_in_the_background_ends_with_the_run() {
    let outcome = Fake::new(["child", "exit 0"]).run();
    assert_eq!((outcome.left(), why_and_exit(&outcome)), (1, (Why::Exited, exited(0))));
}

#[test]
fn a_daemon_in_a_session_of_its_own_ends_with_the_run() {
    assert_eq!(Fake::new(["daemon", "exit 0"]).run().left(), 1);
}

#[test]
fn a_daemon_with_an_empty_environment_ends_with_the_run() {
    assert_eq!(Fake::new(["nameless", "exit 0"]).run().left(), 1);
}

#[test]
fn a_child_that_ignores_every_polite_signal_ends_with_the_run() {
    assert_eq!(Fake::new(["stubborn", "exit 0"]).run().left(), 1);
}

#[test]
fn a_process_that_changes_its_number_all_the_time_ends_with_the_run() {
    assert_eq!(Fake::new(["hopper", "sleep 0.1", "exit 0"]).run().left(), 1);
}

#[test]
fn many_of_all_kinds_end_with_the_run() {
    let steps = [
        "daemon", "child", "nameless", "stubborn", "hopper", "hold", "daemon", "child",
    ];
    assert_eq!(Fake::new(steps).run().left(), 8);
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_delay_the_result() {
    let outcome = Fake::new(["say one", "hold", "exit 3"]).run();
    assert_eq!(why_and_exit(&outcome), (Why::Exited, exited(3)));
    assert_eq!((outcome.said(), outcome.left()), (vec!["one"], 1));
    assert!(outcome.took < Duration::from_secs(20), "{:?}", outcome.took);
}

#[test]
fn a_timeout_asks_first() {
    let outcome = Fake::new(["polite", "say one", "sleep 1000"])
        .timeout(ENOUGH_TO_BEGIN)
        .limits(|limits| limits.grace = Duration::from_secs(60))
        .run();
    assert_eq!(outcome.said(), ["one", "got 15"]);
    assert_eq!(why_and_exit(&outcome), (Why::Timeout, exited(0)));
}

#[test]
fn a_cli_that_wants_an_interrupt_gets_one() {
    let outcome = Fake::new(["polite", "say one", "sleep 1000"])
        .launch(|launch| launch.stop = Stop::Interrupt)
        .timeout(ENOUGH_TO_BEGIN)
        .limits(|limits| limits.grace = Duration::from_secs(60))
        .run();
    assert_eq!(outcome.said(), ["one", "got 2"]);
}

#[test]
fn a_cli_that_ignores_the_signals_is_killed_after_the_grace() {
    let outcome = Fake::new(["ignore TERM INT HUP", "daemon", "say one", "sleep 1000"])
        .timeout(ENOUGH_TO_BEGIN)
        .run();
    assert_eq!(why_and_exit(&outcome), (Why::Timeout, killed_by(libc::SIGKILL)));
    assert_eq!((outcome.said(), outcome.left()), (vec!["one"], 1));
}

#[test]
fn a_stopped_cli_is_ended_too() {
    let outcome = Fake::new(["die STOP"]).timeout(200).run();
    assert_eq!(why_and_exit(&outcome), (Why::Timeout, killed_by(libc::SIGTERM)));
}

#[test]
fn a_spinning_cli_is_ended_by_the_timeout() {
    let outcome = Fake::new(["spin"]).timeout(200).run();
    assert_eq!(outcome.ending.why, Why::Timeout);
}

#[test]
fn silence_is_ended_by_the_idle_timeout_and_output_on_either_stream_puts_it_off() {
    let outcome = Fake::new([
        "sleep 0.7",
        "err a",
        "sleep 0.7",
        "say b",
        "sleep 0.7",
        "err c",
        "sleep 1000",
    ])
    .limits(|limits| limits.idle_timeout = Some(Duration::from_millis(2500)))
    .run();
    assert_eq!(outcome.ending.why, Why::IdleTimeout);
    assert_eq!(
        (outcome.said(), outcome.ending.stderr_tail.as_str()),
        (vec!["b"], "a\nc")
    );
    assert!(outcome.took >= Duration::from_millis(4600), "{:?}", outcome.took);
}

#[test]
fn a_cli_that_lingers_after_its_result_is_ended() {
    let outcome = Fake::new(["say done", "sleep 1000"]).run();
    assert_eq!(why_and_exit(&outcome), (Why::Lingered, killed_by(libc::SIGTERM)));
}

#[test]
fn a_driver_can_stop_the_run() {
    let outcome = Fake::new(["daemon", "say stop", "sleep 1000"]).run();
    assert_eq!(why_and_exit(&outcome), (Why::Stopped, killed_by(libc::SIGTERM)));
}

#[test]
fn a_cli_that_closes_its_output_and_goes_on_is_waited_for() {
    let outcome = Fake::new(["say one", "close", "sleep 0.5", "exit 4"]).run();
    assert_eq!(why_and_exit(&outcome), (Why::Exited, exited(4)));
    assert!(outcome.took >= Duration::from_millis(500));
}

#[test]
fn a_missing_program_is_an_error_of_its_own_and_leaves_nothing() {
    let error = Fake::new([])
        .launch(|launch| launch.program = "/no/such/program".into())
        .try_run()
        .err()
        .unwrap();
    assert_eq!(
        (error.step, error.failure().kind),
        (SpawnStep::Execute, ErrorKind::NotInstalled)
    );
}

#[test]
fn a_file_that_is_no_program_is_an_error_of_its_own() {
    let error = Fake::new([])
        .launch(|launch| launch.program = "/etc/passwd".into())
        .try_run()
        .err()
        .unwrap();
    assert_eq!(
        (error.step, error.failure().kind),
        (SpawnStep::Execute, ErrorKind::NotExecutable)
    );
}

#[test]
fn a_missing_directory_is_a_usage_error() {
    let error = Fake::new([])
        .launch(|launch| launch.cwd = "/no/such/directory".into())
        .try_run()
        .err()
        .unwrap();
    assert_eq!(
        (error.step, error.failure().kind),
        (SpawnStep::Directory, ErrorKind::Usage)
    );
}

#[test]
fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "echo \"$1 from a shell\"\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = Fake::new(["hello"]).launch(|launch| launch.program = script).run();
    assert_eq!(outcome.said(), ["hello from a shell"]);
}

#[test]
fn the_cli_is_told_where_it_works() {
    let directory = tempfile::tempdir().unwrap().keep().canonicalize().unwrap();
    let path = directory.clone();
    let outcome = Fake::new(["cwd", "env PWD"]).launch(|launch| launch.cwd = path).run();
    let expected = directory.to_str().unwrap();
    assert_eq!(outcome.said(), [expected, expected]);
    std::fs::remove_dir(directory).unwrap();
}

#[test]
fn a_dropped_run_leaves_nothing() {
    use super::fake::{PATIENCE, Recorder, eventually, new_token, survivors};
    use agentctl::supervise::{Limits, Run, SignalPolicy, run};
    let (name, token) = new_token();
    let env = [(name.into(), token.clone().into())].into();
    let launch = agentctl::backend::Launch {
        program: example("fake_agent"),
        args: vec!["daemon".into(), "stubborn".into(), "sleep 1000".into()],
        env: Vec::new(),
        env_file: None,
        cwd: "/".into(),
        stdin: agentctl::backend::Stdin::Closed,
        files: Vec::new(),
        stop: Stop::Terminate,
    };
    let mut seen = Recorder::default();
    let of_fake = Run {
        launch: &launch,
        env: &env,
        limits: &Limits::default(),
        signals: SignalPolicy::Leave,
        keep_open: None,
        scratch: None,
        output_closed: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let cut =
        runtime.block_on(async { tokio::time::timeout(Duration::from_millis(500), run(of_fake, &mut seen)).await });
    assert!(cut.is_err());
    eventually("no survivor", PATIENCE, || survivors(&token).is_empty());
}

#[test]
fn a_guard_that_does_not_end_holds_up_nobody_else() {
    use super::fake::{PATIENCE, Recorder, eventually, new_token, survivors};
    use agentctl::supervise::{Limits, Run, SignalPolicy, run};
    use std::cell::Cell;
    use std::time::Instant;
    let (name, token) = new_token();
    let env = [(name.into(), token.clone().into())].into();
    let launch = agentctl::backend::Launch {
        program: example("fake_agent"),
        args: vec!["sleep 1000".into()],
        env: Vec::new(),
        env_file: None,
        cwd: "/".into(),
        stdin: agentctl::backend::Stdin::Closed,
        files: Vec::new(),
        stop: Stop::Terminate,
    };
    let limits = Limits {
        timeout: Some(Duration::from_millis(ENOUGH_TO_BEGIN)),
        grace: Duration::from_millis(100),
        ..Limits::default()
    };
    let mut seen = Recorder::default();
    let of_fake = Run {
        launch: &launch,
        env: &env,
        limits: &limits,
        signals: SignalPolicy::Leave,
        keep_open: None,
        scratch: None,
        output_closed: None,
    };
    let ended = Cell::new(false);
    let stuck = async {
        run(of_fake, &mut seen).await.unwrap();
        ended.set(true);
    };
    let sibling = async {
        let agent = loop {
            match survivors(&token).first() {
                Some(agent) => break *agent,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        let stat = std::fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
        let guard: i32 = stat
            .rsplit_once(") ")
            .unwrap()
            .1
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        // SAFETY: the guard of our own run.
        unsafe { libc::kill(guard, libc::SIGSTOP) };
        let mut longest = Duration::ZERO;
        while !ended.get() {
            let before = Instant::now();
            tokio::time::sleep(Duration::from_millis(20)).await;
            longest = longest.max(before.elapsed());
        }
        // SAFETY: as above; it is not reaped while it is stopped.
        unsafe { libc::kill(guard, libc::SIGCONT) };
        longest
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ((), longest) = runtime.block_on(async { tokio::join!(stuck, sibling) });
    assert!(longest < Duration::from_millis(1900), "{longest:?}");
    eventually("no survivor", PATIENCE, || survivors(&token).is_empty());
}

#[test]
fn many_programs_are_asked_side_by_side_within_their_caps() {
    use agentctl::supervise::{Probe, ProbeEnd, probe};
    let program = example("fake_agent");
    let env = std::env::vars_os().collect();
    let ask = |steps: &[&str]| {
        let args: Vec<std::ffi::OsString> = steps.iter().map(Into::into).collect();
        let (program, env) = (&program, &env);
        async move {
            let question = Probe {
                program,
                args: &args,
                env,
                cwd: std::path::Path::new("/"),
                timeout: Duration::from_secs(2),
                output_cap: 64 << 10,
            };
            probe(question).await.unwrap()
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (version, endless, silent, stubborn) = runtime.block_on(async {
        tokio::join!(
            ask(&["say 1.2.3", "err warning", "exit 0"]),
            ask(&["flood 1000000000"]),
            ask(&["half x", "sleep 1000"]),
            ask(&["ignore TERM", "daemon", "sleep 1000"]),
        )
    });
    assert_eq!((version.end, version.exit.code), (ProbeEnd::Complete, Some(0)));
    assert_eq!(
        (version.stdout.as_str(), version.stderr.as_str()),
        ("1.2.3\n", "warning\n")
    );
    assert_eq!(endless.end, ProbeEnd::Capped);
    assert!(endless.stdout.len() <= (64 << 10) + 1);
    assert_eq!((silent.end, silent.stdout.as_str()), (ProbeEnd::TimedOut, "x\n"));
    assert_eq!(stubborn.end, ProbeEnd::TimedOut);
}
