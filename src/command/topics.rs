//! `agentctl help TOPIC`: what a flag's own help is too short for.

use super::{complain, print, put};
use crate::backend::mock::DIRECTIVES;
use crate::cli;
use crate::config::VARIABLES;
use crate::error::{ErrorKind, Failure};
use crate::exit::Exit;
use crate::suggest;
use clap::builder::StyledStr;

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
        Some("exit-codes") => print(fitted(&exit_codes()).as_bytes()),
        Some("environment") => print(fitted(&environment()).as_bytes()),
        Some("json") => print(fitted(&json()).as_bytes()),
        Some("mock") => print(fitted(&mock()).as_bytes()),
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
    page(&command.render_help())
}

/// Prints a page of help at once; colours are for a terminal that wants them.
fn page(text: &StyledStr) -> Result<Exit, Failure> {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => print(text.to_string().as_bytes()),
        _ => put(text.ansi().to_string().as_bytes()),
    }
}

/// Prints what `--help` or `--version` asked for.
pub fn print_asked_for(asked: &clap::Error) -> Exit {
    page(&asked.render()).unwrap_or_else(|failure| complain(&failure))
}

fn exit_codes() -> String {
    let kinds = |exit: Exit| {
        // Which signal it was makes another code of one kind.
        let ends = |kind: &ErrorKind| match exit {
            Exit::Terminated => *kind == ErrorKind::Interrupted,
            _ => kind.exit() == exit,
        };
        let named = ErrorKind::ALL.iter().zip(ErrorKind::names());
        let names = named.filter(|(kind, _)| ends(kind)).map(|(_, name)| name);
        names.collect::<Vec<_>>().join(", ")
    };
    let rows = Exit::TABLE
        .iter()
        .map(|(exit, meaning)| format!("{:>5}  {meaning:<36}  {}", exit.code(), kinds(*exit)));
    let rows = rows.map(|row| format!("{}\n", row.trim_end()));
    format!(
        "How agentctl ends, and the error.kind of `-o json`:\n\n{}\n\
         5, 75 and 124 are worth another try; of the others error.retryable tells, for 1 may be a lost network. \
         A signal that ends agentctl itself counts as usual. A run that is still going on when the reader of its \
         output goes away (`| head`) ends like an interrupted one, with 130. `--marker` with no marker found does not change \
         the code: read `markerDetected`.\n",
        rows.collect::<String>()
    )
}

fn environment() -> String {
    let rows = VARIABLES
        .iter()
        .map(|(name, meaning)| format!("  {name:<26} {meaning}\n"));
    format!(
        "Variables that agentctl reads. Flags and a typed --profile win over them. They win over files, but do not raise \
         the level of rights that a project's .agentctl.toml leaves:\n\n{}\n\
         Without HOME, the home directory that the system has for the user (passwd) is taken.\n",
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
        ErrorKind::names().join(", ")
    )
}

/// The columns of the narrowest terminal that counts as usual.
const COLUMNS: usize = 80;

/// The text with its long lines parted between words, and what is left of them below the column that they end with.
fn fitted(text: &str) -> String {
    text.lines().map(|line| fitted_line(line) + "\n").collect()
}

fn fitted_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let column = line[indent..].rfind("  ").map_or(indent, |gap| indent + gap + 2);
    let mut fitted = line[..column].to_owned();
    let mut length = column;
    for (at, word) in line[column..].split(' ').enumerate() {
        let needed = word.chars().count() + usize::from(at > 0);
        if at > 0 && length + needed > COLUMNS {
            fitted.push_str(&format!("\n{:column$}", ""));
            length = column;
        } else if at > 0 {
            fitted.push(' ');
        }
        fitted.push_str(word);
        length += needed;
    }
    fitted
}

fn json() -> String {
    format!(
        "{JSON}\nThe kinds of errors: {}.\n\n{JSON_SCHEMAS}",
        ErrorKind::names().join(", ")
    )
}

const JSON: &str = r#"`-o json` prints one line, the result; `-o stream-json` prints events as they happen, the last one the result:

  agentctl run -o json "hello" | jq -r .responseText
  agentctl run -o stream-json "hello" | jq 'select(.type == "tool_start").name'

The events, by their type:

  session         sessionId, session, model; again when more is known
  text, thinking  text: a piece of the answer, of the reasoning
  tool_start      id, name, kind, input
  tool_end        id, name, kind, ok, denied, output
  permission      tool, kind, decision (asked, denied), reason
  usage           usage so far, and costUsd where the CLI tells it on the way
  retry           attempt, maxAttempts, delayMs, reason: the CLI tries again
  warning         message
  raw             line: as the CLI wrote it, with --raw-events
  result          the end of the run

The kind of a tool: bash, read, edit, write, search, fetch, mcp, task, plan, other.

The result:

  responseText    the answer, or what went wrong if there is none
  sessionId       the CLI's own id; usable with that CLI directly
  session, name   agentctl's key, for `agentctl resume`, and the name that --session gave
  isError, error  {kind, message, hint, retryable, retryAfterMs}
  resumed         fresh, resumed or forked, as the CLI reported it
  stopReason      completed, length, turn_limit, budget_limit, permission_denied, timeout, interrupted, error
  structured      the value asked for with --schema
  markerDetected  whether --marker was found; null without it
  media           what --media took out of the answer
  deniedTools     what was refused: {name, kind, reason}
  turns           responses of the model; toolCalls: tools that it used
  usage           inputTokens excludes cached tokens, outputTokens includes reasoning, totalTokens is the sum
  costUsd         what it cost; null where the CLI does not tell
  durationMs      how long the run took
  exitCode        of the CLI, and signal if one ended it; they prove nothing
  warnings        what could not be honoured, and what else to know
  backend, model  who answered; schema: the version of this form, 1
"#;

const JSON_SCHEMAS: &str = "\
`agentctl schema event`, `schema result`, `schema doctor`, `schema backends` and `schema sessions` print the JSON Schemas; \
`schema backend`, `schema session` and `schema prune` those of `backends NAME`, `sessions show` and `sessions prune`.
";
