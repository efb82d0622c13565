//! Values for the shell's completion: backends, profiles and conversations as they are on this machine.
//!
//! The completion scripts call agentctl back with `AGENTCTL_COMPLETE` set; nothing here may print or fail. What is offered
//! ends up in a command line, and names of conversations come from strangers: see `offer`.

mod bash;
mod word;

use crate::catalog::Catalog;
use crate::command::topics::TOPICS;
use crate::config::{Config, Environment};
use crate::report;
use crate::request::Permission;
use crate::session::{Record, Store};
use crate::tool::ToolKind;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Elvish, Fish, Powershell, Shells, Zsh};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::OnceLock;
use word::Typed;

const VARIABLE: &str = "AGENTCTL_COMPLETE";

const SHELLS: Shells<'_> = Shells(&[&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh]);

/// The most conversations offered.
const SESSIONS_OFFERED: usize = 50;

/// The shell that asks. The variable itself is gone by the time when values are wanted.
static ASKED_BY: OnceLock<String> = OnceLock::new();

/// Answers a completion script. False if none asks.
pub fn answer(args: &[OsString]) -> bool {
    let Some(shell) = std::env::var_os(VARIABLE) else {
        return false;
    };
    let _ = ASKED_BY.set(shell.to_string_lossy().into_owned());
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(crate::cli::command)
        .var(VARIABLE)
        .bin("agentctl")
        .shells(SHELLS);
    let mut args = args.to_vec();
    if shell == "zsh" || shell == "fish" {
        unquote(&mut args);
    }
    // A shell that we don't know gets nothing, not an error in the middle of a command line.
    asked.try_complete(args, here.as_deref()).unwrap_or(true)
}

/// zsh and fish tell the word as it was typed, and want values as they are.
fn unquote(args: &mut [OsString]) {
    let Some(separator) = args.iter().position(|arg| arg == "--") else {
        return;
    };
    let words = &mut args[separator + 1..];
    let index = index(words);
    if let Some(word) = words.get_mut(index) {
        *word = Typed::of(&word.to_string_lossy()).value().into();
    }
}

/// Which of the words is to be completed: fish does not say, and means the last.
fn index(words: &[OsString]) -> usize {
    let told = std::env::var("_CLAP_COMPLETE_INDEX").ok();
    told.and_then(|index| index.parse().ok())
        .unwrap_or(words.len().saturating_sub(1))
}

/// The script that a shell loads.
pub fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    if let Some(completer) = SHELLS.completer(shell) {
        completer.write_registration(VARIABLE, "agentctl", "agentctl", "agentctl", &mut script)?;
    }
    if shell == "zsh" && script.ends_with(ZSH_REGISTRATION.as_bytes()) {
        script.truncate(script.len() - ZSH_REGISTRATION.len());
        script.extend_from_slice(ZSH_AUTOLOADED.as_bytes());
    }
    Ok(script)
}

const ZSH_REGISTRATION: &str = "compdef _clap_dynamic_completer_agentctl agentctl\n";

/// In a directory of `fpath` the file itself is the function, which must also answer when it is loaded: the first time.
const ZSH_AUTOLOADED: &str = "\
if [[ $funcstack[1] == _agentctl ]]; then
    _clap_dynamic_completer_agentctl \"$@\"
else
    compdef _clap_dynamic_completer_agentctl agentctl
fi
";

fn config() -> Config {
    let environment = Environment::of_process();
    Config::load(environment, Path::new(".")).unwrap_or_default()
}

pub fn backends() -> Vec<CompletionCandidate> {
    let names = Catalog::of(&config())
        .map(|catalog| catalog.names())
        .unwrap_or_default();
    names.iter().filter_map(|name| offer(name)).collect()
}

pub fn profiles() -> Vec<CompletionCandidate> {
    let profiles = config().file.profiles;
    profiles.keys().filter_map(|name| offer(name)).collect()
}

