//! How OpenCode is examined. Its configuration and its stored keys tell about the login; `auth list`, which starts
//! slowly, is only asked when they don't.

use crate::backend::Site;
use crate::backend::checkup::{Auth, AuthState, Checkup, Learned, PaidBy, Question, Reply, Seen, Topic, not_in_help};
use serde_json::Value;
use std::path::PathBuf;

struct Places {
    config: PathBuf,
    data: PathBuf,
}

impl Places {
    fn of(site: &Site) -> Self {
        let place = |variable: &str, default: &str| {
            let root = site
                .env(variable)
                .map_or_else(|| site.home.join(default), PathBuf::from);
            root.join("opencode")
        };
        Self {
            config: place("XDG_CONFIG_HOME", ".config"),
            data: place("XDG_DATA_HOME", ".local/share"),
        }
    }
}

const CONFIG_FILES: &[&str] = &["opencode.json", "opencode.jsonc", "config.json"];

pub fn checkup(site: &Site) -> Checkup {
    let places = Places::of(site);
    let mut files: Vec<PathBuf> = CONFIG_FILES.iter().map(|name| places.config.join(name)).collect();
    files.push(places.data.join("auth.json"));
    Checkup {
        files,
        directories: vec![places.config, places.data],
        auth,
        default_model,
        questions,
        traps: |_| Vec::new(),
    }
}

/// The flags that plans use.
const FLAGS: &[&str] = &[
    "--format",
    "--thinking",
    "--title",
    "--dir",
    "--file",
    "--print-logs",
    "--log-level",
    "--model",
    "--variant",
    "--agent",
    "--auto",
    "--session",
    "--fork",
    "--command",
];

fn questions(seen: &Seen<'_>) -> Vec<Question> {
    let site = seen.site;
    let flags = Question::new(site, Topic::Flags, ["run", "--help"], |reply| {
        let help = format!("{}\n{}", reply.stdout, reply.stderr);
        help.contains("opencode run").then(|| not_in_help(&help, FLAGS))
    });
    let mut questions = vec![Question::version(site), flags];
    if auth(seen).state != AuthState::Ok {
        questions.push(Question::new(site, Topic::Auth, ["auth", "list"], read_auth));
    }
    questions
        .into_iter()
        .map(|question| {
            question
                .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
                .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
                .env("OPENCODE_DB", ":memory:")
                .env("npm_config_offline", "true")
        })
        .collect()
}

/// `└  2 credentials`, `└  1 environment variable`.
fn read_auth(reply: &Reply<'_>) -> Option<Learned> {
    let count = |what: &str| {
        let line = reply.stdout.lines().find(|line| line.contains(what))?;
        line.split_whitespace().find_map(|word| word.parse::<u32>().ok())
    };
    let credentials = count("credential").or_else(|| count("environment variable"))?;
    let variables = count("environment variable").unwrap_or(0);
    Some(Learned::Auth(match credentials + variables {
        0 => Auth::missing("`opencode auth list`; without a key only OpenCode's free models answer"),
        _ => Auth::ok("`opencode auth list`", PaidBy::ApiKey),
    }))
}

/// The configuration files that are there.
fn configs<'a>(seen: &'a Seen<'_>) -> impl Iterator<Item = &'a Value> {
    let directory = Places::of(seen.site).config;
    CONFIG_FILES
        .iter()
        .filter_map(move |name| seen.json(&directory.join(name)))
}

fn auth(seen: &Seen<'_>) -> Auth {
    let stored = Places::of(seen.site).data.join("auth.json");
    if let Some(login) = seen.stored_login(&stored) {
        return login;
    }
    let has_key = |config: &Value| {
        let providers = config.get("provider").and_then(Value::as_object)?;
        let mut keys = providers
            .values()
            .filter_map(|provider| provider.pointer("/options/apiKey"));
        keys.find_map(Value::as_str).map(str::to_owned)
    };
    if let Some(key) = configs(seen).find_map(has_key) {
        // `{env:NAME}` is only as good as the variable.
        let variable = key.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
        return match variable {
            Some(name) if seen.site.env(name).is_none() => {
                Auth::missing(format!("its configuration wants {name}, which is not set"))
            }
            _ => Auth::ok("a key of a provider in its configuration", PaidBy::Gateway),
        };
    }
    let keys = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "OPENCODE_API_KEY",
    ];
    match seen.variable(&keys) {
        Some(name) => Auth::variable(name, PaidBy::ApiKey),
        None => Auth::missing("no stored key, none in its configuration, and none of the usual variables"),
    }
}

fn default_model(seen: &Seen<'_>) -> Option<String> {
    configs(seen).find_map(|config| Some(config.get("model")?.as_str()?.to_owned()))
}
