//! How Claude Code is examined: `auth status` says who pays, and the parser says which flags it knows.

use super::rights::config_dir;
use crate::backend::Site;
use crate::backend::checkup::{
    Auth, Checkup, Learned, NO_FLAG, PaidBy, Question, Reply, Seen, Topic, Trap, first_refused,
};
use serde::Deserialize;
use std::path::PathBuf;

/// Where the CLI keeps its things: settings and conversations, and the file with its state.
struct Places {
    directory: PathBuf,
    state: PathBuf,
}

impl Places {
    fn of(site: &Site) -> Self {
        let directory = config_dir(site);
        let state = match site.env("CLAUDE_CONFIG_DIR") {
            Some(_) => &directory,
            None => &site.home,
        };
        Self {
            state: state.join(".claude.json"),
            directory,
        }
    }

    fn credentials(&self) -> PathBuf {
        self.directory.join(".credentials.json")
    }

    fn settings(&self) -> PathBuf {
        self.directory.join("settings.json")
    }
}

pub fn checkup(site: &Site) -> Checkup {
    let places = Places::of(site);
    Checkup {
        files: vec![places.credentials(), places.settings(), places.state.clone()],
        directories: vec![places.directory],
        auth,
        default_model,
        questions,
        traps,
    }
}

/// The flags that plans use, hidden ones too. The values are never looked at: the last flag ends it.
const FLAGS: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--max-turns",
    "1",
    "--json-schema",
    "{}",
    "--no-session-persistence",
    "--effort",
    "low",
    "--add-dir",
    ".",
    "--model",
    "x",
    "--resume",
    "x",
    "--fork-session",
    "--append-system-prompt-file",
    "x",
    "--system-prompt-file",
    "x",
    "--mcp-config",
    "{}",
    "--strict-mcp-config",
    "--dangerously-skip-permissions",
    "--setting-sources",
    "user",
    "--settings",
    "{}",
    "--permission-mode",
    "plan",
    "--tools",
    "Read",
    "--allowedTools=Read",
    "--disallowedTools=Read",
    NO_FLAG,
];

fn questions(seen: &Seen<'_>) -> Vec<Question> {
    let places = Places::of(seen.site);
    let flags = Question::new(seen.site, Topic::Flags, FLAGS, |reply| {
        first_refused(reply.stderr, "unknown option")
    });
    let auth = Question::new(seen.site, Topic::Auth, ["auth", "status"], read_auth)
        .copy(seen, &places.credentials(), ".claude/.credentials.json")
        .copy(seen, &places.settings(), ".claude/settings.json")
        .copy(seen, &places.state, ".claude.json");
    [Question::version(seen.site), flags, auth]
        .map(|question| {
            question
                .without_env("CLAUDE_CONFIG_DIR")
                .env("DISABLE_AUTOUPDATER", "1")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                // It opens a connection to its provider on any start, unless there is a proxy: this one is not there.
                .env("HTTPS_PROXY", "http://127.0.0.1:9")
        })
        .into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    logged_in: bool,
    auth_method: Option<String>,
    api_provider: Option<String>,
    api_key_source: Option<String>,
}

fn read_auth(reply: &Reply<'_>) -> Option<Learned> {
    let status: Status = serde_json::from_str(reply.stdout).ok()?;
    if !status.logged_in {
        // A keychain is out of reach from a private home.
        return Some(Learned::Auth(match cfg!(target_os = "macos") {
            true => Auth::unknown("`claude auth status` cannot see the keychain from here"),
            false => Auth::missing("`claude auth status`"),
        }));
    }
    let method = status.auth_method.unwrap_or_default();
    let paid_by = match status.api_provider.as_deref() {
        Some("firstParty") | None if method == "api_key" => PaidBy::ApiKey,
        Some("firstParty") | None => PaidBy::Subscription,
        Some(_) => PaidBy::Gateway,
    };
    let source = status
        .api_key_source
        .map(|source| format!(", {source}"))
        .unwrap_or_default();
    Some(Learned::Auth(Auth::ok(
        format!("`claude auth status`: {method}{source}"),
        paid_by,
    )))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    model: Option<String>,
    api_key_helper: Option<String>,
}

fn settings(seen: &Seen<'_>) -> Option<Settings> {
    serde_json::from_value(seen.json(&Places::of(seen.site).settings())?.clone()).ok()
}

fn auth(seen: &Seen<'_>) -> Auth {
    let cloud = [
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ];
    if let Some(name) = seen.variable(&cloud) {
        return Auth::variable(name, PaidBy::Gateway);
    }
    let gateway = seen.variable(&["ANTHROPIC_BASE_URL"]).is_some();
    if let Some(name) = seen.variable(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]) {
        return Auth::variable(name, if gateway { PaidBy::Gateway } else { PaidBy::ApiKey });
    }
    if seen.variable(&["CLAUDE_CODE_OAUTH_TOKEN"]).is_some() {
        return Auth::variable("CLAUDE_CODE_OAUTH_TOKEN", PaidBy::Subscription);
    }
    let places = Places::of(seen.site);
    if settings(seen).is_some_and(|settings| settings.api_key_helper.is_some()) {
        return Auth::ok(
            format!("apiKeyHelper in {}", places.settings().display()),
            PaidBy::ApiKey,
        );
    }
    let account = |path: PathBuf, key: &str| seen.json(&path).is_some_and(|json| json.get(key).is_some());
    if account(places.credentials(), "claudeAiOauth") {
        return Auth::ok(places.credentials().display().to_string(), PaidBy::Subscription);
    }
    match cfg!(target_os = "macos") {
        true => Auth::unknown("the keychain was not looked into"),
        false => Auth::missing("no key in the environment and no stored login"),
    }
}

fn default_model(seen: &Seen<'_>) -> Option<String> {
    let variable = seen.site.env("ANTHROPIC_MODEL").map(str::to_owned);
    variable.or_else(|| settings(seen)?.model)
}

fn traps(seen: &Seen<'_>) -> Vec<Trap> {
    let mut traps = Vec::new();
    if seen.site.root && seen.site.env("IS_SANDBOX").is_none() {
        traps.push(Trap::new(
            "as root it refuses `-P full`, the default level",
            "use `-P edit` or another user; in a container that may be broken, set IS_SANDBOX=1",
        ));
    }
    traps
}
