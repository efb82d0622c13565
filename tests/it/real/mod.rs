//! The real CLIs behind agentctl, against the scripted model: one table of scenarios × five backends.
//!
//! A scenario is a function of [`Cli`]; `for_every_cli!` makes five tests of it, and each file holds a theme:
//!
//! ```text
//! AGENTCTL_REAL=require cargo test --test it real::                       # the whole table
//! AGENTCTL_REAL=require cargo test --test it real::tools::shell_tool      # one row
//! AGENTCTL_REAL=require cargo test --test it real::tools::shell_tool::pi  # one cell
//! AGENTCTL_REAL_BACKEND=pi AGENTCTL_REAL=require cargo test --test it real::   # one column
//! ```
//!
//! Where a CLI cannot do a thing, the cell asks [`support`], which is the table that agentctl itself goes by, and proves
//! the warning or the error instead. What reached the model is the proof for whatever goes into a prompt.

mod answers;
mod conversations;
mod ending;
mod errors;
mod hostile;
mod limits;
mod literal;
mod prompts;
mod reading;
mod rights;
mod schema;
mod symlinks;
mod tools;

use std::time::Duration;

use agentctl::backend::{self, Feature, Support};
use serde_json::{Value, json};

use crate::model::{Model, tokens};
use crate::world::{Cli, Outcome, Run, World};

/// Enough for a CLI to start, and to use a tool, on a busy machine.
const LONG: Duration = Duration::from_secs(90);

/// What agentctl says that this backend can do.
fn support(cli: Cli, feature: Feature) -> Support {
    let backend = backend::find(cli.name()).expect("every CLI of the table is a backend");
    backend.capabilities().of(feature)
}

fn can(cli: Cli, feature: Feature) -> bool {
    support(cli, feature).is_supported()
}

/// `agentctl run` with this backend, told as events.
fn run<'a>(world: &'a World<'a>, cli: Cli) -> Run<'a> {
    told(world, &["run", "-b", cli.name()])
}

/// `agentctl resume` of this conversation, told as events.
fn resume<'a>(world: &'a World<'a>, session: &str) -> Run<'a> {
    told(world, &["resume", session])
}

fn told<'a>(world: &'a World<'a>, command: &[&str]) -> Run<'a> {
    let run = world.agentctl(command).args(["-o", "stream-json"]);
    run.arg("--record").arg(world.exchange())
}

/// One run that has ended, with its events. Every check prints what is needed to repeat it by hand.
struct Turn<'a> {
    outcome: Outcome<'a>,
    events: Vec<Value>,
}

/// Runs it with this prompt, and expects an answer.
fn ask<'a>(run: Run<'a>, prompt: &str) -> Turn<'a> {
    let turn = Turn::of(run.stdin(prompt).run().exits(0));
    turn.is("isError", false);
    turn.is("error", Value::Null);
    turn
}

/// Runs it with this prompt, and expects this exit code and kind of error.
fn refused<'a>(run: Run<'a>, prompt: &str, code: i32, kind: &str) -> Turn<'a> {
    let turn = Turn::of(run.stdin(prompt).run().exits(code));
    turn.is("isError", true);
    turn.check(
        turn.result()["error"]["kind"] == kind,
        &format!("the kind of error is {kind}"),
    );
    turn
}

impl<'a> Turn<'a> {
    fn of(outcome: Outcome<'a>) -> Self {
        let events = outcome.json_lines();
        let ends = |event: &Value| event["type"] == "result";
        outcome.check(
            events.last().is_some_and(ends) && events.iter().filter(|event| ends(event)).count() == 1,
            "one result, at the end",
        );
        Self { outcome, events }
    }

    fn result(&self) -> &Value {
        self.events.last().expect("checked when it ended")
    }

    fn answer(&self) -> &str {
        self.text_of("responseText")
    }

    /// The CLI's own id of the conversation.
    fn native_id(&self) -> &str {
        self.text_of("sessionId")
    }

    /// agentctl's key of the conversation.
    fn key(&self) -> &str {
        self.text_of("session")
    }

    fn text_of(&self, field: &str) -> &str {
        let value = self.result()[field].as_str();
        value.unwrap_or_else(|| self.outcome.fail(&format!("{field} is a text")))
    }

    /// The events of this type.
    fn told(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// The pieces of text, or of thinking, in one.
    fn joined(&self, kind: &str) -> String {
        let pieces = self.told(kind);
        pieces.iter().filter_map(|event| event["text"].as_str()).collect()
    }

    /// The tools that ran, as their canonical kind; each that was begun has ended.
    fn tools(&self) -> Vec<&str> {
        let begun = self.told("tool_start").len();
        let ended = self.told("tool_end");
        self.check(begun == ended.len(), "every tool that is begun is ended");
        self.check(ended.iter().all(|event| event["ok"] == true), "every tool works");
        ended.iter().filter_map(|event| event["kind"].as_str()).collect()
    }

    fn check(&self, holds: bool, expected: &str) {
        self.outcome.check(holds, expected);
    }

    /// A field of the result has this value.
    fn is(&self, field: &str, wanted: impl Into<Value>) {
        let wanted = wanted.into();
        self.check(self.result()[field] == wanted, &format!("{field} is {wanted}"));
    }

    /// A warning that holds these words reached both people and programs.
    fn warns(&self, words: &str) {
        let warnings = self.result()["warnings"].to_string();
        self.check(warnings.contains(words), &format!("a warning has {words:?}"));
        self.check(self.outcome.stderr().contains(words), &format!("stderr has {words:?}"));
    }

    fn has_no_warnings(&self) {
        let warnings = self.result()["warnings"].as_array().cloned().unwrap_or_default();
        let new: Vec<_> = warnings
            .iter()
            .filter(|warning| !warning.as_str().is_some_and(is_known))
            .collect();
        self.check(new.is_empty(), "no warnings");
    }
}

/// A warning that has nothing to do with agentctl: Codex does not know the scripted model.
fn is_known(warning: &str) -> bool {
    warning.contains("Model metadata for `") && warning.contains("-model` not found")
}

/// Arguments that keep a CLI to one model: Gemini's default asks another one which model to ask, and that costs tokens.
fn steady_model(cli: Cli) -> &'static [&'static str] {
    match cli {
        Cli::Gemini => &["-m", "gemini-2.5-flash"],
        _ => &[],
    }
}

/// What this many answers of the model cost, as agentctl counts it.
fn usage(cli: Cli, answers: u64) -> Value {
    // Only Anthropic's wire tells what was written to the cache. Elsewhere that is input like any other.
    let (fresh, written) = match cli {
        Cli::Claude => (tokens::FRESH, tokens::CACHE_WRITE),
        _ => (tokens::FRESH + tokens::CACHE_WRITE, 0),
    };
    let reasoning = match cli {
        // Anthropic's wire does not tell it, and Pi does not hand it on.
        Cli::Claude | Cli::Pi => 0,
        _ => tokens::REASONING,
    };
    json!({
        "inputTokens": answers * fresh, "cacheReadTokens": answers * tokens::CACHE_READ,
        "cacheWriteTokens": answers * written, "outputTokens": answers * tokens::OUTPUT,
        "reasoningTokens": answers * reasoning, "totalTokens": answers * (tokens::INPUT + tokens::OUTPUT),
    })
}

/// How often the model was asked.
fn calls(model: &Model) -> usize {
    model.requests().len()
}
