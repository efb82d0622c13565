//! What to try instead of a command line that was refused, where clap has no idea or a misleading one.

use super::{command, foreign};
use crate::suggest;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// Options whose value must be joined to them, because they also mean something without one.
const JOINED: &[&str] = &["--marker", "--wait"];

/// A hint for the refused command line `args`; what clap would advise against it is taken out of the error.
pub fn advise(error: &mut clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if let Some(typed) = text(error, ContextKind::InvalidSubcommand) {
        let synonym = synonym(&typed, &words);
        if synonym.is_some() {
            // It is meant, and not what is spelled like it.
            error.remove(ContextKind::SuggestedSubcommand);
        }
        let known = error.get(ContextKind::SuggestedSubcommand).is_some();
        return synonym.or_else(|| another_command(&typed, &words).filter(|_| !known));
    }
    if error.kind() == clap::error::ErrorKind::UnknownArgument {
        keep_what_is_near(error);
        let option = text(error, ContextKind::InvalidArg).unwrap_or_default();
        if words.get(1).and_then(|word| word.split('=').next()) == Some(&option) {
            return without_a_command(error, &option);
        }
    }
    if !matches!(words.get(1), Some(&("run" | "resume"))) {
        return None;
    }
    match error.kind() {
        clap::error::ErrorKind::UnknownArgument => unknown_argument(error, &words),
        clap::error::ErrorKind::InvalidValue => joined_value(&words),
        _ => None,
    }
}

/// clap also suggests what is only somewhat like the option, and so sends people anywhere.
fn keep_what_is_near(error: &mut clap::Error) {
    let (Some(typed), Some(suggested)) = (
        text(error, ContextKind::InvalidArg),
        text(error, ContextKind::SuggestedArg),
    ) else {
        return;
    };
    let near = strsim::osa_distance(&typed, &suggested) <= 2 || suggested.starts_with(&typed);
    if !near {
        error.remove(ContextKind::SuggestedArg);
        // It was made for the suggestion.
        error.remove(ContextKind::Usage);
    }
}

/// What was meant by an option in the place of the command.
fn without_a_command(error: &mut clap::Error, option: &str) -> Option<String> {
    let advice = match is_of_a_run(option) {
        true => Some(format!("options come after the command: agentctl run {option}")),
        false => foreign::option(option).map(str::to_owned),
    };
    if advice.is_some() {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    advice
}

/// What was meant by a word of a run that is neither an option nor its prompt.
fn unknown_argument(error: &mut clap::Error, words: &[&str]) -> Option<String> {
    // What follows `--` goes to the CLI: it is no place for a prompt.
    error.remove(ContextKind::Suggested);
    let invalid = text(error, ContextKind::InvalidArg)?;
    let is_typed = |word: &&str| word.split('=').next() == Some(&invalid);
    let is_word = !invalid.contains(char::is_whitespace) && words.iter().any(is_typed);
    if let Some(advice) = foreign::option(&invalid).filter(|_| is_word) {
        // It is meant, and not what is spelled like it.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        return Some(advice.to_owned());
    }
    // One word that is like an option of ours is a slip, and clap has told it.
    let is_slip = error.get(ContextKind::SuggestedArg).is_some() && !invalid.contains(char::is_whitespace);
    if is_slip {
        return None;
    }
    joined_value(words).or_else(|| match is_word && invalid.starts_with('-') {
        true => Some(format!(
            "`agentctl {} --help` lists the options; a prompt that begins with `-` goes by --prompt=TEXT",
            words[1]
        )),
        false => Some(another_form(&invalid, words)),
    })
}

/// The form of a value that begins with `-` and was taken for an option, if there is one.
fn joined_value(words: &[&str]) -> Option<String> {
    let root = command();
    let run = root.find_subcommand(words.get(1)?)?;
    let takes_value = |word: &str| {
        run.get_opts().any(|option| {
            let is_it = word
                .strip_prefix("--")
                .is_some_and(|long| option.get_long() == Some(long))
                || (word.len() == 2 && option.get_short().is_some_and(|short| word == format!("-{short}")));
            is_it && !JOINED.contains(&word)
        })
    };
    let pair = words
        .windows(2)
        .take_while(|pair| pair[0] != "--")
        .find(|pair| takes_value(pair[0]) && pair[1].starts_with('-'))?;
    let [flag, value] = pair else { return None };
    // `-b -q` has forgotten a value, more likely than that it has one that looks like an option.
    let is_option = run.get_arguments().any(|option| {
        option
            .get_long()
            .is_some_and(|long| value.strip_prefix("--") == Some(long))
            || option.get_short().is_some_and(|short| *value == format!("-{short}"))
    });
    (!is_option).then(|| format!("a value that begins with `-` is joined to its option: {flag}=VALUE"))
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// What a word that other programs use stands for here.
fn synonym(typed: &str, words: &[&str]) -> Option<String> {
    let meant = foreign::command(group(typed, words), typed)?;
    Some(format!("did you mean `agentctl {meant}`?"))
}

/// The command that the word was typed after, if there is one.
fn group<'a>(typed: &str, words: &[&'a str]) -> &'a str {
    words.get(1).filter(|first| **first != typed).copied().unwrap_or("")
}

/// Whether it is an option of `run`, which was typed without it.
fn is_of_a_run(option: &str) -> bool {
    let root = command();
    let Some(run) = root.find_subcommand("run") else {
        return false;
    };
    let short = |argument: &clap::Arg| argument.get_short().map(|short| format!("-{short}"));
    let long = |argument: &clap::Arg| argument.get_long().map(|long| format!("--{long}"));
    run.get_arguments()
        .any(|argument| [short(argument), long(argument)].contains(&Some(option.to_owned())))
}

/// Which command was meant by a word that is none.
fn another_command(typed: &str, words: &[&str]) -> Option<String> {
    if !group(typed, words).is_empty() {
        return None;
    }
    let root = command();
    let commands: Vec<&str> = root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    Some(match suggest::closest(typed, &commands) {
        Some(similar) => format!("did you mean `agentctl {similar}`?"),
        None => "to give an agent a prompt: agentctl run \"PROMPT\"".to_owned(),
    })
}

/// How a prompt is written that was taken for something else.
fn another_form(invalid: &str, words: &[&str]) -> String {
    let joined = JOINED.iter().find(|flag| words.contains(flag));
    match (invalid.starts_with('-'), joined) {
        (true, _) => "a prompt that begins with `-`: use --prompt=TEXT or standard input".to_owned(),
        (false, Some(flag)) => format!("write {flag}=VALUE: without `=` the next word is the prompt"),
        (false, None) => "put the prompt in quotes".to_owned(),
    }
}
