//! `--option NAME=VALUE` for Codex.

use super::{DISPLAY_NAME, toml};
use crate::backend::Launch;
use crate::backend::options::check;
use crate::error::Failure;
use crate::request::Permission;
use std::collections::BTreeMap;

/// Every option and what it does.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "reasoning-summary",
        "auto, concise, detailed or none: how much of its reasoning the model tells",
    ),
    ("verbosity", "low, medium or high: how wordy the answer is"),
    (
        "web-search",
        "disabled, cached or live: the web search tool; only at `--permission full`",
    ),
    (
        "trust-project",
        "yes or no: below `--permission full`, whether the project's .codex folder and AGENTS.md are read",
    ),
];

fn values(option: &str) -> &'static [&'static str] {
    match option {
        "reasoning-summary" => &["auto", "concise", "detailed", "none"],
        "verbosity" => &["low", "medium", "high"],
        "web-search" => &["disabled", "cached", "live"],
        "trust-project" => &["yes", "no"],
        _ => &[],
    }
}

/// Checked options.
#[derive(Debug, Default)]
pub struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    pub fn new(given: &'a BTreeMap<String, String>, level: Permission) -> Result<Self, Failure> {
        let mut options = Self::default();
        check(DISPLAY_NAME, given, OPTIONS)?;
        for (name, value) in given {
            let values = values(name);
            if !values.contains(&value.as_str()) {
                return Err(
                    Failure::usage(format!("`{value}` is no value of Codex' option `{name}`"))
                        .hint(format!("it takes {}", values.join(", "))),
                );
            }
            options.0.insert(name, value);
        }
        if options.get("web-search").is_some_and(|value| value != "disabled") && level != Permission::Full {
            return Err(Failure::usage(format!(
                "a web search is more than `--permission {}` allows",
                level.name()
            ))
            .hint("use `--permission full`, or leave `web-search` away"));
        }
        Ok(options)
    }

    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    pub fn give(&self, launch: &mut Launch) {
        let summary = self.get("reasoning-summary").unwrap_or("auto");
        launch.args([
            "-c".to_owned(),
            format!("model_reasoning_summary={}", toml::string(summary)),
        ]);
        if let Some(verbosity) = self.get("verbosity") {
            launch.args(["-c".to_owned(), format!("model_verbosity={}", toml::string(verbosity))]);
        }
    }
}
