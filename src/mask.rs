//! Secrets never reach a log: what looks like a credential is masked wherever it appears. This owns what is masked and
//! how; `find` knows where the secrets of a run are.

mod find;
mod shape;

use crate::backend::Launch;
use crate::request::Request;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

const TELLTALE: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
];
/// Words that stand for a credential only if they stand alone: `DB_PASS`, `GH_PAT`, but not `PATH` or `PASSENGER`.
const TELLTALE_WORDS: &[&str] = &["PASS", "PAT", "PW", "DBPASS", "SSHPASS", "PGPASS"];
/// A shorter value would mask words of ordinary text.
const SHORTEST: usize = 6;
const MASKED: &str = "***";

/// The secrets of one run.
#[derive(Clone, Debug, Default)]
pub struct Mask(Vec<String>);

impl Mask {
    /// What a run must not show: credentials of its environment, all that its MCP servers are given, and what its options
    /// and arguments name as secret.
    pub fn of_run(environment: &BTreeMap<OsString, OsString>, request: &Request, launch: &Launch) -> Self {
        let mut secrets = find::in_environment(environment);
        secrets.extend(find::in_servers(&request.mcp_servers));
        secrets.extend(find::in_options(&request.options));
        secrets.extend(find::in_arguments(&launch.args));
        Self::new(secrets)
    }

    /// What arguments alone name as secret.
    pub fn of_arguments(arguments: &[OsString]) -> Self {
        Self::new(find::in_arguments(arguments))
    }

    fn new(secrets: Vec<String>) -> Self {
        let long_enough = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST);
        let mut secrets: Vec<String> = long_enough.flat_map(forms).collect();
        // The longest first: one secret may contain another.
        secrets.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
        secrets.dedup();
        Self(secrets)
    }

    /// The text without the secrets of the run, and without what looks like one by itself.
    pub fn apply(&self, text: &str) -> String {
        let known = self
            .0
            .iter()
            .fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
                true => text.replace(secret.as_str(), MASKED),
                false => text,
            });
        shape::masked(known)
    }

    /// The value of a variable as it may be shown.
    pub fn variable(&self, name: &OsStr, value: &OsStr) -> String {
        match is_secret(name) {
            true => MASKED.to_owned(),
            false => self.apply(&value.to_string_lossy()),
        }
    }
}

/// A secret as it is, and as it looks inside a string of JSON or TOML.
fn forms(secret: String) -> impl Iterator<Item = String> {
    let quoted = serde_json::Value::from(secret.as_str()).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let differs = escaped != secret;
    std::iter::once(secret).chain(differs.then_some(escaped))
}

/// Whether a variable, an option or a header of this name holds a credential.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let mut words = name.split(|character: char| !character.is_ascii_alphanumeric());
    // The working directory is called PWD, a password for a program such as MySQL is MYSQL_PWD.
    TELLTALE.iter().any(|word| name.contains(word))
        || words.any(|word| TELLTALE_WORDS.contains(&word))
        || (name.ends_with("_PWD") && !name.starts_with("OLD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_credentials_are_masked_and_others_are_not() {
        let pairs = [("API_KEY", "sk-123456"), ("HOME", "/home/user"), ("X_TOKEN", "abc")];
        let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mask = Mask::new(find::in_environment(&pairs.into_iter().collect()));
        assert_eq!(mask.apply("sk-123456 in /home/user abc"), "*** in /home/user abc");
    }

    #[test]
    fn names_of_credentials_are_known_by_their_words() {
        for name in [
            "DB_PASS",
            "GH_PAT",
            "PASSPHRASE",
            "pass",
            "db-pass",
            "MYSQL_PWD",
            "SSHPASS",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "PASSENGER",
            "COMPASS",
            "PATTERN",
            "PWD",
            "OLDPWD",
            "BYPASS_CACHE",
            "DISPATCH",
        ] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_secret_inside_of_json_is_found_in_its_escaped_form() {
        let mask = Mask::new(vec!["line\none\"two".to_owned()]);
        assert_eq!(mask.apply(r#"{"a":"line\none\"two"}"#), r#"{"a":"***"}"#);
    }
}
