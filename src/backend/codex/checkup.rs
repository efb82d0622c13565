//! How Codex is examined. `codex doctor` would ask the provider over the network, so `login status` and the
//! configuration file tell about the login.

use crate::backend::Site;
use crate::backend::checkup::{
    Auth, Checkup, Learned, NO_FLAG, PaidBy, Question, Reply, Sandbox, Seen, Topic, Trap, first_refused,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the CLI keeps its things.
pub fn directory(site: &Site) -> PathBuf {
    site.env("CODEX_HOME")
        .map_or_else(|| site.home.join(".codex"), PathBuf::from)
}

pub fn checkup(site: &Site) -> Checkup {
    let directory = directory(site);
    Checkup {
        files: vec![directory.join("config.toml"), directory.join("auth.json")],
        directories: vec![directory],
        auth,
        default_model: |seen| config(seen)?.model,
        questions,
        traps,
    }
}

/// The flags that plans use; the last one ends it before anything else is looked at.
const FLAGS: &[&str] = &[
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--color",
    "never",
    "-C",
    ".",
    "-m",
    "x",
    "-c",
    "a=1",
    "-s",
    "read-only",
    "--add-dir",
    ".",
    "--output-schema",
    "x",
    "--ephemeral",
    "--ignore-rules",
    "--disable",
    "x",
    "--image=x",
    "--dangerously-bypass-approvals-and-sandbox",
    NO_FLAG,
];

fn questions(seen: &Seen<'_>) -> Vec<Question> {
    let site = seen.site;
    let directory = directory(site);
    let flags = Question::new(site, Topic::Flags, FLAGS, |reply| {
        first_refused(reply.stderr, "unexpected argument")
    });
    let sandbox = Question::new(site, Topic::Sandbox, ["sandbox", "--", "true"], read_sandbox);
    let mut questions = vec![Question::version(site), flags, sandbox];
    // A provider with a key of its own says by itself whether the key is there.
    if provider_key(seen).is_none() {
        questions.push(Question::new(site, Topic::Auth, ["login", "status"], read_auth));
    }
    questions
        .into_iter()
        .map(|question| {
            // In the private home itself, which is always there: Codex refuses a CODEX_HOME that is not.
            let home = question.home.clone();
            question
                .copy(seen, &directory.join("config.toml"), "config.toml")
                .copy(seen, &directory.join("auth.json"), "auth.json")
                .env("CODEX_HOME", home)
        })
        .collect()
}

fn read_auth(reply: &Reply<'_>) -> Option<Learned> {
    let said = format!("{}{}", reply.stdout, reply.stderr);
    Some(Learned::Auth(if said.contains("Logged in using ChatGPT") {
        Auth::ok("`codex login status`", PaidBy::Subscription)
    } else if said.contains("Logged in") {
        Auth::ok("`codex login status`", PaidBy::ApiKey)
    } else if said.contains("Not logged in") {
        Auth::missing("`codex login status`")
    } else {
        return None;
    }))
}

/// Codex's own words are long; the first line says it.
fn read_sandbox(reply: &Reply<'_>) -> Option<Learned> {
    Some(Learned::Sandbox(match reply.code {
        Some(0) => Sandbox::Works,
        _ => {
            let mut lines = reply.stderr.lines().filter(|line| !line.starts_with("WARNING"));
            Sandbox::Broken(lines.next_back().unwrap_or("it gave no reason").trim().to_owned())
        }
    }))
}

#[derive(Deserialize)]
struct Config {
    model: Option<String>,
    model_provider: Option<String>,
    #[serde(default)]
    model_providers: BTreeMap<String, Provider>,
}

#[derive(Deserialize)]
struct Provider {
    env_key: Option<String>,
}

fn config(seen: &Seen<'_>) -> Option<Config> {
    toml::from_str(seen.text(&directory(seen.site).join("config.toml"))?).ok()
}

/// The variable with the key of the chosen provider, if it has one of its own.
fn provider_key(seen: &Seen<'_>) -> Option<String> {
    let config = config(seen)?;
    config
        .model_providers
        .get(config.model_provider.as_deref()?)?
        .env_key
        .clone()
}

fn auth(seen: &Seen<'_>) -> Auth {
    if let Some(name) = provider_key(seen) {
        let from = format!("the provider in config.toml wants {name}");
        return match seen.site.env(&name) {
            Some(_) => Auth::ok(format!("{from}, which is set"), PaidBy::Gateway),
            None => Auth::missing(format!("{from}, which is not set")),
        };
    }
    if seen.variable(&["CODEX_API_KEY"]).is_some() {
        return Auth::variable("CODEX_API_KEY", PaidBy::ApiKey);
    }
    let stored = directory(seen.site).join("auth.json");
    let json = seen.json(&stored);
    let has = |key: &str| json.is_some_and(|json| json.get(key).is_some_and(|value| !value.is_null()));
    if has("tokens") {
        return Auth::ok(stored.display().to_string(), PaidBy::Subscription);
    }
    if has("OPENAI_API_KEY") {
        return Auth::ok(stored.display().to_string(), PaidBy::ApiKey);
    }
    Auth::missing("no CODEX_API_KEY and no stored login")
}

fn traps(seen: &Seen<'_>) -> Vec<Trap> {
    let mut traps = Vec::new();
    if seen.variable(&["OPENAI_API_KEY"]).is_some() && auth(seen).state == crate::backend::checkup::AuthState::Missing {
        traps.push(Trap::new(
            "it does not use OPENAI_API_KEY",
            "export CODEX_API_KEY=\"$OPENAI_API_KEY\"",
        ));
    }
    traps
}
