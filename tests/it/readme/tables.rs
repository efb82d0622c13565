//! What the README tells about the code is so: its tables, and the Rust that it asks for.

use super::block::{root, text};
use agentctl::backend::{self, Feature, SupportLevel};
use agentctl::exit::Exit;
use std::fmt::Write as _;

#[test]
fn the_rust_that_it_asks_for_is_the_one_of_the_manifest_and_of_the_workflow() {
    let rust = env!("CARGO_PKG_RUST_VERSION");
    let workflow = std::fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
    assert!(text().contains(&format!("Rust {rust} or newer")));
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
    let mut fresh = text();
    for (name, table) in [("exit-codes", exit_codes()), ("matrix", matrix()), ("rights", rights())] {
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) = fresh.split_once(&begin).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        fresh = format!("{before}{begin}{table}<!-- end -->{after}");
    }
    if std::env::var_os("AGENTCTL_BLESS").is_some() {
        std::fs::write(root().join("README.md"), fresh).unwrap();
        return;
    }
    assert!(
        fresh == text(),
        "the tables are stale: AGENTCTL_BLESS=1 cargo test --test it readme"
    );
}
