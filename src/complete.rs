//! Values for the shell's completion: backends, profiles and conversations as they are on this machine.
//!
//! The completion scripts call agentctl back with `AGENTCTL_COMPLETE` set; nothing here may print or fail. What is offered
//! ends up in a command line, and names of conversations come from strangers: see `offer`.

use crate::catalog::Catalog;
use crate::command::topics::TOPICS;
use crate::config::{Config, Environment};
use crate::report;
use crate::request::Permission;
use crate::session::{Filter, Record, Store};
use crate::tool::ToolKind;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

const VARIABLE: &str = "AGENTCTL_COMPLETE";

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
        .bin("agentctl");
    // A shell that we don't know gets nothing, not an error in the middle of a command line.
    asked.try_complete(args.to_vec(), here.as_deref()).unwrap_or(true)
}

/// The script that a shell loads.
pub fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(shell) {
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
    let words: Vec<String> = std::env::args().collect();
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
pub fn sessions() -> Vec<CompletionCandidate> {
    records()
        .into_iter()
        .flat_map(|record| {
            let about = report::harmless_line(&format!("{} in {}", record.backend, record.cwd.display()));
            let key = CompletionCandidate::new(record.key.short()).help(Some(about.clone().into()));
            let name = record.name.and_then(|name| offer(&name));
            std::iter::once(key).chain(name.map(|name| name.help(Some(about.into()))))
        })
        .collect()
}

pub fn session_names() -> Vec<CompletionCandidate> {
    let names = records().into_iter().filter_map(|record| record.name);
    names.filter_map(|name| offer(&name)).collect()
}

/// A value as the asking shell may put it into a command line. zsh, fish and elvish quote it themselves. bash does not;
/// PowerShell does not either, and there is no form of it that a typed beginning would still fit: those have their key.
fn offer(value: &str) -> Option<CompletionCandidate> {
    let plain = |character: char| character.is_alphanumeric() || "-_./@+,".contains(character);
    if value
        .chars()
        .any(|character| character.is_control() || report::is_dangerous(character))
    {
        return None;
    }
    match ASKED_BY.get().map_or("", String::as_str) {
        _ if value.chars().all(plain) => Some(CompletionCandidate::new(value)),
        "bash" => {
            let escape = |character: char| (!plain(character)).then_some('\\').into_iter().chain([character]);
            Some(CompletionCandidate::new(
                value.chars().flat_map(escape).collect::<String>(),
            ))
        }
        "powershell" => None,
        _ => Some(CompletionCandidate::new(value)),
    }
}

fn records() -> Vec<Record> {
    let state = Environment::of_process().state_dir();
    let store = state.and_then(|state| Store::open(state).ok());
    store
        .map(|store| store.recent(&Filter::default(), SESSIONS_OFFERED).records)
        .unwrap_or_default()
}
