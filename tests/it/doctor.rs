//! `agentctl doctor`: a table of broken worlds, each with its finding, its hint and its exit code; and the real CLIs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::{Model, text};
use crate::world::{Cli, Outcome, World, for_every_cli, real};

/// A version that the tests ran with, so that only what a test breaks is broken.
const TESTED: &str = "0.74.2";

/// A `pi` that answers like the real one, with a version of the test's choosing.
fn healthy(version: &str) -> String {
    let flags = "--print --mode --provider --model --thinking --no-skills --no-context-files --no-extensions \
                 --no-prompt-templates --no-session --session --fork --system-prompt --append-system-prompt --tools \
                 --no-tools --extension";
    format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo {version} >&2 ;;\n--help) echo \"Usage: pi {flags}\" >&2 ;;\n\
         --list-models) printf 'provider model\\nmock mock-model\\n' >&2 ;;\nesac\n"
    )
}

/// Puts a program called `pi` first on the `PATH` of a world that has no other.
fn install(world: &mut World<'_>, script: &str) -> PathBuf {
    let folder = world.scratch().join("bin");
    fs::create_dir_all(&folder).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", folder.display()));
    let program = folder.join("pi");
    fs::write(&program, script).unwrap();
    allow(&program, 0o755);
    program
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The table without what differs from machine to machine.
fn table(world: &World<'_>, outcome: &Outcome<'_>) -> String {
    let root = world.home();
    let root = root.parent().unwrap();
    let told = outcome.stdout().replace(&root.display().to_string(), "[WORLD]");
    let told = told.replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    let rest = told.split_once("\n\n").map_or("", |(_, backends)| backends);
    format!("exit {:?}\n{rest}", outcome.code().unwrap_or(-1))
}

fn diagnosis(world: &World<'_>) -> String {
    let outcome = world.agentctl(["doctor", "pi", "--cap", "20s"]).run();
    table(world, &outcome)
}

/// A world in which `pi` is this script.
fn diagnosis_of(script: &str) -> String {
    let model = Model::start();
    let mut world = World::new(&model);
    install(&mut world, script);
    diagnosis(&world)
}

#[test]
fn a_program_that_is_well() {
    insta::assert_snapshot!(diagnosis_of(&healthy(TESTED)));
}

#[test]
fn a_program_that_is_not_on_path() {
    let model = Model::start();
    let mut world = World::new(&model);
    world.set_env("PATH", "/nonexistent");
    insta::assert_snapshot!(diagnosis(&world));
}

#[test]
fn a_program_without_its_run_bit() {
    let model = Model::start();
    let mut world = World::new(&model);
    let program = install(&mut world, &healthy(TESTED));
    allow(&program, 0o644);
    insta::assert_snapshot!(diagnosis(&world));
}

#[test]
fn a_directory_in_the_place_of_the_program() {
    let model = Model::start();
    let mut world = World::new(&model);
    let folder = world.scratch().join("pi");
    fs::create_dir_all(&folder).unwrap();
    world.set_env("AGENTCTL_PI_PATH", &folder.display().to_string());
    insta::assert_snapshot!(diagnosis(&world));
}

#[test]
fn a_script_whose_interpreter_is_missing() {
    insta::assert_snapshot!(diagnosis_of("#!/opt/no/such/node\n"));
}

#[test]
fn a_script_whose_interpreter_is_not_on_path() {
    insta::assert_snapshot!(diagnosis_of("#!/usr/bin/env no-such-node\n"));
}

#[test]
fn a_program_that_hangs_is_a_finding_and_not_a_hang() {
    let model = Model::start();
    let mut world = World::new(&model);
    install(&mut world, "#!/bin/sh\nexec sleep 600\n");
    let outcome = world.agentctl(["doctor", "pi", "--cap", "700ms"]).run();
    insta::assert_snapshot!(table(&world, &outcome));
    assert!(world.survivors().is_empty(), "{:?}", world.survivors());
}

#[test]
fn a_program_that_prints_rubbish() {
    insta::assert_snapshot!(diagnosis_of("#!/bin/sh\nprintf 'segment\\001ation fault\\n'\nexit 7\n"));
}

#[test]
fn a_program_that_prints_without_end() {
    insta::assert_snapshot!(diagnosis_of("#!/bin/sh\nexec head -c 1000000000 /dev/zero\n"));
}

#[test]
fn an_older_and_a_newer_version() {
    insta::assert_snapshot!(diagnosis_of(&healthy("0.12.0")));
    insta::assert_snapshot!(diagnosis_of(&healthy("99.1.0")));
}

#[test]
fn a_version_that_has_lost_a_flag() {
    insta::assert_snapshot!(diagnosis_of(&healthy(TESTED).replace("--no-tools ", "")));
}

#[test]
fn another_program_of_the_same_name_later_on_path() {
    let model = Model::start();
    let mut world = World::new(&model);
    install(&mut world, &healthy(TESTED));
    let other = world.scratch().join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("pi"), "#!/bin/sh\n").unwrap();
    allow(&other.join("pi"), 0o755);
    let path = format!("{}:{}", world.environment()["PATH"], other.display());
    world.set_env("PATH", &path);
    insta::assert_snapshot!(diagnosis(&world));
}

