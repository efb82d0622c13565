//! What an agent that may only read can read, and tell. The README's advice for prompts of strangers rests on it.

use std::fs;

use super::{Turn, run};
use crate::model::{Model, read, shell, text};
use crate::world::{Cli, World, for_every_cli, real};

for_every_cli! {
    beyond_the_directory,
    nothing_without_the_tools,
}

const SECRET: &str = "the cake is in the cellar";
const LINKED: &str = "the cat is on the roof";
const KEY: &str = "the key is dummy";

/// Whether a CLI keeps those who may only read to the directories of the run. The others read whatever the user can.
fn confines_reading(cli: Cli) -> bool {
    matches!(cli, Cli::Claude | Cli::Gemini | Cli::OpenCode)
}

/// What the model got to know while it tried to read beyond the directory: one file by its path, another one through a
/// link of the project, and a variable.
fn learned(cli: Cli, arguments: &[&str]) -> String {
    let model = Model::start();
    let world = World::new(&model);
    let outside = world.project().with_file_name("outside");
    fs::create_dir(&outside).expect("a folder of the world");
    let secret = outside.join("secret.txt");
    fs::write(&secret, SECRET).expect("a file of the world");
    fs::write(outside.join("linked.txt"), LINKED).expect("a file of the world");
    std::os::unix::fs::symlink(&outside, world.project().join("link")).expect("a link in the project");
    let secret = secret.to_string_lossy().into_owned();
    let link = world.project().join("link/linked.txt").to_string_lossy().into_owned();
    for step in [
        read(&secret),
        read(&link),
        shell(format!("cat '{secret}'")),
        shell("echo \"the key is $MOCK_KEY, another one $ANTHROPIC_API_KEY.\""),
        text("done"),
    ] {
        model.push(step);
    }
    let run = run(&world, cli).args(["-P", "read-only"]).args(arguments);
    // Whether a refusal is a failure of the run is another question.
    let turn = Turn::of(run.stdin("look around").run());
    turn.check(turn.answer().ends_with("done"), "the model has tried everything");
    let requests = model.requests();
    let results = requests.last().map_or(&[][..], |request| request.tool_results());
    results.iter().map(|result| format!("{}\n", result.text)).collect()
}

fn beyond_the_directory(cli: Cli) {
    let told = learned(cli, &[]);
    assert_eq!(told.contains(SECRET), !confines_reading(cli), "{told}");
    // OpenCode looks at the path as it is written.
    let follows = !confines_reading(cli) || cli == Cli::OpenCode;
    assert_eq!(told.contains(LINKED), follows, "{told}");
    // Commands of Codex see what it sees, its key included.
    assert_eq!(told.contains(KEY), cli == Cli::Codex, "{told}");
}

fn nothing_without_the_tools(cli: Cli) {
    let told = learned(
        cli,
        &["--deny-tool", "read", "--deny-tool", "search", "--deny-tool", "bash"],
    );
    for known in [SECRET, LINKED, KEY] {
        assert!(!told.contains(known), "{told}");
    }
}

#[test]
fn commands_of_codex_see_no_more_variables_than_codex() {
    if !real::is_on(Cli::Codex) {
        return;
    }
    let told = learned(Cli::Codex, &["--env-clear", "--env-pass", "MOCK_KEY"]);
    assert!(told.contains("the key is dummy, another one ."), "{told}");
}
