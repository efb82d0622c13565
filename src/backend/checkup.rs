//! What can be learned about a CLI without a model call: which files tell of its login, which questions it answers by
//! itself, and what the answers mean.
//!
//! Pure: `doctor` reads the files and asks the questions, each in a private home, since these CLIs write to theirs on
//! any start.

use super::{ScratchEntry, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How one backend is examined.
pub struct Checkup {
    /// Files of the user that tell about the login and the model. They are read, never written.
    pub files: Vec<PathBuf>,
    /// Where it keeps configuration and conversations.
    pub directories: Vec<PathBuf>,
    /// What files and environment tell about the login by themselves.
    pub auth: fn(&Seen<'_>) -> Auth,
    /// The model that it uses when none is named, if that can be told.
    pub default_model: fn(&Seen<'_>) -> Option<String>,
    pub questions: fn(&Seen<'_>) -> Vec<Question>,
    /// What is known to go wrong in these surroundings.
    pub traps: fn(&Seen<'_>) -> Vec<Trap>,
}

impl Checkup {
    /// For a CLI of which nothing is known but that it tells its version.
    pub fn version_only() -> Self {
        Self {
            files: Vec::new(),
            directories: Vec::new(),
            auth: |_| Auth::unknown("nothing is known about how it logs in"),
            default_model: |_| None,
            questions: |seen| vec![Question::version(seen.site)],
            traps: |_| Vec::new(),
        }
    }
}

/// What was found in the files.
pub struct Seen<'a> {
    pub site: &'a Site,
    pub files: &'a BTreeMap<PathBuf, Content>,
}

/// One provider's entry in a file of logins.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredLogin {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// One file of a checkup.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Absent,
    /// It is there and cannot be read: why.
    Unreadable(String),
    Text {
        text: String,
        /// What it holds, if it is JSON; comments are left out.
        json: Option<serde_json::Value>,
    },
}

impl Seen<'_> {
    pub fn text(&self, path: &Path) -> Option<&str> {
        match self.files.get(path) {
            Some(Content::Text { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// The file as JSON.
    pub fn json(&self, path: &Path) -> Option<&serde_json::Value> {
        match self.files.get(path) {
            Some(Content::Text { json, .. }) => json.as_ref(),
            _ => None,
        }
    }

    /// The login of a file that has one for each provider, as OpenCode's and Pi's `auth.json`: who pays for the first.
    pub fn stored_login(&self, path: &Path) -> Option<Auth> {
        let first = self.json(path)?.as_object()?.values().next()?;
        let login = StoredLogin::deserialize(first).unwrap_or_default();
        let paid_by = match login.kind.as_deref() {
            Some("oauth") => PaidBy::Subscription,
            _ => PaidBy::ApiKey,
        };
        Some(Auth::ok(path.display().to_string(), paid_by))
    }

    /// The first of these variables that is set.
    pub fn variable<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.site.env(name).is_some())
    }

    /// A file that is there and cannot be read.
    pub fn unreadable(&self) -> Option<(&Path, &str)> {
        self.files.iter().find_map(|(path, content)| match content {
            Content::Unreadable(why) => Some((path.as_path(), why.as_str())),
            _ => None,
        })
    }
}

/// Whether the CLI can log in, as far as that can be told without asking its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// There is a credential; whether the provider takes it, only a request shows.
    Ok,
    Missing,
    Unknown,
}

/// What pays for the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaidBy {
    ApiKey,
    Subscription,
    /// Another provider or a company's own endpoint.
    Gateway,
    /// Nobody: it costs nothing.
    Nothing,
}

/// What is known about a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    pub state: AuthState,
    /// How it was learned.
    pub learned_from: String,
    pub paid_by: Option<PaidBy>,
}

impl Auth {
    pub fn ok(learned_from: impl Into<String>, paid_by: impl Into<Option<PaidBy>>) -> Self {
        Self {
            state: AuthState::Ok,
            learned_from: learned_from.into(),
            paid_by: paid_by.into(),
        }
    }

    pub fn missing(learned_from: impl Into<String>) -> Self {
        Self {
            state: AuthState::Missing,
            learned_from: learned_from.into(),
            paid_by: None,
        }
    }

    pub fn unknown(learned_from: impl Into<String>) -> Self {
        Self {
            state: AuthState::Unknown,
            learned_from: learned_from.into(),
            paid_by: None,
        }
    }

    /// A key in the environment.
    pub fn variable(name: &str, paid_by: PaidBy) -> Self {
        Self::ok(format!("{name} is set"), paid_by)
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Version,
    Flags,
    Auth,
    Sandbox,
}

impl Topic {
    pub fn name(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Flags => "flags",
            Self::Auth => "auth",
            Self::Sandbox => "sandbox",
        }
    }
}

/// A command that answers at once and costs nothing.
pub struct Question {
    pub topic: Topic,
    pub args: Vec<OsString>,
    /// Changes to the environment, in which home and the conventional directories point into the scratch directory.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Copies of what the CLI must find in its private home.
    pub files: Vec<ScratchEntry>,
    pub read: fn(&Reply<'_>) -> Option<Learned>,
    /// The private home.
    pub home: PathBuf,
}

/// What the CLI answered.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
    pub code: Option<i32>,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learned {
    Version(String),
    /// Flags that the CLI does not take any more; none is good.
    RefusedFlags(Vec<String>),
    Auth(Auth),
    Sandbox(Sandbox),
}

/// Whether commands can be confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    Works,
    Broken(String),
}

/// Something that is known to go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    pub message: String,
    pub hint: String,
}

