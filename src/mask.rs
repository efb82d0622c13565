//! Secrets never reach a log: values of variables that look like credentials are masked wherever they appear.

use std::ffi::{OsStr, OsString};

const TELLTALE: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
];
/// A shorter value would mask words of ordinary text.
const SHORTEST: usize = 6;
const MASKED: &str = "***";

/// The secrets of one environment.
#[derive(Clone, Debug, Default)]
pub struct Mask(Vec<String>);

impl Mask {
    pub fn of<'a>(environment: impl IntoIterator<Item = (&'a OsString, &'a OsString)>) -> Self {
        let secrets = environment
            .into_iter()
            .filter(|(name, _)| is_secret(name))
            .filter_map(|(_, value)| value.to_str());
        let mut secrets: Vec<String> = secrets
            .filter(|value| value.len() >= SHORTEST)
            .map(str::to_owned)
            .collect();
        // The longest first: one secret may contain another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    pub fn apply(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
                true => text.replace(secret.as_str(), MASKED),
                false => text,
            })
    }
}

/// Whether a variable of this name holds a credential.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    TELLTALE.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_credentials_are_masked_and_others_are_not() {
        let pairs = [("API_KEY", "sk-123456"), ("HOME", "/home/user"), ("X_TOKEN", "abc")];
        let pairs = pairs.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mask = Mask::of(pairs.iter().map(|(name, value)| (name, value)));
        assert_eq!(mask.apply("sk-123456 in /home/user abc"), "*** in /home/user abc");
    }
}
