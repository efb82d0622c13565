//! How Pi is examined: it lists the models that it has a login for.

use super::rights::agent_dir;
use crate::backend::Site;
use crate::backend::checkup::{Auth, Checkup, Learned, PaidBy, Question, Reply, Seen, Topic, not_in_help};
use serde_json::Value;

const LOGIN_FILES: &[&str] = &["auth.json", "models.json", "settings.json"];

pub fn checkup(site: &Site) -> Checkup {
    let directory = agent_dir(site);
    Checkup {
        files: LOGIN_FILES.iter().map(|name| directory.join(name)).collect(),
        directories: vec![directory],
        auth,
        default_model,
        questions,
        traps: |_| Vec::new(),
    }
}

/// The flags that plans use.
const FLAGS: &[&str] = &[
    "--print",
    "--mode",
    "--provider",
    "--model",
    "--thinking",
    "--no-skills",
    "--no-context-files",
    "--no-extensions",
    "--no-prompt-templates",
    "--no-session",
    "--session",
    "--fork",
    "--system-prompt",
    "--append-system-prompt",
    "--tools",
    "--no-tools",
    "--extension",
];

fn questions(seen: &Seen<'_>) -> Vec<Question> {
    let site = seen.site;
    let directory = agent_dir(site);
    // Without a terminal it prints these to stderr.
    let flags = Question::new(site, Topic::Flags, ["--help"], |reply| {
        let help = format!("{}\n{}", reply.stdout, reply.stderr);
        help.contains("Usage").then(|| not_in_help(&help, FLAGS))
    });
    let mut auth = Question::new(site, Topic::Auth, ["--list-models", "-ne"], read_auth);
    for name in LOGIN_FILES {
        auth = auth.copy(seen, &directory.join(name), &format!(".pi/agent/{name}"));
    }
    [Question::version(site), flags, auth]
        .map(|question| {
            let home = question.home.join(".pi").join("agent");
            question
                .env("PI_CODING_AGENT_DIR", home)
                .env("PI_OFFLINE", "1")
                .env("PI_TELEMETRY", "0")
        })
        .into()
}

fn read_auth(reply: &Reply<'_>) -> Option<Learned> {
    let said = format!("{}\n{}", reply.stdout, reply.stderr);
    if said.contains("No models available") {
        return Some(Learned::Auth(Auth::missing("`pi --list-models`")));
    }
    let models = said.lines().skip_while(|line| !line.starts_with("provider")).skip(1);
    let mut providers: Vec<&str> = models.filter_map(|line| line.split_whitespace().next()).collect();
    providers.dedup();
    match providers.as_slice() {
        [] => None,
        providers => Some(Learned::Auth(Auth::ok(
            format!("`pi --list-models`: {}", providers.join(", ")),
            None,
        ))),
    }
}

fn auth(seen: &Seen<'_>) -> Auth {
    let directory = agent_dir(seen.site);
    let stored = directory.join("auth.json");
    if let Some(login) = seen.stored_login(&stored) {
        return login;
    }
    let models = directory.join("models.json");
    let providers = seen
        .json(&models)
        .and_then(|json| json.get("providers"))
        .and_then(Value::as_object);
    if providers.is_some_and(|providers| providers.values().any(|provider| provider.get("apiKey").is_some())) {
        return Auth::ok(models.display().to_string(), PaidBy::Gateway);
    }
    match seen.variable(&[
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ]) {
        Some(name) => Auth::variable(name, PaidBy::ApiKey),
        None => Auth::missing("no stored login, no provider of its own, and none of the usual variables"),
    }
}

fn default_model(seen: &Seen<'_>) -> Option<String> {
    let settings = seen.json(&agent_dir(seen.site).join("settings.json"))?;
    let value = |key: &str| settings.get(key).and_then(Value::as_str);
    match (value("defaultProvider"), value("defaultModel")) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_where_pi_keeps_its_things() {
        for (variable, directory) in [
            (None, "/home/user/.pi/agent"),
            (Some("~"), "/home/user"),
            (Some("~/x"), "/home/user/x"),
            (Some("/x"), "/x"),
        ] {
            let variable = variable.map(|value| ("PI_CODING_AGENT_DIR".into(), value.into()));
            let site = Site {
                program: "/bin/pi".into(),
                scratch: "/scratch".into(),
                home: "/home/user".into(),
                env: variable.into_iter().collect(),
                root: false,
            };
            assert_eq!(checkup(&site).directories, [std::path::PathBuf::from(directory)]);
        }
    }
}
