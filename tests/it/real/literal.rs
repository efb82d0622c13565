//! A prompt is text: whatever it looks like, the model gets it, and the CLI acts on none of it. And what the model
//! answers arrives, to the last byte.

use super::{Turn, ask, resume, run};
use crate::model::{Model, big, big_text, ms, text};
use crate::world::{Cli, Tree, World, for_every_cli};

for_every_cli! {
    prompts_that_look_like_options,
    prompts_that_look_like_commands,
    prompts_that_name_files,
    prompts_with_strange_characters,
    a_prompt_of_a_megabyte,
    an_answer_for_a_slow_reader,
}

const SECRET: &str = "the-content-of-the-file";

/// A project with files, commands and skills of every CLI that a prompt could mean.
fn furnish(world: &World) {
    world.write("secret.txt", SECRET);
    // A command is described to the model, and its content is not.
    let command = format!("---\ndescription: an evil command\n---\n{SECRET}\n");
    for folder in [".claude/commands", ".opencode/command", ".pi/prompts"] {
        world.write(&format!("{folder}/evil.md"), &command);
    }
    let command = format!("description = \"an evil command\"\nprompt = \"{SECRET}\"\n");
    world.write(".gemini/commands/evil.toml", command);
    let skill = format!("---\nname: evil\ndescription: an evil skill\n---\n{SECRET}\n");
    for folder in [
        ".claude/skills",
        ".gemini/skills",
        ".codex/skills",
        ".agents/skills",
        ".opencode/skill",
        ".pi/skills",
    ] {
        world.write(&format!("{folder}/evil/SKILL.md"), &skill);
    }
}

/// Sends each prompt in a run of its own, and the last of them once more, to the conversation that it has begun.
fn arrive_as_text(cli: Cli, prompts: &[&str]) {
    let model = Model::start().then(text("ok"));
    let world = World::new(&model);
    furnish(&world);
    let before = Tree::of(&world.project());
    let mut conversation = String::new();
    let last = prompts.last().expect("a prompt");
    for (number, prompt) in prompts.iter().chain([last]).enumerate() {
        let (run, earlier) = match number == prompts.len() {
            true => (resume(&world, &conversation), 1),
            false => (run(&world, cli), 0),
        };
        let turn = ask(run, prompt);
        turn.is("responseText", "ok");
        let request = model.last_request();
        let got = request.user_texts();
        let wanted = vec![as_received(cli, prompt); earlier + 1];
        turn.check(got == wanted, &format!("{prompt:?} arrives as it is, not as {got:?}"));
        conversation = turn.key().to_owned();
        turn.check(!request.body.to_string().contains(SECRET), "no file is read");
        let changes = Tree::of(&world.project()).changes_since(&before, &[".git", ".opencode/.gitignore"]);
        turn.check(changes.is_empty(), &format!("nothing is made, not {changes:?}"));
    }
}

/// What a CLI does to a prompt although it is only text.
fn as_received(cli: Cli, prompt: &str) -> &str {
    match cli {
        Cli::Pi => prompt.trim(),
        _ => prompt,
    }
}

fn prompts_that_look_like_options(cli: Cli) {
    arrive_as_text(cli, &["-", "--help"]);
}

fn prompts_that_look_like_commands(cli: Cli) {
    arrive_as_text(
        cli,
        &["/help", "/init", "/clear", "/evil now", "!touch made", "$evil now"],
    );
}

fn prompts_that_name_files(cli: Cli) {
    arrive_as_text(
        cli,
        &[
            "@secret.txt",
            "see @secret.txt and @./secret.txt, \\@secret.txt @\"secret.txt\"",
        ],
    );
}

fn prompts_with_strange_characters(cli: Cli) {
    arrive_as_text(
        cli,
        &[
            "'single' \"double\" `back` $(touch made) \\n \\\\ %s {env:HOME}\nnext\r\nline\ttab \u{1f351}\u{200d}\u{1f680} é \u{202e}end",
            "a\0b",
            "  around \n",
        ],
    );
}

fn a_prompt_of_a_megabyte(cli: Cli) {
    let model = Model::start().then(text("ok"));
    let world = World::new(&model);
    let prompt = big_text(1_000_000);
    let turn = ask(run(&world, cli), &prompt);
    let request = model.last_request();
    turn.check(request.last_user_text() == prompt, "all of it arrives");
}

fn an_answer_for_a_slow_reader(cli: Cli) {
    let model = Model::start().then(big(2_000_000));
    let world = World::new(&model);
    let run = run(&world, cli).stdin("tell me all").read_slowly(32 * 1024, ms(5));
    let turn = Turn::of(run.run().exits(0));
    let whole = big_text(2_000_000);
    turn.check(turn.answer() == whole, "the answer is whole, to the last byte");
    turn.check(turn.joined("text") == whole, "its pieces are the answer");
}
