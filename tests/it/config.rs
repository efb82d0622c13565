//! `agentctl config` and `agentctl backends`, and backends that the configuration declares.

use std::fs;

use serde_json::Value;

use crate::model::{Model, recall, shell, text};
use crate::world::{Cli, World, real};

/// A world whose configuration file holds this.
fn configured<'a>(model: &'a Model, toml: &str) -> World<'a> {
    let mut world = World::new(model);
    let file = world.scratch().join("config.toml");
    fs::write(&file, toml).unwrap();
    world.set_env("AGENTCTL_CONFIG", &file.display().to_string());
    world
}

fn value<'a>(shown: &'a Value, key: &str) -> &'a Value {
    let values = shown["values"].as_array().unwrap();
    values.iter().find(|value| value["key"] == key).unwrap_or(&Value::Null)
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let model = Model::start();
    let mut world = configured(
        &model,
        "[defaults]\nmodel = \"big\"\npermission = \"edit\"\nenv = { API_KEY = \"hidden\" }\n\
         args = [\"--token\", \"hidden-too\"]\n\
         [profiles.review]\npermission = \"read-only\"\n",
    );
    world.write(".agentctl.toml", "max_turns = 3\npermission = \"full\"\n");
    world.set_env("BACKEND_MODEL", "small");
    let outcome = world.agentctl(["config", "show", "--json"]).run().exits(0);
    let shown = outcome.json();
    outcome.check(value(&shown, "model")["value"] == "small", "the environment wins");
    outcome.check(
        value(&shown, "model")["origin"] == "environment BACKEND_MODEL",
        "and is named",
    );
    outcome.check(value(&shown, "max_turns")["value"] == 3, "the project counts");
    outcome.check(value(&shown, "permission")["value"] == "edit", "but raises no rights");
    outcome.check(value(&shown, "timeout")["origin"] == "default", "defaults are shown");
    outcome.check(!outcome.stdout().contains("hidden"), "secrets are not");
    let outcome = world.agentctl(["config", "show", "--profile", "review"]).run().exits(0);
    outcome.stdout_has("[profiles.review]").stdout_has("\"read-only\"");
    world
        .agentctl(["config", "show", "--profile", "nonsense"])
        .run()
        .exits(2);
}

#[cfg(unix)]
#[test]
fn a_project_file_that_every_user_can_write_steers_nothing_and_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let model = Model::start();
    let world = configured(&model, "");
    world.write(".agentctl.toml", "model = \"a stranger's\"\n");
    let run = ["run", "-b", "mock", "--dry-run", "hello"];
    world.agentctl(run).run().exits(0).stdout_has("stranger");
    let file = world.project().join(".agentctl.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let told = ".agentctl.toml is not read: every user can write to it";
    let outcome = world.agentctl(run).run().exits(0).stderr_has(told);
    outcome.check(!outcome.stdout().contains("stranger"), "it counts");
    let outcome = world.agentctl(["config", "show"]).run().exits(0).stderr_has(told);
    outcome.check(!outcome.stdout().contains("stranger"), "it is shown");
    let outcome = world.agentctl(["config", "path"]).run().exits(0).stderr_has(told);
    outcome.check(!outcome.stdout().contains(".agentctl.toml"), "it is named");
    world.agentctl(["backends"]).run().exits(0).stderr_has(told);
    world.agentctl(["doctor", "mock"]).run().stdout_has(told);
}

#[test]
fn a_file_is_written_once() {
    let model = Model::start();
    let mut world = World::new(&model);
    let file = world.scratch().join("deep/config.toml");
    world.set_env("AGENTCTL_CONFIG", &file.display().to_string());
    world
        .agentctl(["config", "path"])
        .run()
        .exits(0)
        .stdout_has("not there");
    world
        .agentctl(["config", "init"])
        .run()
        .exits(0)
        .stdout_has("config.toml");
    world.agentctl(["config"]).run().exits(0).stdout_has("\"claude\"");
    world
        .agentctl(["config", "init"])
        .run()
        .exits(2)
        .stderr_has("is there already");
}

#[test]
fn the_matrix_names_every_backend_and_every_feature() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = world.agentctl(["backends"]).run().exits(0);
    let outcome = outcome
        .stdout_has("opencode")
        .stdout_has("read-only")
        .stdout_has("emulated");
    outcome.stdout_has("claude*");
    let outcome = world.agentctl(["backends", "codex", "--json"]).run().exits(0);
    outcome.check(
        outcome.json()["defaultModel"] == "mock-model",
        "the model of its own configuration",
    );
    world
        .agentctl(["backends", "claud"])
        .run()
        .exits(2)
        .stderr_has("did you mean `claude`");
}

