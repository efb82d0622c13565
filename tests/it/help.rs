//! Help that teaches: options in groups, with their variable and default; examples that work; a hint for a slip.

use crate::desk::{Desk, Ended as _};
use agentctl::cli::{self, SchemaName};
use agentctl::command::generate;
use agentctl::config::VARIABLES;
use assert_cmd::assert::OutputAssertExt as _;
use clap::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

fn commands(root: &Command) -> impl Iterator<Item = &Command> {
    root.get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

#[test]
fn every_option_of_run_and_resume_is_explained_and_in_a_group() {
    let root = cli::command();
    for name in ["run", "resume"] {
        let command = root.find_subcommand(name).unwrap();
        for option in command
            .get_opts()
            .chain(command.get_arguments().filter(|argument| argument.is_positional()))
        {
            assert!(option.get_help().is_some(), "{name}: {} has no help", option.get_id());
        }
        for option in command.get_arguments().filter(|argument| !argument.is_positional()) {
            let known = ["help", "version"].contains(&option.get_id().as_str());
            assert!(
                known || option.get_help_heading().is_some(),
                "{name}: {} has no heading",
                option.get_id()
            );
        }
    }
}

/// This command and everything below it.
fn all_commands(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|command| command.get_name() != "help");
    std::iter::once(command).chain(below.flat_map(all_commands)).collect()
}

#[test]
fn every_argument_of_every_command_is_explained() {
    let root = cli::command();
    let commands = commands(&root).flat_map(all_commands);
    for command in commands {
        for argument in command.get_arguments() {
            let name = command.get_name();
            assert!(
                argument.get_help().is_some(),
                "{name}: {} has no help",
                argument.get_id()
            );
        }
    }
}

#[test]
fn every_variable_is_told_with_its_option() {
    let root = cli::command();
    let run = root.find_subcommand("run").unwrap();
    let help = run.clone().render_long_help().to_string();
    let help: Vec<&str> = help.split_whitespace().collect();
    let help = help.join(" ");
    for (variable, meaning) in VARIABLES.iter().filter(|(_, meaning)| meaning.contains("(--")) {
        assert!(
            help.contains(variable),
            "`run --help` does not tell {variable}: {meaning}"
        );
    }
}

#[test]
fn every_command_has_examples_and_each_of_them_is_understood() {
    let root = cli::command();
    let help = root.find_subcommand("help").unwrap();
    for command in commands(&root).flat_map(all_commands).chain([&root, help]) {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(
            after.starts_with("Examples:\n"),
            "{} has no examples",
            command.get_name()
        );
        let examples = after.lines().filter(|line| line.starts_with("  "));
        for line in examples {
            let line = line.split(" | ").find(|part| part.contains("agentctl ")).unwrap();
            let line = line.split(" > ").next().unwrap();
            let line = line.split("<(").last().unwrap().trim_end_matches(')');
            let words = shlex::split(line).unwrap();
            // Variables before it.
            let words = words.iter().skip_while(|word| word.contains('='));
            let words: Vec<&String> = words.collect();
            let parsed = cli::command().try_get_matches_from(&words);
            let parsed = parsed.map_err(|error| error.to_string());
            assert!(parsed.is_ok(), "{words:?}: {parsed:?}");
        }
    }
}

#[test]
fn no_sentence_of_a_help_page_is_broken_in_the_middle() {
    let root = cli::command();
    for width in ["60", "80", "100", "120"] {
        for command in commands(&root).flat_map(all_commands).chain([&root]) {
            let name = command.get_display_name().unwrap_or("agentctl").replace('-', " ");
            let words: Vec<&str> = name.split(' ').skip(1).chain(["--help"]).collect();
            let desk = Desk::new();
            let help = desk.agentctl(&words).env("COLUMNS", width).assert().success().out();
            let prose = help
                .split("\n\n")
                .filter(|part| !part.contains("\n  ") && !part.starts_with("Usage:"));
            for paragraph in prose {
                let lines: Vec<&str> = paragraph.trim_end().lines().collect();
                // A line ends where the first word of the next does not fit any more.
                for pair in lines.windows(2) {
                    let next = pair[1].split(' ').next().unwrap_or_default();
                    let fits = pair[0].len() + 1 + next.len() <= width.parse::<usize>().unwrap().min(100);
                    assert!(!fits, "{width} columns, {name}: {pair:?}");
                }
            }
        }
    }
}

