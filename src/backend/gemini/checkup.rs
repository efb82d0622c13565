//! How Gemini CLI is examined: an empty prompt ends with 41 when it cannot log in and with 42 when it could.

use super::settings;
use crate::backend::Site;
use crate::backend::checkup::{Auth, Checkup, Learned, NO_FLAG, PaidBy, Question, Reply, Seen, Topic, Trap};
use std::path::PathBuf;

fn directory(site: &Site) -> PathBuf {
    settings::home(site).join(settings::FOLDER)
}

/// What the login needs to be seen.
const LOGIN_FILES: &[&str] = &["settings.json", "oauth_creds.json", "google_accounts.json", ".env"];

pub fn checkup(site: &Site) -> Checkup {
    let directory = directory(site);
    Checkup {
        files: LOGIN_FILES.iter().map(|name| directory.join(name)).collect(),
        directories: vec![directory],
        auth,
        default_model,
        questions,
        traps,
    }
}

/// The flags that plans use; all that are unknown are named at once.
const FLAGS: &[&str] = &[
    "--skip-trust",
    "-o",
    "stream-json",
    "--model=x",
    "--session-id",
    "x",
    "--resume",
    "x",
    "--session-file",
    "x",
    "--approval-mode",
    "default",
    "--admin-policy",
    "x",
    "--policy",
    "x",
    "--allowed-mcp-server-names=x",
    "--include-directories",
    ".",
    NO_FLAG,
    "--prompt=",
];

fn questions(seen: &Seen<'_>) -> Vec<Question> {
    let site = seen.site;
    let directory = directory(site);
    let flags = Question::new(site, Topic::Flags, FLAGS, read_flags);
    let mut auth = Question::new(site, Topic::Auth, ["--skip-trust", "--prompt="], read_auth);
    for name in LOGIN_FILES {
        auth = auth.copy(seen, &directory.join(name), &format!(".gemini/{name}"));
    }
    [Question::version(site), flags, auth]
        .map(|question| {
            question
                .without_env("GEMINI_CLI_HOME")
                .env("GEMINI_CLI_NO_RELAUNCH", "true")
        })
        .into()
}

fn read_flags(reply: &Reply<'_>) -> Option<Learned> {
    let line = reply.stderr.lines().find(|line| line.starts_with("Unknown argument"))?;
    let (_, names) = line.split_once(':')?;
    let own = NO_FLAG.trim_start_matches('-');
    // Each is told twice: as it was given, and in camel case.
    let refused = names
        .split(',')
        .map(str::trim)
        .filter(|name| *name != own && !name.contains(|character: char| character.is_ascii_uppercase()));
    Some(Learned::RefusedFlags(refused.map(|name| format!("--{name}")).collect()))
}

fn read_auth(reply: &Reply<'_>) -> Option<Learned> {
    match reply.code {
        Some(41) => Some(Learned::Auth(Auth::missing(
            "an empty prompt, which it refused for want of a login",
        ))),
        Some(42) => Some(Learned::Auth(Auth::ok(
            "an empty prompt, before which it found its login",
            None,
        ))),
        _ => None,
    }
}

/// `security.auth.selectedType` of the settings.
fn selected_type<'a>(seen: &'a Seen<'_>) -> Option<&'a str> {
    let settings = seen.json(&directory(seen.site).join("settings.json"))?;
    settings.pointer("/security/auth/selectedType")?.as_str()
}

fn auth(seen: &Seen<'_>) -> Auth {
    let gateway = seen.variable(&["GOOGLE_GEMINI_BASE_URL"]).is_some();
    if let Some(name) = seen.variable(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
        return Auth::variable(name, if gateway { PaidBy::Gateway } else { PaidBy::ApiKey });
    }
    if let Some(name) = seen.variable(&["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"]) {
        return Auth::variable(name, PaidBy::Gateway);
    }
    let directory = directory(seen.site);
    let in_file = seen
        .text(&directory.join(".env"))
        .is_some_and(|text| text.contains("GEMINI_API_KEY="));
    if in_file {
        return Auth::ok(directory.join(".env").display().to_string(), PaidBy::ApiKey);
    }
    let account = seen.text(&directory.join("oauth_creds.json")).is_some();
    match selected_type(seen) {
        Some("oauth-personal") if account => Auth::ok(
            directory.join("oauth_creds.json").display().to_string(),
            PaidBy::Subscription,
        ),
        _ => Auth::missing("no key in the environment and no stored login"),
    }
}

fn default_model(seen: &Seen<'_>) -> Option<String> {
    let variable = seen.site.env("GEMINI_MODEL").map(str::to_owned);
    let settings = || seen.json(&directory(seen.site).join("settings.json"));
    variable.or_else(|| Some(settings()?.pointer("/model/name")?.as_str()?.to_owned()))
}

fn traps(seen: &Seen<'_>) -> Vec<Trap> {
    let mut traps = Vec::new();
    if seen.variable(&["GOOGLE_GEMINI_BASE_URL"]).is_some() && selected_type(seen).is_none() {
        traps.push(Trap::new(
            "with GOOGLE_GEMINI_BASE_URL it wants the way of logging in chosen in its settings",
            "put {\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}} into ~/.gemini/settings.json",
        ));
    }
    traps
}