impl Trap {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// No CLI has this flag: the one that is refused first tells that all before it are known.
pub const NO_FLAG: &str = "--agentctl-probe";

impl Question {
    pub fn new<A: Into<OsString>>(
        site: &Site,
        topic: Topic,
        args: impl IntoIterator<Item = A>,
        read: fn(&Reply<'_>) -> Option<Learned>,
    ) -> Self {
        Self {
            topic,
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            files: Vec::new(),
            read,
            home: site.scratch(topic.name()),
        }
    }

    /// `--version`, whose answer is the first version number on either stream.
    pub fn version(site: &Site) -> Self {
        Self::new(site, Topic::Version, ["--version"], |reply| {
            if reply.code != Some(0) {
                return None;
            }
            let words = reply.stdout.split_whitespace().chain(reply.stderr.split_whitespace());
            let version = words
                .map(|word| word.trim_start_matches('v'))
                .find(|word| semver::Version::parse(word).is_ok());
            version.map(|version| Learned::Version(version.to_owned()))
        })
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// A copy of a file of the user, if it is there, at a place in the private home.
    #[must_use]
    pub fn copy(mut self, seen: &Seen<'_>, from: &Path, to: &str) -> Self {
        if let Some(text) = seen.text(from) {
            self.files.push(ScratchEntry::File {
                path: self.home.join(to),
                contents: text.as_bytes().to_vec(),
            });
        }
        self
    }
}

/// The flags of `wanted` that a `--help` does not mention.
pub fn not_in_help(help: &str, wanted: &[&str]) -> Learned {
    let known: Vec<&str> = help
        .split(|character: char| character.is_whitespace() || ",=[]<>|".contains(character))
        .collect();
    let refused = wanted.iter().filter(|flag| !known.contains(flag));
    Learned::RefusedFlags(refused.map(|flag| (*flag).to_owned()).collect())
}

/// The flag that a parser complains about first, between quotes or after a colon. With [`NO_FLAG`] at the end of the
/// arguments, anything else is a flag that is not taken any more.
pub fn first_refused(complaint: &str, before: &str) -> Option<Learned> {
    let rest = &complaint[complaint.find(before)? + before.len()..];
    let flag = rest
        .split(|character: char| character.is_whitespace() || "'\"`".contains(character))
        .find(|word| word.starts_with('-'))?;
    Some(Learned::RefusedFlags(match flag {
        NO_FLAG => Vec::new(),
        flag => vec![flag.to_owned()],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refused_flag_tells_whether_the_others_are_known() {
        let refused = |text: &str| first_refused(text, "unknown option");
        assert_eq!(
            refused("error: unknown option '--agentctl-probe'"),
            Some(Learned::RefusedFlags(Vec::new()))
        );
        assert_eq!(
            refused("error: unknown option '--max-turns'\n(Did you mean …?)"),
            Some(Learned::RefusedFlags(vec!["--max-turns".to_owned()]))
        );
        assert_eq!(refused("Settings file not found"), None);
    }

    #[test]
    fn a_flag_that_help_does_not_mention_is_missed() {
        let help = "  --format     format: default (formatted) or json\n  -m, --model=NAME";
        assert_eq!(
            not_in_help(help, &["--format", "--model", "-m", "--form"]),
            Learned::RefusedFlags(vec!["--form".to_owned()])
        );
    }
}