/// A `pi` that has no models, in a world without any login.
fn logged_out(world: &mut World<'_>) {
    install(
        world,
        &healthy(TESTED).replace(
            "printf 'provider model\\nmock mock-model\\n'",
            "echo No models available",
        ),
    );
    for name in ["ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
        world.set_env(name, "");
    }
    fs::remove_dir_all(world.home().join(".pi")).unwrap();
}

#[test]
fn no_credentials() {
    let model = Model::start();
    let mut world = World::new(&model);
    logged_out(&mut world);
    insta::assert_snapshot!(diagnosis(&world));
}

#[test]
fn unreadable_credentials() {
    let model = Model::start();
    let mut world = World::new(&model);
    logged_out(&mut world);
    // A directory cannot be read as a file, by root neither.
    fs::create_dir_all(world.home().join(".pi/agent/auth.json")).unwrap();
    insta::assert_snapshot!(diagnosis(&world));
}

/// What is said about agentctl itself.
fn own_checks(outcome: &Outcome<'_>) -> Vec<Value> {
    outcome.json()["agentctl"]["checks"].as_array().unwrap().clone()
}

fn check<'a>(checks: &'a [Value], id: &str) -> &'a Value {
    checks.iter().find(|check| check["id"] == id).unwrap_or(&Value::Null)
}

#[test]
fn an_error_in_the_configuration_is_told_with_its_line_and_the_rest_is_examined_all_the_same() {
    let model = Model::start();
    let mut world = World::new(&model);
    let file = world.scratch().join("config.toml");
    fs::write(&file, "[defaults]\n\nmodle = \"x\"\n").unwrap();
    world.set_env("AGENTCTL_CONFIG", &file.display().to_string());
    let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(2);
    let checks = own_checks(&outcome);
    let config = check(&checks, "config");
    outcome.check(config["status"] == "failure", "the configuration fails");
    outcome.check(
        config["message"].as_str().unwrap().contains("line 3"),
        "the line is told",
    );
    outcome.check(config["hint"] == "did you mean `model`?", "what was meant is told");
    outcome.check(outcome.json()["backends"][0]["usable"] == true, "the mock is usable");
}

#[test]
fn a_value_that_stands_for_nothing_is_told_with_its_place_whatever_run_would_meet_it() {
    let model = Model::start();
    let mut world = World::new(&model);
    let file = world.scratch().join("config.toml");
    world.set_env("AGENTCTL_CONFIG", &file.display().to_string());
    let about = |outcome: &Outcome<'_>, status: &str| -> Vec<String> {
        let checks = own_checks(outcome).into_iter();
        let checks = checks.filter(|check| check["id"] == "config" && check["status"] == status);
        checks
            .map(|check| check["message"].as_str().unwrap().to_owned())
            .collect()
    };
    for (key, value) in [
        ("backend", "clade"),
        ("effort", "hihg"),
        ("permission", "edti"),
        ("output_format", "jsn"),
        ("color", "sometimes"),
        ("timeout", "soon"),
        ("idle_timeout", "soon"),
        ("retry_for", "soon"),
        ("wait", "soon"),
    ] {
        let section = format!("{key} = \"{value}\"\n");
        fs::write(&file, format!("[defaults]\n{section}")).unwrap();
        let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(2);
        let told = about(&outcome, "failure").join("\n");
        outcome.check(
            told.contains(&format!("`{key}`")) && told.contains(value) && told.contains("[defaults]"),
            &format!("{section} is told with its place, not as {told}"),
        );
        // The run says so too; --wait is for conversations that are taken.
        if key != "wait" {
            let run = ["run", "-b", "mock", "hi"];
            let args = if key == "backend" {
                ["run", "--ephemeral", "--", "hi"]
            } else {
                run
            };
            let outcome = world.agentctl(args).stdin("hi").run().exits(2);
            outcome.stderr_has(&format!("`{key}` ({} [defaults])", file.display()));
        }
        fs::write(&file, format!("[profiles.slip]\n{section}")).unwrap();
        let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(0);
        let told = about(&outcome, "warning").join("\n");
        outcome.check(
            told.contains(value) && told.contains("[profiles.slip]"),
            &format!("a profile with {section} is a warning with its place, not {told}"),
        );
    }
    fs::write(&file, "").unwrap();
    world.set_env("AGENT_BACKEND", "clade");
    let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(2);
    let told = about(&outcome, "failure").join("\n");
    outcome.check(told.contains("environment AGENT_BACKEND"), "the variable is named");
}

