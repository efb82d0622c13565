//! What to try instead of a command line that was refused, where clap has no idea or a misleading one.

use super::command;
use crate::suggest;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;

/// Words that other programs use for a command of ours, with the group that they were typed in.
const SYNONYMS: &[(&str, &[&str], &str)] = &[
    ("", &["ls", "list"], "sessions list"),
    ("", &["rm", "remove", "delete", "forget"], "sessions rm"),
    ("", &["exec", "ask", "prompt", "start"], "run"),
    ("", &["continue"], "resume"),
    ("sessions", &["ls"], "sessions list"),
    ("sessions", &["forget", "delete", "remove"], "sessions rm"),
    ("sessions", &["get"], "sessions show"),
    ("config", &["get", "list", "ls"], "config show"),
    ("config", &["edit"], "config path"),
];

/// Options whose value must be joined to them, because they also mean something without one.
const JOINED: &[&str] = &["--marker", "--wait"];

/// A hint for the refused command line `args`; what clap would advise against it is taken out of the error.
pub fn advise(error: &mut clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if let Some(typed) = text(error, ContextKind::InvalidSubcommand) {
        let known = error.get(ContextKind::SuggestedSubcommand).is_some();
        return another_command(&typed, &words).filter(|_| !known);
    }
    if error.kind() == clap::error::ErrorKind::UnknownArgument && matches!(words.get(1), Some(&("run" | "resume"))) {
        // What follows `--` goes to the CLI: it is no place for a prompt.
        error.remove(ContextKind::Suggested);
        let invalid = text(error, ContextKind::InvalidArg)?;
        // One word that is like an option of ours is a slip, and clap has told it.
        let is_slip = error.get(ContextKind::SuggestedArg).is_some() && !invalid.contains(char::is_whitespace);
        return (!is_slip).then(|| another_form(&invalid, &words));
    }
    None
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Which command was meant by a word that is none.
fn another_command(typed: &str, words: &[&str]) -> Option<String> {
    let group = words.get(1).filter(|first| **first != typed).copied().unwrap_or("");
    let synonym = SYNONYMS
        .iter()
        .find(|(of, known, _)| *of == group && known.contains(&typed));
    if let Some((_, _, meant)) = synonym {
        return Some(format!("did you mean `agentctl {meant}`?"));
    }
    if !group.is_empty() {
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
