//! What the agent does: commands, files, MCP, the environment and the directories it does it in.

use std::fs;

use serde_json::json;

use super::{ask, run};
use crate::model::{Model, edit, mcp, read, shell, text, write};
use crate::world::{Cli, World, for_every_cli};

for_every_cli! {
    shell_tool,
    a_command_that_fails,
    file_tools,
    mcp_tool,
    added_directory,
    environment,
}

fn shell_tool(cli: Cli) {
    let model = Model::start()
        .then(shell("pwd; echo made > by-shell; echo 'out''put'"))
        .then(text("done"));
    let world = World::new(&model);
    let turn = ask(run(&world, cli), "run it");
    turn.is("responseText", "done");
    turn.is("toolCalls", 1);
    turn.is("turns", 2);
    turn.check(turn.tools() == ["bash"], "one command");
    let started = turn.told("tool_start")[0].clone();
    let ended = turn.told("tool_end")[0].clone();
    turn.check(started["id"] == ended["id"], "the end belongs to the start");
    turn.check(
        started["input"].to_string().contains("made > by-shell"),
        "the command is told",
    );
    turn.check(ended["output"].to_string().contains("output"), "its output is told");
    let results = model.last_request().tool_results().to_vec();
    turn.check(
        results.iter().any(|result| result.text.contains("output")),
        "the model sees the output",
    );
    let project = world.project().to_string_lossy().into_owned();
    turn.check(
        results.iter().any(|result| result.text.contains(&project)),
        "in the project",
    );
    turn.check(world.read("by-shell").as_deref() == Some("made\n"), "the command ran");
}

fn a_command_that_fails(cli: Cli) {
    let model = Model::start()
        .then(shell("echo 'br''oken' >&2; exit 3"))
        .then(text("too bad"));
    let world = World::new(&model);
    let turn = ask(run(&world, cli), "run it");
    turn.is("responseText", "too bad");
    turn.is("toolCalls", 1);
    let ended = turn.told("tool_end");
    // Gemini's stream does not tell a command that failed from one that worked.
    turn.check(
        ended.len() == 1 && ended[0]["ok"] == (cli == Cli::Gemini),
        "the command failed",
    );
    turn.check(ended[0]["denied"] == false, "it was not refused");
    turn.check(ended[0]["output"].to_string().contains("broken"), "its output is told");
}

fn file_tools(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let path = world.project().join("notes.txt").to_string_lossy().into_owned();
    model.push(write(&path, "one\ntwo\n"));
    model.push(read(&path));
    model.push(edit(&path, "two", "three"));
    model.push(text("done"));
    let turn = ask(run(&world, cli), "write it");
    turn.is("responseText", "done");
    turn.is("toolCalls", 3);
    let kinds = turn.tools();
    let wanted = match cli {
        // It reads with commands.
        Cli::Codex => ["write", "bash", "edit"],
        _ => ["write", "read", "edit"],
    };
    turn.check(kinds == wanted, &format!("the tools are {wanted:?}, not {kinds:?}"));
    turn.check(
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
    let turn = ask(run(&world, cli).arg("--mcp-config").arg(config), "look it up");
    turn.check(turn.tools() == ["mcp"], "a tool of the server");
    let ended = turn.told("tool_end")[0].clone();
    turn.check(ended["output"].to_string().contains("found plum"), "its answer is told");
    let results = model.last_request().tool_results().to_vec();
    turn.check(
        results.iter().any(|result| result.text.contains("found plum")),
        "the model sees the answer",
    );
    turn.has_no_warnings();
}

fn added_directory(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let beside = world.project().with_file_name("beside");
    fs::create_dir(&beside).expect("a second directory");
    let path = beside.join("notes.txt");
    model.push(write(path.to_string_lossy(), "one\n"));
    model.push(text("done"));
    let run = run(&world, cli).args(["-P", "edit", "--add-dir", "../beside"]);
    let turn = ask(run, "write it there");
    turn.has_no_warnings();
    turn.check(
        fs::read_to_string(&path).is_ok_and(|text| text == "one\n"),
        "it may write there",
    );
}

fn environment(cli: Cli) {
    let model = Model::start()
        .then(shell("echo \"plum=$PLUM secret=$SECRET depth=$AGENTCTL_DEPTH\""))
        .then(text("done"));
    let world = World::new(&model);
    let mut run = run(&world, cli)
        .env("SECRET", "hidden")
        .args(["--env-clear", "-e", "PLUM=sweet"]);
    for name in world.environment().keys() {
        run = run.args(["--env-pass", name]);
    }
    let turn = ask(run, "show it");
    let shown = turn.told("tool_end")[0]["output"].to_string();
    turn.check(
        shown.contains("plum=sweet secret= depth=1"),
        "what was given is there, and nothing else",
    );
}