#[test]
fn every_help_page_is_shown_by_the_flag_and_by_the_word() {
    let desk = Desk::new();
    for command in commands(&cli::command()) {
        let by_flag = desk.run([command.get_name(), "--help"]).success();
        let by_word = desk.run(["help", command.get_name()]).success();
        assert_eq!(by_flag.out(), by_word.out());
    }
    for (topic, told) in [
        ("exit-codes", "124"),
        ("exit-codes", "rate_limit, overloaded"),
        ("environment", "AGENTCTL_STATE_DIR"),
        ("environment", "Without HOME"),
        ("json", "responseText"),
        ("mock", "[[error:KIND]]"),
        ("mock", "rate_limit"),
    ] {
        desk.run(["help", topic]).success().stdout(contains(told));
    }
}

#[test]
fn a_topic_fits_a_terminal_of_eighty_columns_and_loses_no_word() {
    let desk = Desk::new();
    for topic in ["exit-codes", "environment", "json", "mock"] {
        let shown = desk.run(["help", topic]).success().out();
        let long: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "help {topic}: {long:#?}");
        assert!(shown.lines().all(|line| line.trim_end() == line), "{shown}");
    }
    let shown = desk.run(["help", "environment"]).success().out();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (variable, meaning) in VARIABLES {
        assert!(
            words(&shown).contains(&words(&format!("{variable} {meaning}"))),
            "{variable}"
        );
    }
}

