//! What the agent says, and how it reaches whoever reads it.

use agentctl::backend::Feature;
use serde_json::{Value, json};

use super::{LONG, Turn, ask, calls, can, is_known, run};
use crate::model::{Gate, Model, shell, text, thinking};
use crate::world::{Cli, World, for_every_cli};

for_every_cli! {
    the_three_formats_agree,
    streamed_answer,
    thoughts_are_told,
    text_around_tools,
    marker_and_media,
    a_recording_can_be_played_again,
}

fn the_three_formats_agree(cli: Cli) {
    let model = Model::start().then(text("the answer is 42"));
    let world = World::new(&model);
    let in_format = |format: &str| {
        let run = world.agentctl(["run", "-b", cli.name(), "-o", format, "what is the answer?"]);
        run.arg("--record").arg(world.exchange()).run().exits(0)
    };
    in_format("text").stdout_is("the answer is 42\n");
    let whole = Turn::of(in_format("json"));
    whole.check(whole.events.len() == 1, "one line");
    let streamed = Turn::of(in_format("stream-json"));
    streamed.check(
        streamed.joined("text") == "the answer is 42",
        "the pieces are the answer",
    );
    for turn in [&whole, &streamed] {
        turn.is("responseText", "the answer is 42");
        turn.is("isError", false);
        turn.is("backend", cli.name());
        turn.is("resumed", "fresh");
        turn.is("stopReason", "completed");
        turn.is("turns", 1);
        turn.is("toolCalls", 0);
        turn.is("exitCode", 0);
        turn.has_no_warnings();
        turn.check(turn.outcome.stderr().lines().all(is_known), "stderr has nothing else");
        turn.check(!turn.native_id().is_empty(), "the CLI told its session");
    }
    streamed.check(
        same_but_for_its_run(whole.result()) == same_but_for_its_run(streamed.result()),
        "both formats tell the same result",
    );
    let sessions = streamed.told("session");
    let same = |told: &&Value| {
        told["sessionId"] == streamed.result()["sessionId"] && told["session"] == streamed.result()["session"]
    };
    streamed.check(
        !sessions.is_empty() && sessions.iter().all(same),
        "the events and the result name the same conversation",
    );
    streamed.check(calls(&model) == 3, "one request a run");
    let prompts = model.requests();
    streamed.check(
        prompts
            .iter()
            .all(|request| request.user_texts() == ["what is the answer?"]),
        "the prompt arrives as it is",
    );
}

/// A result without what two equal runs may differ in.
fn same_but_for_its_run(result: &Value) -> Value {
    let mut result = result.clone();
    for field in ["session", "sessionId", "durationMs", "costUsd"] {
        result[field] = Value::Null;
    }
    result
}

fn streamed_answer(cli: Cli) {
    let gate = Gate::new();
    let model = Model::start().then(text("first second third").chunks(3).gated(&gate));
    let world = World::new(&model);
    let running = run(&world, cli).stdin("count").spawn();
    let mut early = true;
    if can(cli, Feature::Streaming) {
        // The model says the next piece only when the one before was read.
        for piece in ["first", "second"] {
            gate.open();
            early &= running.wait_for_stdout(&format!(r#""text":"{piece}"#), LONG);
        }
    }
    gate.open_wide();
    let turn = Turn::of(running.wait().exits(0));
    turn.check(early, "each piece arrives while the model is still talking");
    turn.is("responseText", "first second third");
    let pieces: Vec<_> = turn.told("text").iter().map(|event| event["text"].clone()).collect();
    let wanted = match can(cli, Feature::Streaming) {
        true => json!(["first ", "second", " third"]),
        false => json!(["first second third"]),
    };
    turn.check(json!(pieces) == wanted, &format!("the pieces are {wanted}"));
}

fn thoughts_are_told(cli: Cli) {
    let model = Model::start().then(thinking("let me see").and(text("seen")));
    let world = World::new(&model);
    let turn = ask(run(&world, cli), "look");
    turn.is("responseText", "seen");
    turn.check(turn.joined("text") == "seen", "thoughts are not text");
    let thoughts = turn.joined("thinking");
    if can(cli, Feature::Thinking) {
        turn.check(thoughts.contains("let me see"), "the thoughts are told");
    } else {
        turn.check(thoughts.is_empty(), "there are no thoughts to tell");
    }
}

fn text_around_tools(cli: Cli) {
    let model = Model::start()
        .then(text("before").and(shell("echo 'out''put'")))
        .then(text("after"));
    let world = World::new(&model);
    let turn = ask(run(&world, cli), "do it");
    turn.is("responseText", "after");
    turn.is("turns", 2);
    turn.is("toolCalls", 1);
    let order: Vec<&str> = turn
        .events
        .iter()
        .filter_map(|event| match event["type"].as_str() {
            Some("text") => event["text"].as_str().filter(|text| !text.trim().is_empty()),
            Some(kind @ ("tool_start" | "tool_end")) => Some(kind),
            _ => None,
        })
        .collect();
    let joined = order.join("");
    turn.check(
        joined == "beforetool_starttool_endafter",
        &format!("the events come as they happened, not {joined}"),
    );
}

fn marker_and_media(cli: Cli) {
    let said = "made it\nMEDIA:/tmp/plum.png\nORCHESTRA_COMPLETE";
    let model = Model::start().then(text(said).chunks(9));
    let world = World::new(&model);
    let turn = ask(run(&world, cli).args(["--marker", "--media"]), "make it");
    turn.is("markerDetected", true);
    turn.is("media", json!(["/tmp/plum.png"]));
    turn.is("responseText", "made it\nORCHESTRA_COMPLETE");
}

fn a_recording_can_be_played_again(cli: Cli) {
    let model = Model::start()
        .then(thinking("hmm").and(shell("echo hello")))
        .then(text("done"));
    let world = World::new(&model);
    let recording = world.exchange();
    let first = world.agentctl(["run", "-b", cli.name(), "-o", "stream-json", "do it", "--record"]);
    let first = Turn::of(first.arg(&recording).run().exits(0));
    first.check(first.tools() == ["bash"], "a tool ran");

    let option = format!("transcript={}", recording.display());
    let again = world.agentctl(["run", "-b", "mock", "-o", "stream-json", "do it", "--option", &option]);
    let again = Turn::of(again.run().exits(0));
    again.is("backend", "mock");
    again.check(
        without_the_run(&first.events) == without_the_run(&again.events),
        "the same events",
    );
    again.check(calls(&model) == 2, "nobody asked the model again");
}

/// Events without what belongs to the run that told them.
fn without_the_run(events: &[Value]) -> Vec<Value> {
    let mut events = events.to_vec();
    for event in &mut events {
        for field in ["session", "durationMs", "backend"] {
            if event.get(field).is_some() {
                event[field] = Value::Null;
            }
        }
    }
    events
}
