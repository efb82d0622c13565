//! How much: turns, tokens, and many runs at once.

use agentctl::backend::Feature;

use super::{LONG, Turn, ask, calls, can, refused, resume, run, steady_model, usage};
use crate::model::{Model, recall, shell, text};
use crate::world::{Cli, World, for_every_cli};

for_every_cli! {
    turn_limit,
    usage_means_the_same_everywhere,
    eight_runs_at_once,
}

fn turn_limit(cli: Cli) {
    let model = Model::start().forever(shell("echo again"));
    let world = World::new(&model);
    let first = refused(
        run(&world, cli).args(["--max-turns", "3"]),
        "the word is plum",
        6,
        "turn_limit",
    );
    first.is("stopReason", "turn_limit");
    first.is("turns", 3);
    // Where agentctl counts, it stops the CLI when the fourth begins.
    first.check((3..=4).contains(&calls(&model)), "three turns, and no more");
    first.check(world.survivors().is_empty(), "nothing is left of it");

    model.push(recall());
    let second = ask(resume(&world, first.key()), "go on");
    second.is("resumed", "resumed");
    let answer = second.answer();
    second.check(
        answer.starts_with("the word is plum") && answer.ends_with("go on"),
        "the conversation can go on",
    );
}

fn usage_means_the_same_everywhere(cli: Cli) {
    let model = Model::start().then(shell("echo hello")).then(text("done"));
    let world = World::new(&model);
    let turn = ask(run(&world, cli).args(steady_model(cli)), "do it");
    turn.is("usage", usage(cli, 2));
    let events = turn.told("usage");
    turn.check(
        events
            .last()
            .is_some_and(|event| event["usage"] == turn.result()["usage"]),
        "the last event has the sum",
    );
    let totals: Vec<_> = events
        .iter()
        .map(|event| event["usage"]["totalTokens"].as_u64())
        .collect();
    turn.check(totals.is_sorted(), "usage only grows");
    let cost = turn.result()["costUsd"].as_f64();
    turn.check(
        cost.is_none_or(|cost| can(cli, Feature::Cost) && cost >= 0.0),
        "a cost is told only where the CLI knows it",
    );
}

fn eight_runs_at_once(cli: Cli) {
    let model = Model::start().on(|request| Some(recall()).filter(|_| !request.user_texts().is_empty()));
    let world = World::new(&model);
    let prompt = |number: usize| format!("this is run {number}");
    let running: Vec<_> = (0..8)
        .map(|number| run(&world, cli).stdin(prompt(number)).patience(2 * LONG).spawn())
        .collect();
    let turns: Vec<_> = running
        .into_iter()
        .map(|running| Turn::of(running.wait().exits(0)))
        .collect();
    for (number, turn) in turns.iter().enumerate() {
        turn.is("responseText", prompt(number));
        let same = |other: &&Turn<'_>| other.key() == turn.key() || other.native_id() == turn.native_id();
        turn.check(
            turns.iter().filter(same).count() == 1,
            "each is a conversation of its own",
        );
    }
    let listed = world.agentctl(["sessions", "list", "--json"]).run().exits(0);
    listed.check(
        listed.json().as_array().is_some_and(|all| all.len() == 8),
        "all are kept",
    );
}
