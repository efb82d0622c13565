//! The README holds: every command in it runs as shown, and its tables are those of the code.
//!
//! A `console` block is run line by line and its output compared, `…` standing for anything; `console terminal` is run on
//! a terminal and compared with the screen. `file=PATH` puts a block into a file. `needs=PROGRAM` is run where there is
//! that program, and `sbatch` with a stand-in for Slurm. A block with `no-run` needs what is not here; all of them are
//! listed below, so that none is skipped unseen. `AGENTCTL_BLESS=1` writes the tables anew.

use crate::desk::{Desk, Ended};
use crate::terminal::pty::{Pty, USUAL};
use agentctl::backend::{self, Feature, SupportLevel};
use agentctl::exit::Exit;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first line of every block that is not run, and of every command that runs this very test.
const NOT_RUN: [&str; 7] = [
    "cargo test",
    "cargo bench --bench end_to_end                     # everything; or name parts: … -- run memory",
    "cargo install --locked --path .                    # from a clone",
    "rustup target add x86_64-unknown-linux-musl",
    "cargo install --locked cargo-deb && cargo deb      # target/debian/agentctl_….deb",
    "tests/clis/drift                                   # installs them beside the tested ones, runs the tests of the real CLIs",
    "apiVersion: batch/v1",
];

struct Block {
    info: String,
    lines: Vec<String>,
}

struct Shown {
    command: String,
    output: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                inside = true;
                blocks.push(Block {
                    info: info.to_owned(),
                    lines: Vec::new(),
                });
            }
            None if inside => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!inside, "a block is not closed");
    blocks
}

impl Block {
    fn has(&self, word: &str) -> bool {
        self.info.split_whitespace().any(|other| other == word)
    }

    fn file(&self) -> Option<&str> {
        self.value("file=")
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.info.split_whitespace().find_map(|word| word.strip_prefix(key))
    }

    /// Whether the program that it needs is not here.
    fn misses_its_program(&self) -> bool {
        self.value("needs=")
            .is_some_and(|program| !Path::new("/usr/bin").join(program).exists())
    }

    fn commands(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = Vec::new();
        for line in &self.lines {
            if let Some(command) = line.strip_prefix("$ ") {
                shown.push(Shown {
                    command: command.to_owned(),
                    output: String::new(),
                });
            } else if let Some(more) = line.strip_prefix("> ") {
                let last = shown.last_mut().unwrap();
                writeln!(last.command).unwrap();
                last.command.push_str(more);
            } else {
                let last = shown.last_mut().unwrap();
                writeln!(last.output, "{line}").unwrap();
            }
        }
        shown
    }
}

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
        command.args(["-c", &shown.command]).env("TERM", "xterm");
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
        let ended = Ended::of(&mut command);
        if ended.code != Some(0) {
            return Some(format!("$ {}\n{ended:?}", shown.command));
        }
        (ended.stdout, ended.stderr)
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
    let answers: Vec<&str> = ended.stdout.lines().filter(|line| !line.is_empty()).collect();
    let right = ended.code == Some(0) && answers == ["the \"first\" $HOME", "the second", "the third"];
    (!right).then(|| format!("{}\n{ended:?}", block.lines.join("\n")))
}

/// A repository with one commit, as the recipes expect it.
fn project(desk: &Desk) {
    let ended = desk.shell(
        "git init -q && git config user.email a@example.com && git config user.name A && \
         mkdir -p .git/hooks && git commit -q --allow-empty -m Start",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
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
    for block in blocks(&readme()) {
        if block.has("no-run") {
            skipped.push(block.lines.first().cloned().unwrap_or_default());
        } else if let Some(name) = block.file() {
            write(&desk, &block, name);
        } else if block.misses_its_program() {
            eprintln!("not run, its program is not here: {}", block.lines.join("\n"));
        } else if block.has("sbatch") {
            wrong.extend(run_tasks(&desk, &block));
        } else if block.has("console") {
            for shown in block.commands() {
                if NOT_RUN.contains(&shown.command.as_str()) {
                    skipped.push(shown.command);
                } else {
                    wrong.extend(run(&desk, &block, &shown));
                }
            }
        } else {
            panic!("```{} is neither run nor written to a file", block.info);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    skipped.sort();
    let mut listed = NOT_RUN.map(str::to_owned);
    listed.sort();
    assert_eq!(skipped, listed, "what is not run must be listed");
}

#[test]
fn the_command_of_a_kubernetes_job_is_understood() {
    let text = readme();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("command: ["));
    let words = line.unwrap().trim_end_matches(']').split(", ");
    let words = words.map(|word| word.trim_matches('"'));
    let parsed = agentctl::cli::command().try_get_matches_from(words);
    assert!(parsed.is_ok(), "{:?}", parsed.err().map(|error| error.to_string()));
}

#[test]
fn the_rust_that_it_asks_for_is_the_one_of_the_manifest_and_of_the_workflow() {
    let rust = env!("CARGO_PKG_RUST_VERSION");
    let workflow = std::fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
    assert!(readme().contains(&format!("Rust {rust} or newer")));
    assert!(workflow.contains(&format!("cargo +{rust} check")));
}

fn exit_codes() -> String {
    let rows = Exit::TABLE
        .iter()
        .map(|(exit, meaning)| format!("| {} | {meaning} |\n", exit.code()));
    format!("| code | meaning |\n| --: | --- |\n{}", rows.collect::<String>())
}

fn matrix() -> String {
    let names: Vec<&str> = backend::BACKENDS.iter().map(|backend| backend.name()).collect();
    let mut table = format!("| | {} |\n|{}\n", names.join(" | "), " --- |".repeat(names.len() + 1));
    for feature in Feature::ALL {
        write!(table, "| {} |", feature.name()).unwrap();
        for backend in backend::BACKENDS {
            let cell = match backend.capabilities().of(*feature).level {
                SupportLevel::Native => "native",
                SupportLevel::Emulated => "emulated",
                SupportLevel::Unsupported => "-",
            };
            write!(table, " {cell} |").unwrap();
        }
        table.push('\n');
    }
    table
}

fn rights() -> String {
    let levels = [Feature::ReadOnly, Feature::Edit, Feature::Full];
    let mut table = "| | read-only | edit | full |\n| --- | --- | --- | --- |\n".to_owned();
    for backend in backend::BACKENDS.iter().filter(|backend| backend.name() != "mock") {
        let notes = levels.map(|level| backend.capabilities().of(level).note.replace('|', "\\|"));
        writeln!(table, "| {} | {} |", backend.display_name(), notes.join(" | ")).unwrap();
    }
    table
}

#[test]
fn its_tables_are_those_of_the_code() {
    let mut text = readme();
    for (name, table) in [("exit-codes", exit_codes()), ("matrix", matrix()), ("rights", rights())] {
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) = text.split_once(&begin).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        text = format!("{before}{begin}{table}<!-- end -->{after}");
    }
    if std::env::var_os("AGENTCTL_BLESS").is_some() {
        std::fs::write(root().join("README.md"), text).unwrap();
        return;
    }
    assert!(
        text == readme(),
        "the tables are stale: AGENTCTL_BLESS=1 cargo test --test it readme"
    );
}

#[test]
fn an_ellipsis_stands_for_anything_and_nothing_else_does() {
    assert!(fits("a … c", "a b b c") && fits("…", "") && fits("a", "a") && fits("…b", "ab"));
    assert!(!fits("a … c", "a b b d") && !fits("a", "ab") && !fits("a…", "b") && !fits("", "x"));
}
