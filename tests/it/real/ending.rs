//! However a run ends, nothing is left running, the result is told, and the conversation can be taken up again.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::{LONG, Turn, ask, calls, resume, run};
use crate::model::{Model, Request, recall, shell, silence, text};
use crate::wait::{comes_true, eventually};
use crate::world::{Cli, Outcome, World, for_every_cli};

for_every_cli! {
    interrupted_during_a_tool,
    terminated_twice_during_a_tool,
    timeout_during_a_tool,
    silence_of_the_model,
    killed_during_a_tool,
    closed_output,
}

/// A tool that starts others, one of them in a session of its own, says so, and does not end.
fn endless_tool(world: &World) -> (PathBuf, String) {
    let started = world.project().join("started");
    let command = "sleep 600 & setsid sleep 600 & touch started; sleep 600".to_owned();
    (started, command)
}

/// The kernel may take a moment to bury what was killed.
const BURIAL: Duration = Duration::from_secs(2);

/// Nothing of the world is alive.
fn nothing_survives(world: &World, outcome: &Outcome) {
    nothing_survives_for(world, outcome, BURIAL);
}

fn nothing_survives_for(world: &World, outcome: &Outcome, patience: Duration) {
    comes_true(patience, || world.survivors().is_empty());
    let survivors = world.survivors();
    outcome.check(survivors.is_empty(), &format!("no survivor, not {survivors:?}"));
}

/// The result tells the conversation and the reason; and the conversation goes on.
fn tells_and_goes_on(world: &World, outcome: Outcome, kind: &str) {
    nothing_survives(world, &outcome);
    let turn = Turn::of(outcome);
    turn.is("isError", true);
    turn.check(
        turn.result()["error"]["kind"] == kind,
        &format!("the kind of error is {kind}"),
    );
    turn.check(turn.joined("text").contains("let me see"), "what was said is kept");
    turn.check(turn.result()["sessionId"] != Value::Null, "the conversation is told");
    world.model().push(recall());
    let again = ask(resume(world, turn.key()), "and now?");
    again.check(again.answer().contains("start it"), "it remembers");
    again.is("resumed", "resumed");
}

fn interrupted_during_a_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let (started, command) = endless_tool(&world);
    model.push(text("let me see").and(shell(command)));
    let running = run(&world, cli).stdin("start it").spawn();
    eventually("the tool is at work", LONG, || started.exists());
    running.signal(Signal::INT);
    tells_and_goes_on(&world, running.wait().exits(130), "interrupted");
}

fn terminated_twice_during_a_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let (started, command) = endless_tool(&world);
    model.push(text("let me see").and(shell(command)));
    let running = run(&world, cli).stdin("start it").spawn();
    eventually("the tool is at work", LONG, || started.exists());
    running.signal(Signal::TERM);
    running.signal(Signal::TERM);
    let outcome = running.wait().exits(143);
    nothing_survives(&world, &outcome);
    let turn = Turn::of(outcome);
    turn.check(turn.result()["error"]["kind"] == "interrupted", "it was interrupted");
    turn.check(turn.result()["sessionId"] != Value::Null, "the conversation is told");
}

/// Timeouts to try in turn. On a busy machine a short one is over before the CLI has got anywhere, and then it proves
/// nothing of what was to be proven.
const TIMEOUTS: [&str; 3] = ["8s", "25s", "80s"];

fn timeout_during_a_tool(cli: Cli) {
    for timeout in TIMEOUTS {
        // Codex does not wait for a long command: it may ask the model meanwhile.
        let meanwhile = move |request: &Request| (cli == Cli::Codex && request.is_after_tool()).then(silence);
        let model = Model::start().on(meanwhile);
        let world = World::new(&model);
        let (started, command) = endless_tool(&world);
        model.push(text("let me see").and(shell(command)));
        let run = run(&world, cli).args(["--timeout", timeout]);
        let outcome = run.stdin("start it").run().exits(124);
        nothing_survives(&world, &outcome);
        let turn = Turn::of(outcome);
        turn.is("responseText", "Query timed out");
        if started.exists() {
            return tells_and_goes_on(&world, turn.outcome, "timeout");
        }
    }
    panic!("the tool was not running within {TIMEOUTS:?}");
}

fn silence_of_the_model(cli: Cli) {
    for timeout in TIMEOUTS {
        let model = Model::start().then(silence());
        let world = World::new(&model);
        let run = run(&world, cli).args(["--idle-timeout", timeout]);
        let outcome = run.stdin("hello").run().exits(124);
        nothing_survives(&world, &outcome);
        let turn = Turn::of(outcome);
        turn.check(
            turn.result()["error"]["kind"] == "idle_timeout",
            "the kind of error is idle_timeout",
        );
        if calls(&model) > 0 {
            return;
        }
    }
    panic!("the model was not asked within {TIMEOUTS:?}");
}

fn killed_during_a_tool(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let (started, command) = endless_tool(&world);
    model.push(text("let me see").and(shell(command)));
    let running = run(&world, cli).stdin("start it").spawn();
    eventually("the tool is at work", LONG, || started.exists());
    // The CLIs write down what was said a moment after they heard it, and nobody asks them to hurry: the kill hits all.
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::KILL);
    let outcome = running.wait();
    outcome.check(outcome.signal() == Some(9), "agentctl was killed");
    // Who cleans up now is its guard, and nobody waits for that.
    nothing_survives_for(&world, &outcome, 10 * BURIAL);
    model.push(recall());
    let again = ask(resume(&world, "--last"), "and now?");
    again.check(
        again.answer().contains("start it"),
        "the conversation was stored, and goes on",
    );
}

fn closed_output(cli: Cli) {
    let model = Model::start().then(text("one two three").and(shell("sleep 600")));
    let world = World::new(&model);
    let script = "\"$0\" run -b \"$1\" -o stream-json prompt | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}";
    let program = env!("CARGO_BIN_EXE_agentctl");
    let outcome = world
        .program("bash", ["-c", script, program, cli.name()])
        .run()
        .exits(0);
    nothing_survives(&world, &outcome);
    outcome.check(!outcome.stderr().contains("error"), "it ends quietly");
    outcome.stdout_is("130\n");
}
