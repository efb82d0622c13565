//! Every command runs as it is shown, but for the slow ones, which have a file of their own.

use super::block::{Block, Shown, blocks, root, text};
use super::{is_required, note};
use crate::desk::{Desk, Ended as _};
use crate::terminal::pty::{Pty, USUAL};
use assert_cmd::assert::OutputAssertExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Not run here, because it runs this very test; it is what `.ci/run` runs.
const NOT_RUN: &str = "cargo test";

/// Whether `text` is `pattern`, in which `…` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    for (position, part) in parts.iter().enumerate() {
        let found = match position + 1 == parts.len() {
            true => rest.ends_with(part).then(|| rest.len() - part.len()),
            false => rest.find(part),
        };
        match found {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// What is not as shown, if anything.
fn run(desk: &Desk, block: &Block, shown: &Shown) -> Option<String> {
    let wanted = shown.output.trim();
    let (got, stderr) = if block.has("terminal") {
        let mut command = desk.program("/bin/bash");
        command
            .args(["-c", &shown.command])
            .env("AGENT_BACKEND", "mock")
            .env("TERM", "xterm");
        (Pty::start(command, USUAL).close().screen, String::new())
    } else {
        let mut command = match shown.command.starts_with("cargo ") {
            // A toolchain is the one thing that the user has.
            true => {
                let mut command = Command::new("/bin/bash");
                command
                    .current_dir(root())
                    .env("AGENTCTL_STATE_DIR", desk.path("state"));
                command
            }
            false => desk.program("/bin/bash"),
        };
        command.args(["-c", &shown.command]).env("AGENT_BACKEND", "mock");
        let ended = command.assert();
        if !ended.get_output().status.success() {
            return Some(format!("$ {}\n{ended}", shown.command));
        }
        (ended.out(), ended.err())
    };
    let got = got.trim();
    let command = &shown.command;
    (!fits(wanted, got)).then(|| format!("$ {command}\nshown:\n{wanted}\n\ngot:\n{got}\n{stderr}"))
}

/// An array of tasks as Slurm would run it: the last argument is the script of each task, and `srun` starts a step
/// of it. What is wrong, if anything.
fn run_tasks(desk: &Desk, block: &Block) -> Option<String> {
    desk.file("tasks.txt", "the \"first\" $HOME\nthe second\nthe third\n");
    desk.script("srun", "#!/bin/sh\nexec \"$@\"\n");
    let sbatch = "export AGENT_BACKEND=mock PATH=$PWD:$PATH; sbatch() { for script; do :; done; for task in 1 2 3; do \
                  SLURM_ARRAY_TASK_ID=$task sh -c \"$script\" || return; done; }\n";
    let ended = desk.shell(&format!(
        "{sbatch}{}\njq -r .responseText out-*.json",
        block.lines.join("\n")
    ));
    let told = ended.out();
    let answers: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    let right = answers == ["the \"first\" $HOME", "the second", "the third"];
    (!right || !ended.get_output().status.success()).then(|| ended.to_string())
}

/// A repository with one commit, as the recipes expect it.
fn project(desk: &Desk) {
    desk.shell(
        "git init -q && git config user.email a@example.com && git config user.name A && \
         mkdir -p .git/hooks && git commit -q --allow-empty -m Start",
    )
    .success();
}

fn write(desk: &Desk, block: &Block, name: &str) {
    let path: PathBuf = match name.strip_prefix("~/") {
        Some(below) => desk.path("home").join(below),
        None => desk.path("project").join(name),
    };
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, block.lines.join("\n") + "\n").unwrap();
}

#[test]
fn every_command_runs_as_shown() {
    let desk = Desk::new();
    project(&desk);
    let (mut skipped, mut wrong) = (Vec::new(), Vec::new());
    for block in blocks().iter().filter(|block| !block.has("slow")) {
        if let Some(name) = block.file() {
            write(&desk, block, name);
        } else if let Some(program) = block.missing() {
            let commands = block.lines.join("\n");
            assert!(!is_required(), "{program} is required and not in /usr/bin: {commands}");
            note(&format!("NOT RUN, there is no {program} in /usr/bin: {commands}"));
        } else if block.has("sbatch") {
            wrong.extend(run_tasks(&desk, block));
        } else if block.has("console") {
            for shown in block.commands() {
                if shown.command == NOT_RUN {
                    skipped.push(shown.command);
                } else {
                    wrong.extend(run(&desk, block, &shown));
                }
            }
        } else {
            panic!("```{} is neither run nor written to a file", block.info);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(skipped, [NOT_RUN], "nothing else is left out");
}

#[test]
fn the_command_of_a_kubernetes_job_is_understood() {
    let text = text();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("command: ["));
    let words = line.unwrap().trim_end_matches(']').split(", ");
    let words = words.map(|word| word.trim_matches('"'));
    let parsed = agentctl::cli::command().try_get_matches_from(words);
    assert!(parsed.is_ok(), "{:?}", parsed.err().map(|error| error.to_string()));
}

#[test]
fn an_ellipsis_stands_for_anything_and_nothing_else_does() {
    assert!(fits("a … c", "a b b c") && fits("…", "") && fits("a", "a") && fits("…b", "ab"));
    assert!(!fits("a … c", "a b b d") && !fits("a", "ab") && !fits("a…", "b") && !fits("", "x"));
}