#[test]
fn a_program_that_prints_text_is_a_backend() {
    let model = Model::start();
    let world = configured(
        &model,
        r#"[backends.shout]
program = "/bin/sh"
dialect = "text"
args = ["-c", 'printf "%s: " "$1"; tr a-z A-Z; echo; echo "$2"', "sh", "said"]
session_args_new = ["{session}"]
session_args_resume = ["{session}"]
"#,
    );
    let result = world
        .agentctl(["run", "-b", "shout", "-o", "json"])
        .stdin("hello")
        .run()
        .exits(0)
        .json();
    let id = result["sessionId"].as_str().unwrap();
    assert_eq!(result["responseText"], format!("said: HELLO\n{id}"));
    let again = world
        .agentctl(["resume", "--last", "-o", "json", "bye"])
        .run()
        .exits(0)
        .json();
    assert_eq!(again["responseText"], format!("said: BYE\n{id}"));
    assert_eq!(again["resumed"], "resumed");
    let refused = world
        .agentctl(["run", "-b", "shout", "-P", "read-only", "x"])
        .run()
        .exits(2);
    refused.stderr_has("read_only_args");
    world.agentctl(["backends"]).run().exits(0).stdout_has("shout");
    world.agentctl(["doctor", "shout"]).run().stdout_has("shout");
    world
        .agentctl(["run", "-b", "shoutt", "x"])
        .run()
        .exits(2)
        .stderr_has("did you mean `shout`");
}

#[test]
#[cfg(unix)]
fn a_name_for_a_conversation_that_cannot_go_on_is_told() {
    let model = Model::start();
    let world = configured(&model, "[backends.own]\nprogram = \"/bin/cat\"\ndialect = \"text\"\n");
    let named = ["run", "-b", "own", "--session", "s", "hello"];
    world.agentctl(named).run().exits(0).stderr_has("--session");
    world
        .agentctl(named)
        .arg("--strict")
        .run()
        .exits(2)
        .stderr_has("--session");
}

#[test]
fn a_declaration_with_an_error_names_file_section_and_key() {
    let model = Model::start();
    let world = configured(&model, "[backends.own]\nprogram = \"own\"\ndialect = \"clod\"\n");
    let outcome = world.agentctl(["run", "-b", "mock", "x"]).run().exits(2);
    outcome
        .stderr_has("config.toml: [backends.own]: `dialect`")
        .stderr_has("claude, codex");
    let world = configured(&model, "[backends.claude]\nprogram = \"other\"\n");
    world
        .agentctl(["backends"])
        .run()
        .exits(2)
        .stderr_has("`path` names its binary");
}

/// The section that the README shows.
const QWEN: &str = r#"
[backends.qwen]
program = "qwen"
dialect = "claude"
args = ["--auth-type", "openai", "--output-format", "stream-json", "--include-partial-messages"]
session_args_new = ["--session-id", "{session}"]
session_args_resume = ["--resume", "{session}"]
model_args = ["--model", "{model}"]
max_turns_args = ["--max-session-turns", "{max_turns}"]
read_only_args = ["--approval-mode", "plan"]
edit_args = ["--approval-mode", "auto-edit"]
full_args = ["--approval-mode", "yolo"]
ephemeral_args = ["--chat-recording=false"]
literal_prefix = " "
error_marker = "[API Error:"
install = "npm install -g @qwen-code/qwen-code"
env = { QWEN_CODE_NO_RELAUNCH = "true" }
"#;

#[test]
fn qwen_code_is_a_backend_by_declaration() {
    if !real::is_on(Cli::Qwen) {
        return;
    }
    let model = Model::start()
        .then(shell("echo made > by-shell"))
        .then(text("the word is fig"));
    let world = configured(&model, QWEN);
    let outcome = world
        .agentctl(["run", "-b", "qwen", "-o", "json", "make it"])
        .run()
        .exits(0);
    let result = outcome.json();
    outcome.check(result["responseText"] == "the word is fig", "the answer arrives");
    outcome.check(result["toolCalls"] == 1, "its tool call is seen");
    outcome.check(
        world.read("by-shell").as_deref() == Some("made\n"),
        "with full rights it runs",
    );
    model.push(recall());
    let outcome = world
        .agentctl(["resume", "--last", "-o", "json", "which word?"])
        .run()
        .exits(0);
    outcome.check(outcome.json()["resumed"] == "resumed", "the conversation goes on");
    outcome.check(outcome.stdout().contains("make it"), "and the model sees how it began");
    outcome.check(outcome.json()["sessionId"] == result["sessionId"], "under the same id");
    let outcome = world.agentctl(["run", "-b", "qwen", "/stats"]).run().exits(0);
    outcome.check(
        outcome.stdout().contains("/stats"),
        "a command is only text to the model",
    );
}

#[test]
fn qwen_code_does_not_write_when_it_may_only_read() {
    if !real::is_on(Cli::Qwen) {
        return;
    }
    let model = Model::start().then(shell("echo made > by-shell")).then(text("done"));
    let world = configured(&model, QWEN);
    let outcome = world
        .agentctl(["run", "-b", "qwen", "-P", "read-only", "-o", "json", "x"])
        .run();
    outcome.check(world.read("by-shell").is_none(), "no command ran");
}

#[test]
fn an_api_error_that_qwen_code_tells_as_an_answer_is_a_failure() {
    if !real::is_on(Cli::Qwen) {
        return;
    }
    let model = Model::start().then(crate::model::status(401));
    let world = configured(&model, QWEN);
    let outcome = world.agentctl(["run", "-b", "qwen", "-o", "json", "x"]).run().exits(4);
    outcome.check(outcome.json()["error"]["kind"] == "auth", "it is about the login");
}