#[test]
fn a_state_directory_that_is_no_directory_or_open_to_others() {
    let model = Model::start();
    let world = World::new(&model);
    allow(&world.state(), 0o755);
    let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(0);
    let checks = own_checks(&outcome);
    let hint = check(&checks, "state")["hint"].as_str().unwrap_or_default().to_owned();
    outcome.check(hint.starts_with("chmod 700 "), "what to type is told");
    let file = world.scratch().join("file");
    fs::write(&file, "").unwrap();
    let run = world.agentctl(["doctor", "mock", "--json"]);
    let run = run.env("AGENTCTL_STATE_DIR", &file.display().to_string());
    let outcome = run.run().exits(0);
    let checks = own_checks(&outcome);
    outcome.check(
        check(&checks, "state")["status"] == "warning",
        "nothing can be kept there",
    );
}

#[test]
fn a_read_only_state_directory_is_told() {
    if rustix::process::geteuid().is_root() {
        // For root no directory is read-only.
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    allow(&world.state(), 0o500);
    let outcome = world.agentctl(["doctor", "mock", "--json"]).run().exits(0);
    let checks = own_checks(&outcome);
    let message = check(&checks, "state")["message"].as_str().unwrap().to_owned();
    allow(&world.state(), 0o700);
    assert!(message.contains("cannot be written to"), "{message}");
}

#[test]
fn damaged_records_and_variables_of_another_agent_are_told() {
    let model = Model::start();
    let mut world = World::new(&model);
    world.agentctl(["run", "-b", "mock", "hello"]).run().exits(0);
    let sessions = world.state().join("sessions");
    for shard in fs::read_dir(&sessions).unwrap().flatten() {
        for record in fs::read_dir(shard.path()).unwrap().flatten() {
            fs::write(record.path(), "{").unwrap();
        }
    }
    world.set_env("CLAUDECODE", "1");
    let outcome = world.agentctl(["doctor", "mock"]).run().exits(0);
    let outcome = outcome.stdout_has("agentctl sessions prune --damaged");
    outcome.stdout_has("unset CLAUDECODE");
}

#[test]
fn without_names_only_the_default_backend_decides() {
    let model = Model::start();
    let mut world = World::new(&model);
    world.set_env("PATH", "/nonexistent");
    world
        .agentctl(["doctor"])
        .run()
        .exits(3)
        .stdout_has("not usable, the default");
    world.set_env("AGENT_BACKEND", "mock");
    world
        .agentctl(["doctor"])
        .run()
        .exits(0)
        .stdout_has("npm install -g @openai/codex");
    world.agentctl(["doctor", "mock", "codex"]).run().exits(3);
    world
        .agentctl(["doctor", "nonsense"])
        .run()
        .exits(2)
        .stderr_has("there is no backend");
}

#[test]
fn the_report_fits_its_schema() {
    let model = Model::start();
    let world = World::new(&model);
    for (arguments, name) in [
        (["doctor", "mock", "--json"], "doctor"),
        (["backends", "mock", "--json"], "backends"),
    ] {
        let report = world.agentctl(arguments).run().exits(0).json();
        let report = if name == "backends" {
            Value::Array(vec![report])
        } else {
            report
        };
        let schema = world.agentctl(["schema", name]).run().exits(0).json();
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(validator.is_valid(&report), "{report}");
    }
}

#[test]
fn a_live_answer_tells_its_times() {
    let model = Model::start();
    let world = World::new(&model);
    let outcome = world.agentctl(["doctor", "mock", "--live", "--json"]).run().exits(0);
    let live = &outcome.json()["backends"][0]["live"];
    outcome.check(live["ok"] == true && live["totalMs"].is_u64(), "it answered");
    assert!(fs::read_dir(world.state().join("sessions")).is_err(), "nothing is kept");
}

#[test]
fn a_run_that_dies_without_a_word_names_the_probable_cause() {
    let model = Model::start();
    let mut world = World::new(&model);
    logged_out(&mut world);
    install(&mut world, "#!/bin/sh\nexit 1\n");
    let result = world.agentctl(["run", "-b", "pi", "-o", "json", "hi"]).run().json();
    let hint = result["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("not logged in"), "{result}");
}

/// Somebody who has never used Codex.
fn without_codex_home<'a>(model: &'a Model) -> World<'a> {
    let mut world = World::new(model);
    fs::remove_dir_all(world.home().join(".codex")).unwrap();
    world.set_env("CODEX_API_KEY", "dummy");
    world
}

