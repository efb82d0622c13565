//! The generated files in the repository are those that this binary would generate.
//!
//! `AGENTCTL_BLESS=1 cargo test --test it generated` writes them anew.

#[cfg(unix)]
use crate::desk::{Desk, Ended as _};
use agentctl::cli::{SchemaName, ShellArg};
use agentctl::command::generate;
#[cfg(unix)]
use assert_cmd::assert::OutputAssertExt as _;
use clap::ValueEnum;
use std::path::Path;

pub fn check(path: &str, fresh: &[u8]) {
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

#[cfg(unix)]
#[test]
fn the_page_that_is_printed_is_the_one_that_is_installed() {
    let printed = Desk::new().run(["man"]).out();
    let pages = generate::man_pages().unwrap();
    let (_, installed) = pages.iter().find(|(name, _)| name == "agentctl.1").unwrap();
    assert_eq!(printed.as_bytes(), installed);
    for (name, page) in &pages {
        let version = concat!("\"agentctl ", env!("CARGO_PKG_VERSION"), "\"");
        assert!(String::from_utf8_lossy(page).contains(version), "{name}");
    }
}

#[test]
fn the_synopsis_says_what_comes_before_arguments_of_the_cli() {
    for (name, page) in generate::man_pages().unwrap() {
        let page = String::from_utf8_lossy(&page).into_owned();
        let synopsis = page.lines().find(|line| line.starts_with(r"\fBagentctl")).unwrap();
        let told = synopsis.contains(r"[\-\- \fIBACKEND_ARGS\fR...]");
        assert_eq!(
            told,
            ["agentctl-run.1", "agentctl-resume.1"].contains(&name.as_str()),
            "{name}: {synopsis}"
        );
    }
}

#[test]
fn no_man_page_names_one_that_is_not_there() {
    let pages = generate::man_pages().unwrap();
    let names: Vec<String> = pages.iter().map(|(name, _)| name.replace(".1", "(1)")).collect();
    let mut named = 0;
    for (name, page) in &pages {
        let page = String::from_utf8_lossy(page).replace("\\-", "-");
        for line in page.lines().filter(|line| line.ends_with("(1)")) {
            assert!(names.iter().any(|name| name == line), "{name} names {line}");
            named += 1;
        }
    }
    assert!(named > 10, "only {named}");
}

#[test]
fn schemas_are_fresh() {
    for name in SchemaName::value_variants() {
        let file = name.to_possible_value().unwrap().get_name().to_owned();
        let text = serde_json::to_string_pretty(&generate::schema_of(*name)).unwrap() + "\n";
        check(&format!("man/schema/{file}.json"), text.as_bytes());
    }
}

/// A shell that keeps the script of one version, and finds another version of agentctl, must not hang.
#[cfg(unix)]
#[test]
fn the_completion_of_bash_comes_to_an_end_whatever_it_is_answered() {
    let script = r#"
        ulimit -t 10
        . <(agentctl completions bash)
        agentctl() { printf "$ANSWER"; }
        COMP_LINE='agentctl r' COMP_POINT=10 COMP_WORDS=(agentctl r) COMP_CWORD=1
        for ANSWER in 'run\013resume\013' 'run\013resume' 'run' ''; do
            _clap_complete_agentctl agentctl r agentctl
            echo "${COMPREPLY[*]-nothing}"
        done"#;
    Desk::new()
        .shell(script)
        .success()
        .stdout("run resume\nrun resume\nrun\nnothing\n");
}

#[cfg(unix)]
#[test]
fn a_completion_that_is_asked_for_behind_all_words_is_one_of_a_new_word() {
    let desk = Desk::new();
    let offered = |index: &str| {
        let mut command = desk.agentctl(["--", "agentctl", "help"]);
        command
            .env("AGENTCTL_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", index);
        command.assert().success().stderr("").out()
    };
    for beyond in ["3", "99999999999", &usize::MAX.to_string()] {
        assert_eq!(offered(beyond), offered("2"));
    }
}

/// Checks every value of this output.
#[cfg(unix)]
fn fits(desk: &Desk, name: &str, args: &[&str]) {
    let schema = desk.run(["schema", name]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let ended = desk.run(args);
    let printed = ended.out();
    assert_ne!(printed, "", "{ended}");
    for value in serde_json::Deserializer::from_str(&printed).into_iter::<serde_json::Value>() {
        let value = value.unwrap();
        let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{args:?}: {wrong:?} in {value}");
        if let (Some(told), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
            let unknown: Vec<&String> = fields.keys().filter(|field| !told.contains_key(*field)).collect();
            assert!(unknown.is_empty(), "the schema {name} does not tell of {unknown:?}");
        }
    }
    let nonsense = serde_json::json!({"type": "nonsense"});
    assert!(!validator.is_valid(&nonsense), "{name} takes anything");
}

#[cfg(unix)]
#[test]
fn what_is_printed_fits_its_schema() {
    let desk = Desk::new();
    let everything = "[[think:hm]] [[tool:ls]] [[write:x]] [[read:x]] [[retry:1]] [[say:done]]";
    for (prompt, args) in [
        (everything, &["mock"][..]),
        (everything, &["mock", "--session", "a name", "--marker", "--raw-events"]),
        (everything, &["mock", "-P", "read-only", "--ephemeral"]),
        (everything, &["mock", "--deny-tool", "bash"]),
        ("[[error:rate_limit]]", &["mock", "-m", "mock-1"]),
        ("[[loop]]", &["mock", "--max-turns", "2"]),
        ("hello", &["nosuch"]),
        ("hello", &["claude"]),
    ] {
        let all = [&["run", "-b"], args, &["-o"]].concat();
        fits(&desk, "event", &[&all[..], &["stream-json", prompt]].concat());
        fits(&desk, "result", &[&all[..], &["json", prompt]].concat());
    }
    fits(&desk, "sessions", &["sessions", "list", "--json"]);
    fits(&desk, "session", &["sessions", "show", "--json", "a name"]);
    fits(
        &desk,
        "prune",
        &["sessions", "prune", "--keep", "0", "--dry-run", "--json"],
    );
    fits(&desk, "backends", &["backends", "--json"]);
    fits(&desk, "backend", &["backends", "mock", "--json"]);
    fits(&desk, "doctor", &["doctor", "--json", "mock", "claude"]);
}
