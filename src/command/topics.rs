//! `agentctl help TOPIC`: what a flag's own help is too short for.

use super::{print, put};
use crate::backend::mock::DIRECTIVES;
use crate::cli;
use crate::config::VARIABLES;
use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use crate::suggest;

pub const TOPICS: &[&str] = &["exit-codes", "environment", "json", "mock"];

pub fn help(words: &[String]) -> Result<Exit, Failure> {
    if let [topic, more, ..] = words
        && TOPICS.contains(&topic.as_str())
    {
        return Err(
            Failure::usage(format!("`{topic}` is a topic, and `{more}` is one word too many"))
                .hint(format!("`agentctl help {topic}` is all of it")),
        );
    }
    match words.first().map(String::as_str) {
        Some("exit-codes") => print(exit_codes().as_bytes()),
        Some("environment") => print(environment().as_bytes()),
        Some("json") => print(JSON.as_bytes()),
        Some("mock") => print(mock().as_bytes()),
        _ => command_help(words),
    }
}

fn command_help(words: &[String]) -> Result<Exit, Failure> {
    let mut root = cli::command();
    let mut command = &mut root;
    for word in words {
        let names: Vec<String> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(|sub| sub.get_name().to_owned())
            .collect();
        command = match command.find_subcommand_mut(word) {
            Some(found) => found,
            None => {
                let known: Vec<&str> = names.iter().map(String::as_str).chain(TOPICS.iter().copied()).collect();
                let failure = Failure::usage(format!("there is no command or topic `{word}`"));
                return Err(match suggest::closest(word, &known) {
                    Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
                    None => failure.hint(format!("there are: {}", known.join(", "))),
                });
            }
        };
    }
    let text = command.render_help();
    // Colours are for a terminal that wants them.
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => print(text.to_string().as_bytes()),
        _ => put(text.ansi().to_string().as_bytes()),
    }
}

fn exit_codes() -> String {
    let rows = Exit::TABLE
        .iter()
        .map(|(exit, meaning)| format!("{:>5}  {meaning}\n", exit.code()));
    format!(
        "How agentctl ends:\n\n{}\nA signal that ends agentctl itself counts as usual. `--marker` with no marker found does not change\nthe code: read `markerDetected`.\n",
        rows.collect::<String>()
    )
}

fn environment() -> String {
    let rows = VARIABLES
        .iter()
        .map(|(name, meaning)| format!("  {name:<26} {meaning}\n"));
    format!(
        "Variables that agentctl reads (flags win over them, they win over files):\n\n{}\nWithout HOME, the home directory that the system has for the user (passwd) is taken.\n",
        rows.collect::<String>()
    )
}

fn mock() -> String {
    let rows = DIRECTIVES
        .iter()
        .map(|(form, meaning)| format!("  {form:<18} {meaning}\n"));
    format!(
        "The mock agent repeats its prompt, unless the prompt has directives. They are followed as they come:\n\n{}\nThe kinds of errors: {}.\n\n`agentctl backends mock` lists its options, such as playing a recording.\n",
        rows.collect::<String>(),
        wrapped(&ErrorKind::names())
    )
}

/// Words in lines that fit a terminal.
fn wrapped(words: &[String]) -> String {
    let lines: Vec<String> = words.chunks(6).map(|line| line.join(", ")).collect();
    lines.join(",\n  ")
}

const JSON: &str = r#"`-o json` prints one line, the result; `-o stream-json` prints events as they happen, the last one the result.

  type            session, text, thinking, tool_start, tool_end, permission, usage, retry, warning, raw, result

The result:

  responseText    the answer, or what went wrong if there is none
  sessionId       the CLI's own id; usable with that CLI directly
  session         agentctl's key, for `agentctl resume`
  isError, error  {kind, message, hint, retryable, retryAfterMs}
  resumed         fresh, resumed or forked, as the CLI reported it
  stopReason      completed, length, turn_limit, budget_limit, permission_denied, timeout, interrupted, error
  structured      the value asked for with --schema
  usage           inputTokens excludes cached tokens, outputTokens includes reasoning, totalTokens is the sum
  costUsd         what it cost; null where the CLI does not tell. A usage event has it where it is told on the way
  deniedTools     what was refused

`agentctl schema event`, `schema result`, `schema doctor`, `schema backends` and `schema sessions` print the JSON Schemas;
`schema backend`, `schema session` and `schema prune` those of `backends NAME`, `sessions show` and `sessions prune`.
"#;
