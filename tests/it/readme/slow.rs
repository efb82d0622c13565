//! The commands that build, install, measure or download, each as it stands in the README, and then a look at what it made.
//!
//! They work on a copy of the project with a home and a place for installed programs of its own. The toolchain, its
//! settings and its downloads are the user's. The copy stays where it is and keeps its `target`, so that another run
//! builds little.

use super::block::{blocks, root};
use super::{is_required, note};
use crate::desk::{Desk, Ended as _};
use assert_cmd::assert::{Assert, OutputAssertExt as _};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What a command must leave. Each returns what is wrong, if anything.
type Check = fn(&Copy, &Assert) -> Result<(), String>;

const CHECKS: [(&str, Check); 7] = [
    ("cargo install --locked --path .", |copy, ended| {
        succeeded(ended)?;
        answers(&copy.installed().join("agentctl"))
    }),
    ("rustup target add x86_64-unknown-linux-musl", |_, ended| {
        succeeded(ended)
    }),
    (
        "cargo build --release --locked --target x86_64-unknown-linux-musl",
        |copy, ended| {
            succeeded(ended)?;
            let program = copy.target().join("x86_64-unknown-linux-musl/release/agentctl");
            holds(is_static(&program), "it is linked to a C library of the system")?;
            answers(&program)
        },
    ),
    ("cargo install --locked cargo-deb && cargo deb", |copy, ended| {
        succeeded(ended)?;
        is_packaged(copy)
    }),
    ("cargo bench --bench end_to_end", |_, ended| {
        succeeded(ended)?;
        is_measured(&ended.out())
    }),
    ("tests/clis/drift", |copy, ended| has_drifted(copy, ended, "real")),
    ("AGENTCTL_REAL_BACKEND=codex tests/clis/drift rights", |copy, ended| {
        has_drifted(copy, ended, "rights")
    }),
];

/// A copy of the project as it is now, and what belongs to it.
struct Copy {
    place: PathBuf,
}

impl Copy {
    fn new() -> Self {
        let copy = Self {
            place: Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme"),
        };
        // What an earlier run made must not be taken for this one's.
        for made in [copy.place.join("home"), copy.place.join("root"), copy.packages()] {
            let _ = fs::remove_dir_all(made);
        }
        for folder in [copy.place.join("home"), copy.project()] {
            fs::create_dir_all(folder).unwrap();
        }
        for entry in fs::read_dir(copy.project()).unwrap().flatten() {
            if entry.path().is_dir() && entry.path() != copy.target() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else if entry.path().is_file() {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        for file in files() {
            let (from, to) = (root().join(&file), copy.project().join(&file));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&from, &to).unwrap();
            // Cargo builds anew what is younger than its last build.
            let modified = fs::metadata(&from).and_then(|metadata| metadata.modified()).unwrap();
            fs::File::open(&to).unwrap().set_modified(modified).unwrap();
        }
        copy
    }

    fn project(&self) -> PathBuf {
        self.place.join("project")
    }

    fn target(&self) -> PathBuf {
        self.project().join("target")
    }

    fn packages(&self) -> PathBuf {
        self.target().join("debian")
    }

    fn installed(&self) -> PathBuf {
        self.place.join("root/bin")
    }

    fn run(&self, line: &str) -> Assert {
        let mut command = Command::new("/bin/bash");
        command.args(["-c", line]).current_dir(self.project());
        // Nobody who types it has the variables of the tests. Among them is the one that asks for this test: a test that
        // is started here must not start all of this again.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("AGENT") {
                command.env_remove(name);
            }
        }
        let home = std::env::home_dir().unwrap();
        for (name, usual) in [
            ("CARGO_HOME", ".cargo"),
            ("RUSTUP_HOME", ".rustup"),
            ("NPM_CONFIG_USERCONFIG", ".npmrc"),
            ("NPM_CONFIG_CACHE", ".npm"),
        ] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(usual).into()));
        }
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.installed().display()))
            .env("HOME", self.place.join("home"))
            .env("CARGO_INSTALL_ROOT", self.place.join("root"))
            .env("CARGO_TARGET_DIR", self.target())
            .stdin(std::process::Stdio::null());
        command.assert()
    }
}

/// The files of the project, with those that are not committed yet.
fn files() -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let ended = git.current_dir(root()).assert();
    let ended = ended.append_context("needed", "a clone").success();
    let listed = ended.out();
    let files = listed.split_terminator('\0').map(PathBuf::from);
    files.filter(|file| root().join(file).is_file()).collect()
}

/// The lines of all slow blocks, each with its check.
fn commands() -> Vec<(String, Check)> {
    let blocks = blocks();
    let lines = blocks
        .iter()
        .filter(|block| block.has("slow"))
        .flat_map(|block| &block.lines);
    lines
        .map(|line| {
            let command = line.split(" #").next().unwrap().trim();
            let check = CHECKS.iter().find(|(known, _)| *known == command);
            let (_, check) = check.unwrap_or_else(|| panic!("nothing is known of what it makes: {command}"));
            (line.clone(), *check)
        })
        .collect()
}

fn holds(what: bool, wrong: &str) -> Result<(), String> {
    what.then_some(()).ok_or_else(|| wrong.to_owned())
}

fn succeeded(ended: &Assert) -> Result<(), String> {
    holds(ended.get_output().status.success(), "it failed")
}

