//! What goes to the model with a prompt: instructions, identity, model, effort, attachments. The request is the proof.

use agentctl::backend::{Feature, SupportLevel};
use serde_json::{Value, json};

use super::{ask, resume, run, support};
use crate::model::{Model, Request, big_text, text};
use crate::world::{Cli, World, for_every_cli};

for_every_cli! {
    instructions_on_every_turn,
    instructions_instead_of_the_cli_s_own,
    instructions_of_a_megabyte,
    model_and_effort,
    attachments,
}

fn instructions_on_every_turn(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let said = ["--system", "Speak of plums.", "--identity", "You are Plum."];
    let first = ask(run(&world, cli).args(said), "hello");
    let request = model.last_request();
    first.check(
        request.system_text().contains("Speak of plums."),
        "the model is instructed",
    );
    first.check(
        request.user_texts() == ["You are Plum.\n\nhello"],
        "the identity goes before the first prompt",
    );
    first.has_no_warnings();

    let second = ask(resume(&world, first.key()), "again");
    let request = model.last_request();
    second.check(told(&request).contains("Speak of plums."), "the instructions are kept");
    second.check(
        request.last_user_text().ends_with("again") && !request.last_user_text().contains("You are Plum."),
        "the identity is not repeated",
    );

    let third = ask(resume(&world, first.key()).args(["-s", "Speak of pears."]), "once more");
    let request = model.last_request();
    third.check(
        told(&request).contains("Speak of pears."),
        "the instructions are changed",
    );
}

/// Everything that the model is told.
fn told(request: &Request) -> String {
    format!("{}\n{}", request.system_text(), request.user_texts().join("\n"))
}

fn instructions_instead_of_the_cli_s_own(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let own = ask(run(&world, cli), "hello");
    let before = model.last_request().system_text();
    let replaced = ask(
        run(&world, cli).args(["-s", "Speak of plums.", "--system-replace"]),
        "hello",
    );
    let after = model.last_request().system_text();
    own.check(before.len() > 1000, "the CLI has instructions of its own");
    replaced.has_no_warnings();
    replaced.check(after.contains("Speak of plums."), "the model is instructed");
    replaced.check(
        !after.contains(opening(cli, &before)),
        "the CLI's own instructions are gone",
    );
}

/// A sentence of the CLI's own instructions. (The one that names the SDK goes with every request of Claude Code.)
fn opening(cli: Cli, instructions: &str) -> &str {
    let line = instructions
        .lines()
        .find(|line| line.starts_with("You are ") && line.len() > 60 && !line.contains("Agent SDK"));
    line.unwrap_or_else(|| panic!("{} does not begin with who it is: {instructions}", cli.name()))
}

fn instructions_of_a_megabyte(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let mut instructions = big_text(1_000_000);
    instructions.push_str("\nThis is the end of it.\n");
    let file = world.write("instructions.md", &instructions);
    let turn = ask(run(&world, cli).arg("--system-file").arg(file), "hello");
    turn.is("responseText", "noted");
    match cli {
        Cli::Codex => turn.warns("it goes before the prompt instead"),
        _ => turn.has_no_warnings(),
    }
    let told = told(&model.last_request());
    turn.check(told.contains("This is the end of it."), "the last line arrives");
    turn.check(told.len() > 1_000_000, "and everything before it");
}

fn model_and_effort(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let (typed, asked) = match cli {
        Cli::Claude => ("claude-sonnet-4-6", "claude-sonnet-4-6"),
        Cli::Gemini => ("gemini-2.5-flash", "gemini-2.5-flash"),
        Cli::Codex => ("other-model", "other-model"),
        Cli::OpenCode | Cli::Pi | Cli::Qwen => ("mock/other-model", "other-model"),
    };
    let first = ask(run(&world, cli).args(["-m", typed, "--effort", "high"]), "hello");
    let again = ask(resume(&world, first.key()), "and again");
    for (turn, request) in [&first, &again].into_iter().zip(model.requests()) {
        turn.check(request.model() == asked, &format!("the model is {asked}"));
        let (effort, high) = effort(cli, &request.body);
        turn.check(*effort == high, &format!("the effort is {high}, not {effort}"));
    }
    if cli == Cli::OpenCode {
        first.warns("ignores --effort without a word");
    } else {
        first.has_no_warnings();
    }
}

/// Where a request says how hard to think, and what is high there.
fn effort(cli: Cli, body: &Value) -> (&Value, Value) {
    match cli {
        Cli::Claude => (&body["output_config"]["effort"], json!("high")),
        Cli::Codex => (&body["reasoning"]["effort"], json!("high")),
        Cli::Gemini => (
            &body["generationConfig"]["thinkingConfig"]["thinkingBudget"],
            json!(16384),
        ),
        Cli::OpenCode | Cli::Pi | Cli::Qwen => (&body["reasoning_effort"], json!("high")),
    }
}

fn attachments(cli: Cli) {
    let model = Model::start().then(text("seen"));
    let world = World::new(&model);
    let image = world.scratch().join("square.png");
    std::fs::write(&image, include_bytes!("square.png")).expect("an image");
    let notes = world.scratch().join("notes.txt");
    std::fs::write(&notes, "the word is quetschenpflaume\n").expect("a file");
    let turn = ask(
        run(&world, cli).arg("--attach").arg(&image).arg("--attach").arg(&notes),
        "what is there?",
    );
    turn.has_no_warnings();
    let request = model.last_request();
    turn.check(request.images() == 1, "the model sees the image");
    let told = request.body.to_string();
    match support(cli, Feature::AttachFile).level {
        SupportLevel::Native => turn.check(told.contains("quetschenpflaume"), "the model sees the text of the file"),
        _ => turn.check(told.contains("notes.txt"), "the model knows where the file is"),
    }
    turn.check(told.contains("what is there?"), "the prompt arrives");
}