fn sandbox_of_codex(world: &World<'_>) -> Value {
    let outcome = world.agentctl(["doctor", "codex", "--cap", "60s", "--json"]).run();
    let report = report(&outcome);
    let checks = report["checks"].as_array().unwrap().clone();
    check(&checks, "sandbox").clone()
}

#[test]
fn codex_is_asked_about_its_sandbox_in_a_home_that_is_there() {
    let model = Model::start();
    let mut world = without_codex_home(&model);
    let program = world.scratch().join("codex");
    let script = "#!/bin/sh\n[ -d \"$CODEX_HOME\" ] || { echo 'CODEX_HOME does not exist' >&2; exit 1; }\n";
    fs::write(&program, script).unwrap();
    allow(&program, 0o755);
    world.set_env("AGENTCTL_CODEX_PATH", &program.display().to_string());
    let sandbox = sandbox_of_codex(&world);
    assert_eq!(sandbox["status"], "ok", "{sandbox}");
}

#[test]
fn the_real_codex_is_asked_about_its_sandbox_without_a_home_of_its_own() {
    if !real::is_on(Cli::Codex) {
        return;
    }
    let model = Model::start();
    let world = without_codex_home(&model);
    let sandbox = sandbox_of_codex(&world);
    // Whether this machine lets commands be confined is another question.
    assert!(!sandbox.to_string().contains("CODEX_HOME"), "{sandbox}");
    assert!(!world.home().join(".codex").exists(), "the home is as it was");
}

for_every_cli! {
    usable_with_a_key,
    missing_without_a_key,
}

fn report(outcome: &Outcome<'_>) -> Value {
    outcome.json()["backends"][0].clone()
}

fn usable_with_a_key(cli: Cli) {
    let model = Model::start();
    let world = World::new(&model);
    let before = world.home_tree();
    let outcome = world
        .agentctl(["doctor", cli.name(), "--cap", "60s", "--json"])
        .run()
        .exits(0);
    let report = report(&outcome);
    outcome.check(
        report["usable"] == true && report["auth"]["state"] == "ok",
        "it is usable",
    );
    for check in report["checks"].as_array().unwrap() {
        let told = check["message"].as_str().unwrap();
        outcome.check(check["status"] == "ok" || check["id"] == "sandbox", told);
    }
    let changes = world.home_tree().changes_since(&before, &[]);
    outcome.check(changes.is_empty(), &format!("the home is as it was: {changes:?}"));
    outcome.check(model.all_requests().is_empty(), "nothing was asked of the model");
    assert!(world.survivors().is_empty(), "{:?}", world.survivors());
}

fn missing_without_a_key(cli: Cli) {
    let model = Model::start();
    let mut world = World::new(&model);
    for name in ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MOCK_KEY"] {
        world.set_env(name, "");
    }
    for name in [".config/opencode/opencode.json", ".pi/agent/models.json"] {
        fs::remove_file(world.home().join(name)).unwrap();
    }
    let before = world.home_tree();
    let outcome = world
        .agentctl(["doctor", cli.name(), "--cap", "60s", "--json"])
        .run()
        .exits(4);
    outcome.check(report(&outcome)["auth"]["state"] == "missing", "there is no login");
    outcome.check(world.home_tree() == before, "the home is as it was");
    outcome.check(model.all_requests().is_empty(), "nothing was asked of the model");
}

#[test]
fn a_real_cli_answers_live() {
    if !real::is_on(Cli::Pi) {
        return;
    }
    let model = Model::start().then(text("ok"));
    let world = World::new(&model);
    let outcome = world
        .agentctl(["doctor", "pi", "--cap", "60s", "--live", "--json"])
        .run()
        .exits(0);
    let live = &report(&outcome)["live"];
    outcome.check(live["ok"] == true && live["firstTextMs"].is_u64(), "it answered");
    outcome.check(live["model"].is_string(), "the model is told");
}