/// A program of agentctl works.
fn answers(program: &Path) -> Result<(), String> {
    let desk = Desk::new();
    let ended = desk.program(program).args(["run", "-b", "mock", "hello"]).assert();
    let right = ended.get_output().status.success() && ended.out() == "hello\n";
    holds(right, &ended.to_string())
}

/// Whether a program for 64 bits names no loader (`PT_INTERP`), which is what looks for libraries.
fn is_static(program: &Path) -> bool {
    const INTERPRETER: [u8; 4] = 3_u32.to_le_bytes();
    let bytes = fs::read(program).unwrap();
    let short = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    assert_eq!(bytes[..5], *b"\x7fELF\x02", "not an ELF program for 64 bits");
    let (size, count) = (short(0x36), short(0x38));
    let table = u64::from_le_bytes(bytes[0x20..0x28].try_into().unwrap()) as usize;
    let headers = bytes[table..table + size * count].chunks(size);
    !headers.into_iter().any(|header| header.starts_with(&INTERPRETER))
}

/// The package has the program, the completions and every man page, where the system looks for them.
fn is_packaged(copy: &Copy) -> Result<(), String> {
    let packages = fs::read_dir(copy.packages()).map_err(|error| error.to_string())?;
    let packages: Vec<PathBuf> = packages.flatten().map(|entry| entry.path()).collect();
    let package = packages
        .iter()
        .find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.ok_or_else(|| format!("there is no package: {packages:?}"))?;
    let listed = Command::new("dpkg-deb").arg("-c").arg(package).output();
    let listed = listed.map_err(|error| format!("dpkg-deb is needed to look into it: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut wanted = [
        "bin/agentctl",
        "share/bash-completion/completions/agentctl",
        "share/zsh/vendor-completions/_agentctl",
        "share/fish/vendor_completions.d/agentctl.fish",
    ]
    .map(str::to_owned)
    .to_vec();
    let pages = files()
        .into_iter()
        .filter(|file| file.parent() == Some(Path::new("man")));
    wanted.extend(pages.map(|page| format!("share/man/man1/{}.gz", page.file_name().unwrap().display())));
    let missing = |file: &String| !listed.lines().any(|line| line.ends_with(&format!(" ./usr/{file}")));
    wanted.retain(missing);
    holds(wanted.is_empty(), &format!("not in the package: {wanted:?}\n{listed}"))
}

/// Every section tells whether a goal is met. Whether it is depends on the machine and on what else it does.
fn is_measured(report: &str) -> Result<(), String> {
    const SECTIONS: &str = "size start run throughput growing memory latency parallel sessions";
    let mut judged: Vec<&str> = Vec::new();
    let mut section = "";
    for line in report.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            section = name;
        } else if (line.starts_with("met ") || line.starts_with("NOT MET ")) && judged.last() != Some(&section) {
            judged.push(section);
        }
    }
    holds(
        judged.join(" ") == SECTIONS,
        &format!("goals are judged in {judged:?} alone"),
    )
}

/// The newest CLIs were installed, and all those tests ran against them. They may well break something.
fn has_drifted(copy: &Copy, ended: &Assert, chosen: &str) -> Result<(), String> {
    holds(ended.out().contains("tested with -> newest:\n"), "no versions are told")?;
    let log = fs::read_to_string(copy.target().join("drift.log")).map_err(|error| error.to_string())?;
    holds(
        log.lines().any(|line| line.starts_with("test result: ")),
        &format!("the tests did not run:\n{log}"),
    )?;
    let tests = log
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let tests: Vec<&str> = tests.map(|(name, _)| name).collect();
    let right = !tests.is_empty() && tests.iter().all(|name| name.contains(chosen));
    holds(right, &format!("not the tests with {chosen} in their name: {tests:?}"))
}

#[test]
fn every_slow_command_makes_what_it_is_for() {
    let commands = commands();
    if !is_required() {
        let lines: Vec<&str> = commands.iter().map(|(line, _)| line.as_str()).collect();
        return note(&format!(
            "slow commands of the README NOT RUN:\n  {}",
            lines.join("\n  ")
        ));
    }
    let copy = Copy::new();
    let mut wrong = String::new();
    for (line, check) in commands {
        let begun = Instant::now();
        let ended = copy.run(&line);
        let checked = check(&copy, &ended);
        let verdict = if checked.is_ok() { "as it should be" } else { "WRONG" };
        eprintln!("{:.0?}, {verdict}: {line}\n{}", begun.elapsed(), ended.out());
        if let Err(why) = checked {
            writeln!(wrong, "{line}\n{why}\n{ended}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_program_that_names_a_loader_is_not_static() {
    let myself = std::env::current_exe().unwrap();
    assert_eq!(is_static(&myself), cfg!(target_feature = "crt-static"));
}

#[test]
fn a_section_without_a_verdict_is_missed() {
    let section = |name: &str| format!("== {name}\n         a remark\nNOT MET  a goal: 2 ms\nmet      another: 1 ms\n");
    let names = [
        "size",
        "start",
        "run",
        "throughput",
        "growing",
        "memory",
        "latency",
        "parallel",
        "sessions",
    ];
    let whole: String = names.into_iter().map(section).collect();
    assert_eq!(is_measured(&whole), Ok(()));
    assert!(is_measured(&whole.replace(&section("memory"), "== memory\n")).is_err());
    assert!(is_measured(whole.strip_suffix(&section("sessions")).unwrap()).is_err());
}
