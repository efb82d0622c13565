//! What goes wrong between a CLI and its model, told as one kind of error with one exit code, and soon.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Turn, calls, can, refused, run};
use crate::model::{Model, status, text};
use crate::world::{Cli, Run, World, for_every_cli};
use agentctl::backend::Feature;

for_every_cli! {
    unauthorized,
    rate_limited,
    patience_in_time,
    server_error,
    overloaded,
    dropped_stream,
    network_gone,
    context_too_long,
    empty_answer,
    no_credentials,
}

/// Much less than the minutes for which the CLIs would go on by themselves.
const SOON: Duration = Duration::from_secs(60);

/// A run in which the CLI has its own patience, not the little that the world gives it.
fn patient<'a>(world: &'a World<'a>, cli: Cli) -> Run<'a> {
    run(world, cli).env_remove("CLAUDE_CODE_MAX_RETRIES").patience(SOON)
}

fn unauthorized(cli: Cli) {
    let model = Model::start().then(status(401));
    let world = World::new(&model);
    let turn = refused(patient(&world, cli), "hello", 4, "auth");
    turn.check(error(&turn)["retryable"] == false, "trying again is of no use");
    turn.check(error(&turn)["hint"].is_string(), "there is a hint");
    turn.check(calls(&model) <= 3, "it is not tried over and over");
}

fn rate_limited(cli: Cli) {
    let step = status(429).header("retry-after", "1").header("retry-after-ms", "100");
    let model = Model::start().then(step);
    let world = World::new(&model);
    let turn = refused(
        patient(&world, cli).args(["--max-retries", "1"]),
        "hello",
        5,
        "rate_limit",
    );
    turn.check(error(&turn)["retryable"] == true, "trying again later is of use");
    turn.check(!turn.told("retry").is_empty(), "the retry is told");
    turn.check(calls(&model) <= 4, "it is tried again once, or nearly so");
}

fn patience_in_time(cli: Cli) {
    let step = status(429).header("retry-after", "2").header("retry-after-ms", "2000");
    let model = Model::start().then(step);
    let world = World::new(&model);
    refused(
        patient(&world, cli).args(["--retry-for", "3s"]),
        "hello",
        5,
        "rate_limit",
    );
}

fn server_error(cli: Cli) {
    let model = Model::start().then(status(500).header("retry-after-ms", "100"));
    let world = World::new(&model);
    refused(
        patient(&world, cli).args(["--max-retries", "1"]),
        "hello",
        5,
        "overloaded",
    );
}

fn overloaded(cli: Cli) {
    let model = Model::start().then(status(529).header("retry-after-ms", "100"));
    let world = World::new(&model);
    refused(
        patient(&world, cli).args(["--max-retries", "0"]),
        "hello",
        5,
        "overloaded",
    );
}

fn dropped_stream(cli: Cli) {
    let model = Model::start().then(text("half of the ans").then_drop());
    let world = World::new(&model);
    let turn = refused(patient(&world, cli).args(["--max-retries", "1"]), "hello", 1, "network");
    if can(cli, Feature::Streaming) {
        turn.check(turn.joined("text").contains("half"), "what arrived is kept");
    }
}

fn network_gone(cli: Cli) {
    let model = Model::start();
    let mut world = World::new(&model);
    point_nowhere(&mut world);
    let turn = refused(patient(&world, cli).args(["--max-retries", "1"]), "hello", 1, "network");
    turn.check(error(&turn)["retryable"] == true, "trying again later is of use");
}

fn context_too_long(cli: Cli) {
    let model = Model::start().then(status(400).body(too_long(cli).to_string()));
    let world = World::new(&model);
    refused(
        patient(&world, cli).args(["--max-retries", "0"]),
        "hello",
        1,
        "context_length",
    );
}

/// How each vendor says that the prompt does not fit.
fn too_long(cli: Cli) -> Value {
    match cli {
        Cli::Claude => json!({"type": "error", "error": {
            "type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum",
        }}),
        Cli::Gemini => json!({"error": {
            "code": 400, "status": "INVALID_ARGUMENT",
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        }}),
        _ => json!({"error": {
            "type": "invalid_request_error", "code": "context_length_exceeded",
            "message": "This model's maximum context length is 128000 tokens, however you requested 250000 tokens.",
        }}),
    }
}

fn empty_answer(cli: Cli) {
    let model = Model::start().then(text(""));
    let world = World::new(&model);
    let turn = refused(patient(&world, cli).args(["--max-retries", "0"]), "hello", 1, "agent");
    turn.check(error(&turn)["message"].is_string(), "it is said");
}

fn no_credentials(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let mut run = patient(&world, cli).args(["--max-retries", "0"]);
    for name in ["ANTHROPIC_API_KEY", "MOCK_KEY", "GEMINI_API_KEY"] {
        run = run.env_remove(name);
    }
    match cli {
        // A provider of one's own may need no key; one that it knows does.
        Cli::OpenCode => run = run.args(["-m", "anthropic/claude-sonnet-4-5"]),
        _ => change(&world, r#""apiKey": "dummy","#, ""),
    }
    let turn = match cli {
        // It knows no models of a provider without a key.
        Cli::OpenCode => refused(run, "hello", 1, "invalid_request"),
        _ => refused(run, "hello", 4, "auth"),
    };
    turn.check(error(&turn)["hint"].is_string(), "there is a hint");
    turn.check(calls(&model) == 0, "nobody is asked");
}

fn error<'a>(turn: &'a Turn) -> &'a Value {
    &turn.result()["error"]
}

/// Points every CLI at a port on which nobody listens.
fn point_nowhere(world: &mut World) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let nowhere = format!("http://{}", listener.local_addr().expect("its address"));
    let model = world.model().url();
    let pointing: Vec<_> = world
        .environment()
        .iter()
        .filter(|(_, value)| **value == model)
        .map(|(name, _)| name.clone())
        .collect();
    for name in pointing {
        world.set_env(&name, &nowhere);
    }
    change(world, &model, &nowhere);
}

fn change(world: &World, old: &str, new: &str) {
    for name in [
        ".codex/config.toml",
        ".config/opencode/opencode.json",
        ".pi/agent/models.json",
    ] {
        let path = world.home().join(name);
        let text = fs::read_to_string(&path).expect("a configuration file");
        fs::write(&path, text.replace(old, new)).expect("a configuration file");
    }
}
