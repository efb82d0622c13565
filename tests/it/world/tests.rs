//! The world by itself, with the system's own programs: what it promises to every test that builds on it.

use std::time::Duration;

use crate::model::{Model, ms};
#[cfg(target_os = "linux")]
use crate::wait::eventually;

use super::*;

fn shell<'a>(world: &'a World<'a>, script: &str) -> Run<'a> {
    world.program("/bin/sh", ["-c", script])
}

#[test]
fn nothing_of_the_machine_reaches_a_program() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = shell(&world, "env").run().exits(0);
    let home = format!("HOME={}", world.home().display());
    let lines = outcome.stdout();
    assert!(lines.lines().any(|line| line == home), "{lines}");
    assert!(
        lines.contains(&format!("ANTHROPIC_BASE_URL={}", model.url())),
        "{lines}"
    );
    assert!(!lines.contains("CARGO"), "{lines}");
}

#[test]
fn a_program_runs_in_the_project_with_its_input_output_and_exit_code() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = shell(&world, "pwd; cat; echo problem >&2; exit 3")
        .stdin("given\n")
        .run();
    let wanted = format!("{}\ngiven\n", world.project().display());
    let outcome = outcome
        .exits(3)
        .stdout_is(&wanted)
        .stdout_has("given")
        .stderr_has("problem");
    assert_eq!(outcome.stdout_bytes(), wanted.as_bytes());
    let file = world.write("sub/file", "kept");
    let folder = file.parent().expect("a folder");
    shell(&world, "cat file")
        .cwd(folder)
        .run()
        .exits(0)
        .stdout_is("kept")
        .stderr_is_empty();
}

#[test]
fn agentctl_itself_starts_in_a_world() {
    let model = Model::start();
    let world = World::new(&model);
    world.agentctl(["--version"]).run().exits(0);
}

#[test]
fn variables_can_be_set_and_removed_for_one_run_or_for_all() {
    let model = Model::start();
    let mut world = World::new(&model);
    world.set_env("FOR_ALL", "1");
    let run = shell(&world, "echo $FOR_ALL$FOR_ONE$MOCK_KEY")
        .env("FOR_ONE", "2")
        .env_remove("MOCK_KEY");
    run.run().exits(0).stdout_is("12\n");
}

#[test]
fn json_on_stdout_is_read_whole_or_by_line() {
    let model = Model::start();
    let world = World::new(&model);
    let lines = shell(&world, r#"echo '{"a":1}'; echo '{"a":2}'"#)
        .run()
        .exits(0)
        .json_lines();
    assert_eq!(lines[1]["a"], 2);
    assert_eq!(shell(&world, r#"echo '{"a":1}'"#).run().json()["a"], 1);
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_all_it_started() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = shell(&world, "setsid sleep 300 & sleep 300").patience(ms(300)).run();
    assert!(outcome.timed_out());
    assert_eq!(outcome.code(), None);
    #[cfg(target_os = "linux")]
    assert_eq!(world.survivors(), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn a_survivor_is_found_even_in_a_session_of_its_own() {
    let model = Model::start();
    let world = World::new(&model);
    shell(&world, "setsid sleep 300 >/dev/null 2>&1 &").run().exits(0);
    // While a process becomes another program it has no environment to be known by.
    eventually("it is found", Duration::from_secs(20), || {
        let survivors = world.survivors();
        survivors.iter().any(|survivor| survivor.contains("sleep 300"))
    });
}

#[test]
fn a_running_program_can_be_watched_fed_and_signalled() {
    let model = Model::start();
    let world = World::new(&model);
    let script =
        "trap 'echo told; exit 7' TERM; echo ready; read line; echo \"got $line\"; while :; do sleep 0.05; done";
    let mut running = shell(&world, script).hold_stdin().spawn();
    assert!(running.pid() > 1);
    assert!(running.wait_for_stdout("ready", Duration::from_secs(20)));
    std::io::Write::write_all(running.stdin().as_mut().expect("a held pipe"), b"word\n").expect("it reads");
    assert!(running.wait_for_stdout("got word", Duration::from_secs(20)));
    assert!(!running.stdout_so_far().contains("told"));
    running.signal(rustix::process::Signal::TERM);
    let outcome = running.wait().exits(7).stdout_has("told");
    assert_eq!(outcome.signal(), None);
}

#[test]
fn a_slow_reader_still_gets_everything() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = shell(&world, "head -c 200000 /dev/zero")
        .read_slowly(8192, ms(5))
        .run()
        .exits(0);
    assert_eq!(outcome.stdout_bytes().len(), 200_000);
}

#[test]
fn a_failed_assertion_shows_the_command_the_outputs_and_the_requests() {
    let model = Model::start();
    let world = World::new(&model);
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        shell(&world, "echo 'to out'; echo to err >&2").run().exits(9);
    }));
    let message = failed
        .expect_err("the exit code is 0")
        .downcast::<String>()
        .expect("a message");
    for part in [
        "expected: exit code 9",
        "env -i",
        "\"echo 'to out'",
        "to out",
        "to err",
        "requests:\n  (none)",
        "to run it again: AGENTCTL_REAL=require cargo test --test it -- --exact ",
    ] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[test]
fn a_snapshot_tells_what_changed() {
    let model = Model::start();
    let world = World::new(&model);
    let before = world.home_tree();
    assert_eq!(world.home_tree(), before);
    shell(
        &world,
        "cd; mkdir new cache; touch new/file cache/x; echo >> .codex/config.toml; rm .pi/agent/models.json",
    )
    .run()
    .exits(0);
    let changes = world.home_tree().changes_since(&before, &["cache"]);
    assert_eq!(
        changes,
        ["~ .codex/config.toml", "+ new", "+ new/file", "- .pi/agent/models.json"]
    );
}
