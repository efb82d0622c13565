//! From what was typed to a `Cli`.
//!
//! Scripts start runs by the thousand, and most of the time that clap takes goes into describing commands that were not
//! typed. So `run` and `resume` are first parsed by a command line that knows nothing else. Whatever it does not take
//! (help, a slip, a mistake) is parsed again by the whole one, which knows what to say.

use super::{Cli, ResumeArgs, RunArgs};
use clap::{Args, Command, FromArgMatches, Parser};
use std::ffi::OsString;

/// What was typed, or why it cannot be understood; help and version are such errors too.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    match parse_alone(args) {
        Some(cli) => Ok(cli),
        None => Cli::try_parse_from(args),
    }
}

/// A run, if that is what was typed and nothing is wrong with it.
fn parse_alone(args: &[OsString]) -> Option<Cli> {
    let described = match args.get(1)?.to_str()? {
        "run" => RunArgs::augment_args(Command::new("run")),
        "resume" => ResumeArgs::augment_args(Command::new("resume")),
        _ => return None,
    };
    let mut command = Command::new("agentctl").subcommand(described);
    let matches = command.try_get_matches_from_mut(args).ok()?;
    // A thousand small pieces, and the process ends soon.
    std::mem::forget(command);
    Cli::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_run_parsed_alone_is_what_the_whole_command_line_makes_of_it() {
        for line in [
            "agentctl run",
            "agentctl run hello",
            "agentctl run --prompt=-x -b codex -o json --max-turns 3 -P edit",
            "agentctl run --marker --media -e A=1 -e B=2 --allow-tool bash,read --deny-tool write x -- --raw -y",
            "agentctl run --session=a -t 90s --schema f.json --schema-retries 0 -q --strict hi",
            "agentctl resume",
            "agentctl resume --last go",
            "agentctl resume k3f9 go --fork --any-dir --last -m m",
            "agentctl resume k3f9 -- --raw",
        ] {
            let args = words(line);
            let alone = parse_alone(&args).unwrap_or_else(|| panic!("{line}"));
            let whole = Cli::try_parse_from(&args).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_no_run_or_a_mistake_gets_the_words_of_the_whole_command_line() {
        for line in [
            "agentctl",
            "agentctl --version",
            "agentctl run --help",
            "agentctl run -h",
            "agentctl run --bakend x",
            "agentctl run --max-turns many",
            "agentctl run a b",
            "agentctl resume --any-dir",
            "agentctl runn",
        ] {
            let args = words(line);
            let told = parse(&args).expect_err(line);
            let whole = Cli::try_parse_from(&args).expect_err(line);
            assert_eq!(told.to_string(), whole.to_string(), "{line}");
        }
    }

    #[test]
    fn every_way_to_refuse_a_run_alone_is_refused_by_the_whole_command_line_too() {
        let whole = super::super::command();
        for name in ["run", "resume"] {
            let described = whole.find_subcommand(name).expect("a command");
            for option in described.get_arguments().filter_map(|argument| argument.get_long()) {
                let args = words(&format!("agentctl {name} --{option} --{option}"));
                let (alone, whole) = (parse_alone(&args).is_some(), Cli::try_parse_from(&args).is_ok());
                assert_eq!(alone, whole, "{name} --{option}");
            }
        }
    }
}
