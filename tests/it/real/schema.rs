//! Answers that must fit a JSON Schema: they do, they are mended, or the run fails.

use std::path::PathBuf;

use serde_json::json;

use super::{ask, calls, refused, run};
use crate::model::{Model, json as say, text};
use crate::world::{Cli, Run, World, for_every_cli};

for_every_cli! {
    an_answer_that_fits,
    an_answer_that_is_mended,
    an_answer_that_never_fits,
}

fn asking<'a>(world: &'a World<'a>, cli: Cli) -> Run<'a> {
    run(world, cli).arg("--schema").arg(schema(world))
}

fn schema(world: &World<'_>) -> PathBuf {
    let schema = json!({
        "type": "object", "properties": {"plums": {"type": "integer"}}, "required": ["plums"], "additionalProperties": false,
    });
    world.write("plums.schema.json", schema.to_string())
}

fn an_answer_that_fits(cli: Cli) {
    let model = Model::start().then(say(json!({"plums": 3})));
    let world = World::new(&model);
    let turn = ask(asking(&world, cli), "how many plums?");
    turn.is("structured", json!({"plums": 3}));
    let told: serde_json::Value = serde_json::from_str(turn.answer()).unwrap_or_default();
    turn.check(told == json!({"plums": 3}), "the answer is the JSON, and nothing else");
    let request = model.requests()[0].body.to_string();
    turn.check(request.contains("plums"), "the model knows the schema");
    turn.has_no_warnings();
}

fn an_answer_that_is_mended(cli: Cli) {
    let model = Model::start()
        .then(text("there are three plums"))
        .then(say(json!({"plums": 3})));
    let world = World::new(&model);
    let turn = ask(asking(&world, cli), "how many plums?");
    turn.is("structured", json!({"plums": 3}));
    turn.is("resumed", "fresh");
    turn.check(calls(&model) >= 2, "the model was asked again");
    // Claude Code asks again by itself.
    if cli != Cli::Claude {
        turn.warns("asking again");
    }
}

fn an_answer_that_never_fits(cli: Cli) {
    let model = Model::start().then(text("there are three plums"));
    let world = World::new(&model);
    let turn = refused(asking(&world, cli), "how many plums?", 10, "schema_mismatch");
    turn.is("structured", serde_json::Value::Null);
    turn.is("responseText", "there are three plums");
    turn.check(calls(&model) >= 2, "the model was asked again");
}
