//! The five real CLIs, driven directly, against the scripted model: proof that both sides of the stage hold before
//! agentctl is put between them.

use std::fs;

use serde_json::{Value, json};

use crate::model::{Model, edit, mcp, read, recall, shell, text, thinking, write};
use crate::world::{Cli, Outcome, World, for_every_cli, real};

for_every_cli! {
    plain_answer,
    shell_tool,
    file_tools,
    mcp_tool,
    memory_over_a_resume,
}

/// One headless run with the prompt on stdin.
fn ask<'a>(world: &'a World<'a>, cli: Cli, prompt: &str) -> Outcome<'a> {
    world.cli(cli, cli.headless()).stdin(prompt).run()
}

fn plain_answer(cli: Cli) {
    let model = Model::start().then(thinking("let me see").and(text("the answer is 42")));
    let world = World::new(&model);
    let outcome = ask(&world, cli, "what is the answer?")
        .exits(0)
        .stdout_has("the answer is 42");
    let requests = model.requests();
    outcome.check(requests.len() == 1, "one turn");
    outcome.check(
        requests[0].user_texts() == ["what is the answer?"],
        "the prompt arrives as it is",
    );
}

fn shell_tool(cli: Cli) {
    let model = Model::start()
        .then(shell("echo made > by-shell; echo 'out''put'"))
        .then(text("done"));
    let world = World::new(&model);
    let outcome = ask(&world, cli, "run it").exits(0).stdout_has("done");
    let last = model.last_request();
    outcome.check(
        last.tool_results().iter().any(|result| result.text.contains("output")),
        "the model sees the output",
    );
    outcome.check(
        world.read("by-shell").as_deref() == Some("made\n"),
        "the command ran in the project",
    );
}

fn file_tools(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let path = world.project().join("notes.txt").to_string_lossy().into_owned();
    model.push(write(&path, "one\ntwo\n"));
    model.push(read(&path));
    model.push(edit(&path, "two", "three"));
    model.push(text("done"));
    let outcome = ask(&world, cli, "write it").exits(0).stdout_has("done");
    let results = model.last_request().tool_results().to_vec();
    outcome.check(results.len() == 3, "three tool results");
    outcome.check(results[1].text.contains("two"), "the file can be read");
    outcome.check(
        world.read("notes.txt").as_deref() == Some("one\nthree\n"),
        "the file is written, then changed",
    );
}

fn mcp_tool(cli: Cli) {
    let model = Model::start()
        .then(mcp("lookup", json!({"word": "plum"})))
        .then(text("done"));
    let world = World::new(&model);
    let config = world.mcp_config();
    let servers: Value = serde_json::from_slice(&fs::read(&config).expect("the file")).expect("JSON in it");
    let server = &servers["mcpServers"]["demo"];
    let run = world.cli(cli, cli.headless()).stdin("look it up");
    let run = match cli {
        Cli::Claude => run.arg("--mcp-config").arg(&config),
        Cli::Codex => run
            .arg("-c")
            .arg(format!("mcp_servers.demo={{command=\"node\",args={}}}", server["args"])),
        Cli::Gemini => {
            let path = world.home().join(".gemini/settings.json");
            let mut settings: Value =
                serde_json::from_slice(&fs::read(&path).expect("settings")).expect("JSON in them");
            settings["mcpServers"] = servers["mcpServers"].clone();
            fs::write(&path, settings.to_string()).expect("settings");
            run
        }
        Cli::OpenCode => {
            let command = json!(["node", server["args"][0]]);
            run.env(
                "OPENCODE_CONFIG_CONTENT",
                &json!({"mcp": {"demo": {"type": "local", "command": command}}}).to_string(),
            )
        }
        // Pi knows no MCP.
        Cli::Pi | Cli::Qwen => return,
    };
    let outcome = run.run().exits(0).stdout_has("done");
    let results = model.last_request().tool_results().to_vec();
    outcome.check(
        results.iter().any(|result| result.text.contains("found plum")),
        "the server answered",
    );
}

fn memory_over_a_resume(cli: Cli) {
    let model = Model::start().then(text("noted")).then(recall());
    let world = World::new(&model);
    ask(&world, cli, "the word is plum").exits(0).stdout_has("noted");
    let again = world
        .cli(cli, cli.headless())
        .args(cli.resume_last())
        .stdin("what was it?")
        .run();
    again.exits(0).stdout_has("the word is plum | what was it?");
}

#[test]
fn a_cli_that_is_not_built_in_can_be_driven_too() {
    if !real::is_on(Cli::Qwen) {
        return;
    }
    let model = Model::start().then(shell("echo made > by-shell")).then(text("done"));
    let world = World::new(&model);
    let outcome = ask(&world, Cli::Qwen, "run it").exits(0).stdout_has("done");
    outcome.check(
        world.read("by-shell").as_deref() == Some("made\n"),
        "the command ran in the project",
    );
    outcome.check(
        model.requests()[0].offers("run_shell_command"),
        "the shell tool is on offer",
    );
}