/// What `agentctl help` explains: commands with what they do, and topics.
pub fn help_topics() -> Vec<CompletionCandidate> {
    let root = crate::cli::command();
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let commands =
        commands.map(|command| CompletionCandidate::new(command.get_name()).help(command.get_about().cloned()));
    let topics = TOPICS.iter().map(|topic| CompletionCandidate::new(*topic));
    commands.chain(topics).collect()
}

pub fn permissions() -> Vec<CompletionCandidate> {
    let levels = [Permission::ReadOnly, Permission::Edit, Permission::Full];
    levels.map(|level| CompletionCandidate::new(level.name())).into()
}

pub fn tools() -> Vec<CompletionCandidate> {
    let kinds = ToolKind::NAMEABLE.iter();
    kinds.map(|kind| CompletionCandidate::new(kind.name())).collect()
}

/// The options of the backend that the command line names so far.
pub fn options() -> Vec<CompletionCandidate> {
    let config = config();
    let words = std::env::args_os().map(|word| Typed::of(&word.to_string_lossy()).value().to_owned());
    let words: Vec<String> = words.collect();
    let backend = named_backend(&words).or_else(|| config.layers(None, None).ok().map(|(_, default)| default));
    let (Ok(catalog), Some(backend)) = (Catalog::of(&config), backend) else {
        return Vec::new();
    };
    let Ok(backend) = catalog.find(&backend) else {
        return Vec::new();
    };
    let options = backend.options().iter();
    options
        .map(|(name, about)| CompletionCandidate::new(format!("{name}=")).help(Some((*about).to_owned().into())))
        .collect()
}

/// What `-b` or `--backend` was given.
fn named_backend(words: &[String]) -> Option<String> {
    words
        .iter()
        .enumerate()
        .rev()
        .find_map(|(position, word)| match word.as_str() {
            "-b" | "--backend" => words.get(position + 1).cloned(),
            word => word.strip_prefix("--backend=").map(str::to_owned),
        })
}

/// By key and, where they have one, by name.
pub fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let mut offered = Vec::new();
    for record in records(|record| key(record, &typed).is_some() || is_named(record, &typed)) {
        let about = report::harmless_line(&format!("{} in {}", record.backend, record.cwd.display()));
        let named = record.name.as_deref().filter(|_| is_named(&record, &typed));
        let key = key(&record, &typed).map(CompletionCandidate::new);
        let both = key.into_iter().chain(named.and_then(offer));
        offered.extend(both.map(|one| one.help(Some(about.clone().into()))));
    }
    offered
}

pub fn session_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let records = records(|record| is_named(record, &typed)).into_iter();
    records.filter_map(|record| offer(&record.name?)).collect()
}

fn is_named(record: &Record, typed: &str) -> bool {
    record.name.as_ref().is_some_and(|name| name.starts_with(typed))
}

/// As much of the key as is usually shown, or all of it where more was typed.
fn key(record: &Record, typed: &str) -> Option<String> {
    let forms = [record.key.short().to_owned(), record.key.to_string()];
    forms.into_iter().find(|form| form.starts_with(typed))
}

/// A value, unless the asking shell would not put it into a command line as one word. zsh, fish and elvish quote it
/// themselves, and for bash we do. PowerShell does not, and there is no form of it that a typed beginning would still
/// fit: those have their key. There `@` and `,` mean something where a word begins.
fn offer(value: &str) -> Option<CompletionCandidate> {
    let plain = |character: char| character.is_alphanumeric() || "-_./@+,".contains(character);
    let obeyed = |character: char| character.is_control() || report::is_dangerous(character);
    let unquoted = ASKED_BY.get().is_some_and(|shell| shell == "powershell");
    let is_word = value.chars().all(plain) && !value.starts_with(['@', ',']);
    let fits = !value.contains(obeyed) && (!unquoted || is_word);
    fits.then(|| CompletionCandidate::new(value))
}

/// The last used first.
fn records(wanted: impl Fn(&Record) -> bool) -> Vec<Record> {
    let state = Environment::of_process().state_dir();
    let Some(store) = state.and_then(|state| Store::open(state).ok()) else {
        return Vec::new();
    };
    store.recent_such(wanted, SESSIONS_OFFERED).records
}
