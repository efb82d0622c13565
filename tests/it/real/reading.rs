//! What an agent that may only read can read, and tell. The README's advice for prompts of strangers rests on it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Turn, run};
use crate::model::{Model, read, shell, text, tool};
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
    symlink(&outside, world.project().join("link")).expect("a link in the project");
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
    assert_eq!(told.contains(LINKED), !confines_reading(cli), "{told}");
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

#[test]
fn no_tool_of_opencode_and_no_words_for_agents_lead_outside() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    for level in ["read-only", "edit"] {
        let model = Model::start();
        let world = World::new(&model);
        let outside = world.project().with_file_name("outside");
        fs::create_dir(&outside).expect("a folder of the world");
        fs::write(outside.join("hidden.txt"), SECRET).expect("a file of the world");
        world.write("kept/inside.txt", "the cake is not here\n");
        world.write("words/near.txt", "near\n");
        world.write("words/CONTEXT.md", "the words are kind\n");
        world.write("trap/near.txt", "near\n");
        let project = world.project();
        for (to, name) in [
            (outside.clone(), "link"),
            (outside.join("hidden.txt"), "file"),
            (outside.join("hidden.txt"), "AGENTS.md"),
            (outside.join("hidden.txt"), "trap/AGENTS.md"),
            (project.join("kept"), "folder-inside"),
        ] {
            symlink(to, project.join(name)).expect("a link in the project");
        }
        let refused = [
            tool("read", json!({"filePath": "link"})),
            tool("read", json!({"filePath": "file"})),
            tool("read", json!({"filePath": "../outside/hidden.txt"})),
            tool("read", json!({"filePath": "trap/near.txt"})),
            tool("grep", json!({"pattern": "cake", "path": "link"})),
            tool("grep", json!({"pattern": "cake", "path": "file"})),
            tool(
                "grep",
                json!({"pattern": "cake", "path": project.join("link/hidden.txt")}),
            ),
            tool("glob", json!({"pattern": "*", "path": "link"})),
            tool(
                "glob",
                json!({"pattern": "*", "path": project.join("folder-inside/../link")}),
            ),
        ];
        let harmless = [
            tool("grep", json!({"pattern": "cake"})),
            tool("grep", json!({"pattern": "cake", "include": "link/**"})),
            tool("glob", json!({"pattern": "link/*"})),
            tool("glob", json!({"pattern": "../outside/*", "path": ""})),
            tool("read", json!({"filePath": "folder-inside/inside.txt"})),
            tool("read", json!({"filePath": "words/near.txt"})),
        ];
        let expected = refused.len();
        let calls = refused.len() + harmless.len();
        for step in refused.into_iter().chain(harmless).chain([text("done")]) {
            model.push(step);
        }
        let run = world.agentctl(["run", "-b", "opencode", "-P", level, "-o", "json"]);
        let outcome = run.stdin("look around").run();
        outcome.check(model.requests().len() == calls + 1, "every attempt is made");
        let requests = format!("{:?}", model.requests());
        outcome.check(!requests.contains(SECRET), "no secret is told");
        outcome.check(!requests.contains("outside/hidden.txt:"), "no secret is found");
        outcome.check(requests.contains("the cake is not here"), "what is inside is read");
        outcome.check(
            requests.contains("the words are kind"),
            "words for agents inside are read",
        );
        let denied = outcome.json()["deniedTools"].as_array().map_or(0, Vec::len);
        outcome.check(denied == expected, "every attempt is told as refused");
    }
}

#[test]
fn words_for_agents_that_are_a_link_out_do_not_reach_opencode_without_tools_either() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    let secret = world.project().with_file_name("hidden.txt");
    fs::write(&secret, SECRET).expect("a file of the world");
    symlink(&secret, world.project().join("AGENTS.md")).expect("a link in the project");
    model.push(text("done"));
    let run = run(&world, Cli::OpenCode).args(["-P", "read-only", "--deny-tool", "read", "--deny-tool", "search"]);
    let outcome = run.stdin("look around").run().exits(0);
    outcome.check(!format!("{:?}", model.requests()).contains(SECRET), "no secret is told");
}

#[test]
fn words_for_agents_in_the_project_reach_opencode_at_every_level() {
    if !real::is_on(Cli::OpenCode) {
        return;
    }
    for level in ["read-only", "edit", "full"] {
        let model = Model::start();
        let world = World::new(&model);
        world.write("AGENTS.md", "the ants are to be spared\n");
        model.push(text("done"));
        let run = run(&world, Cli::OpenCode).args(["-P", level]);
        let outcome = run.stdin("look around").run().exits(0);
        let requests = format!("{:?}", model.requests());
        outcome.check(requests.contains("the ants are to be spared"), level);
    }
}
