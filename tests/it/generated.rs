//! The generated files in the repository are those that this binary would generate.
//!
//! `AGENTCTL_BLESS=1 cargo test --test it generated` writes them anew.

use agentctl::cli::{SchemaName, ShellArg};
use agentctl::command::generate;
use clap::ValueEnum;
use std::path::Path;

fn check(path: &str, fresh: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("AGENTCTL_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, fresh).unwrap();
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert!(
        kept == fresh,
        "{} is stale: AGENTCTL_BLESS=1 cargo test --test it generated",
        path.display()
    );
}

#[test]
fn completion_scripts_are_fresh() {
    for shell in ShellArg::value_variants() {
        let name = match shell {
            ShellArg::Bash => "agentctl.bash",
            ShellArg::Zsh => "_agentctl",
            ShellArg::Fish => "agentctl.fish",
            ShellArg::PowerShell => "_agentctl.ps1",
            ShellArg::Elvish => "agentctl.elv",
        };
        check(
            &format!("completions/{name}"),
            &generate::completion_script(*shell).unwrap(),
        );
    }
}

#[test]
fn man_pages_are_fresh() {
    for (name, page) in generate::man_pages().unwrap() {
        check(&format!("man/{name}"), &page);
    }
}

#[test]
fn schemas_are_fresh() {
    for name in SchemaName::value_variants() {
        let file = name.to_possible_value().unwrap().get_name().to_owned();
        let text = serde_json::to_string_pretty(&generate::schema_of(*name)).unwrap() + "\n";
        check(&format!("man/schema/{file}.json"), text.as_bytes());
    }
}