#[test]
fn the_topic_json_tells_of_every_event_and_of_every_field() {
    let told = Desk::new().run(["help", "json"]).success().out();
    let words: Vec<&str> = told
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .collect();
    let schema = |of| generate::schema_of(of).to_value();
    let events = schema(SchemaName::Event);
    let mut fields: Vec<String> = Vec::new();
    for event in events["oneOf"].as_array().unwrap() {
        let properties = event["properties"].as_object().unwrap();
        fields.push(properties["type"]["const"].as_str().unwrap().to_owned());
        fields.extend(properties.keys().cloned());
    }
    let result = schema(SchemaName::Result);
    fields.extend(result["properties"].as_object().unwrap().keys().cloned());
    // The values of a field come one by one where each has a description.
    for name in ["StopReason", "Resumed", "ErrorKind", "ToolKind"] {
        let of = &result["$defs"][name];
        let described = of["oneOf"].as_array().into_iter().flatten();
        let listed = described
            .clone()
            .flat_map(|one| one["enum"].as_array().into_iter().flatten());
        let values = of["enum"].as_array().into_iter().flatten().chain(listed);
        let values = values.chain(described.map(|one| &one["const"]));
        let values: Vec<&str> = values.filter_map(serde_json::Value::as_str).collect();
        assert!(values.len() > 2, "{name}: {of}");
        fields.extend(values.into_iter().map(str::to_owned));
    }
    let missing: Vec<&String> = fields.iter().filter(|field| !words.contains(&field.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_slip_gets_a_suggestion() {
    let desk = Desk::new();
    desk.run(["run", "-b", "mock", "--session", "ticket-1234", "hi"])
        .success();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["rnu", "x"], 2, "did you mean `agentctl run`?"),
        (&["fix the test"], 2, "agentctl run"),
        (&["run", "--modle", "x", "y"], 2, "'--model'"),
        (&["run", "-b", "cluade", "x"], 2, "`claude`"),
        (&["run", "-o", "jsn", "x"], 2, "'json'"),
        (&["run", "-b", "CLAUDE", "x"], 2, "`claude`"),
        (&["run", "-P", "readonly", "x"], 2, "did you mean `read-only`?"),
        (&["run", "--json", "x"], 2, "-o json"),
        (&["run", "-p", "x"], 2, "prints the answer by itself"),
        (&["run", "--continue", "x"], 2, "agentctl resume --last"),
        (&["run", "--yolo", "x"], 2, "full rights unless --permission"),
        (
            &["run", "--frobnicate", "x"],
            2,
            "`agentctl run --help` lists the options",
        ),
        (&["run", "--system", "-be brief", "x"], 2, "--system=VALUE"),
        (&["run", "--session", "-dash", "x"], 2, "--session=VALUE"),
        (&["run", "--max-turns", "many", "x"], 2, "a whole number"),
        (&["run", "--max-turns", "-1", "x"], 2, "a whole number"),
        (&["run", "-t", "-5", "x"], 2, "`-5` is no duration"),
        (
            &["run", "-b", "mock", "--option", "trnscript=x", "x"],
            2,
            "`transcript`",
        ),
        (&["resume", "ticket-1243", "x"], 7, "ticket-1234"),
        (&["sessions", "show", "ticket-124"], 7, "ticket-1234"),
        (&["sessions", "shwo", "x"], 2, "'show'"),
        (&["backends", "codx"], 2, "`codex`"),
        (&["doctor", "codx"], 2, "`codex`"),
        (&["sessions", "list", "-b", "codx"], 2, "`codex`"),
        (&["help", "enviroment"], 2, "`environment`"),
        (&["run", "-v is broken"], 2, "use --prompt=TEXT or standard input"),
        (&["run", "--marker me"], 2, "use --prompt=TEXT or standard input"),
        (&["run", "fix", "the", "test"], 2, "put the prompt in quotes"),
        (
            &["resume", "--last", "fix", "the", "test"],
            2,
            "put the prompt in quotes",
        ),
        (&["run", "--marker", "APPROVED", "x"], 2, "write --marker=VALUE"),
        (&["sessions", "forget", "x"], 2, "`agentctl sessions rm`"),
        (&["ls"], 2, "`agentctl sessions list`"),
        (&["list"], 2, "`agentctl sessions list`"),
        (&["config", "get"], 2, "`agentctl config show`"),
        (&["config", "help"], 2, "`agentctl help config`"),
        (&["sessions", "help"], 2, "`agentctl help sessions`"),
        (&["sessions", "help", "show"], 2, "`agentctl help sessions`"),
        (&["version"], 2, "`agentctl --version`"),
        (&["-b", "mock", "hi"], 2, "agentctl run -b"),
        (&["--model=x", "hi"], 2, "agentctl run --model"),
        (&["help", "exit-codes", "foo"], 2, "`foo` is one word too many"),
        (&["-p", "hi"], 2, "prints the answer by itself"),
        (&["--continue"], 2, "agentctl resume --last"),
        (&["run", "--disallowedTools", "Bash", "x"], 2, "--deny-tool"),
        (&["run", "--read-only", "x"], 2, "--permission LEVEL"),
        (&["run", "-s", "read-only", "x"], 2, "-P read-only"),
        (&["run", "--fork", "x"], 2, "resume --fork"),
        (&["resume", "--session", "x"], 2, "agentctl resume NAME"),
        (&["run", "--output-schema", "f", "x"], 2, "--schema FILE"),
        (&["run", "--no-color", "x"], 2, "--color never"),
        (&["run", "--version"], 2, "agentctl --version"),
        (&["config", "set", "a", "b"], 2, "`agentctl config path`"),
    ];
    for (args, code, suggestion) in cases {
        let ended = desk.run(*args).code(*code);
        ended.stderr(contains(*suggestion)).stdout("");
    }
}

#[test]
fn nobody_is_sent_the_wrong_way() {
    let desk = Desk::new();
    for (args, misleading) in [
        // What follows `--` is for the CLI and no prompt.
        (&["run", "-v is broken"][..], "'-- "),
        (&["config", "frobnicate"], "to give an agent a prompt"),
        (&["sessions", "frobnicate"], "to give an agent a prompt"),
        (&["run", "-V"], "agentctl-run"),
        (&["version"], "'sessions'"),
        (&["--frobnicate", "hi"], "agentctl run"),
        (&["run", "--yolo", "hi"], "--color"),
        (&["run", "--json", "hi"], "--prompt"),
        (&["run", "-b", "-q", "hi"], "-b=VALUE"),
        (&["run", "--disallowedTools", "Bash", "hi"], "--allow-tool"),
        (&["run", "--frok", "hi"], "--effort"),
        (&["run", "--temperatur", "hi"], "--schema-retries"),
        (&["run", "--verison"], "--permission"),
        (&["resume", "--session", "x"], "--permission"),
        (&["--verbose", "run", "hi"], "--version"),
    ] {
        desk.run(args).code(2).stderr(contains(misleading).not());
    }
    assert!(desk.run(["-V"]).out().starts_with("agentctl "));
}
