//! agentctl's own name of a conversation: twelve characters, random from the first on, so that a short prefix tells
//! conversations apart. It begins with a letter, so it never looks like a number or a flag.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const LENGTH: usize = 12;
const SHARD_LENGTH: usize = 2;

/// Crockford's base 32: no `i`, `l`, `o`, `u`. The letters come last.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS: usize = 10;

/// A key, always well-formed: it is safe in a path and in an argv.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Key([u8; LENGTH]);

impl Key {
    /// A new key: 59 random bits.
    pub fn fresh() -> Self {
        let random = uuid::Uuid::new_v4().as_u128();
        let letters = ALPHABET.len() - DIGITS;
        let mut characters = [0; LENGTH];
        // The version and variant bits of a UUID are fixed: the letter comes from above them, the rest from below.
        let letter = (random >> 80) as u64 % letters as u64;
        characters[0] = ALPHABET[DIGITS + letter as usize];
        for (position, character) in characters.iter_mut().enumerate().skip(1) {
            *character = ALPHABET[(random >> (5 * (position - 1))) as usize & 31];
        }
        Self(characters)
    }

    pub fn as_str(&self) -> &str {
        // Only characters of the alphabet get in.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Enough of it to type, in tables.
    pub fn short(&self) -> &str {
        &self.as_str()[..8]
    }

    pub(super) fn shard(&self) -> &str {
        &self.as_str()[..SHARD_LENGTH]
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({self})")
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a session key")]
pub struct NotAKey;

impl FromStr for Key {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let characters: [u8; LENGTH] = text.as_bytes().try_into().map_err(|_| NotAKey)?;
        let known = characters.iter().all(|character| ALPHABET.contains(character));
        match known && characters[0].is_ascii_lowercase() {
            true => Ok(Self(characters)),
            false => Err(NotAKey),
        }
    }
}

impl TryFrom<String> for Key {
    type Error = NotAKey;

    fn try_from(text: String) -> Result<Self, NotAKey> {
        text.parse()
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.as_str().to_owned()
    }
}

/// The beginning of a key as somebody typed it: in any case, `o` for `0`, `i` or `l` for `1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.len() > LENGTH {
            return None;
        }
        let normalized = text.chars().map(normalize).collect::<Option<String>>()?;
        normalized
            .starts_with(|first: char| first.is_ascii_lowercase())
            .then_some(Self(normalized))
    }

    /// Whether a key, or the name of its file, begins so.
    pub(super) fn matches(&self, text: &str) -> bool {
        text.starts_with(&self.0)
    }

    /// The only shard that can hold them, unless the prefix is too short to tell.
    pub(super) fn shard(&self) -> Option<&str> {
        self.0.get(..SHARD_LENGTH)
    }
}

fn normalize(character: char) -> Option<char> {
    let lower = match character.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    u8::try_from(lower)
        .is_ok_and(|byte| ALPHABET.contains(&byte))
        .then_some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_key_reads_back_as_itself() {
        for _ in 0..1000 {
            let key = Key::fresh();
            assert_eq!(key, key.as_str().parse().unwrap());
            assert!(key.as_str().starts_with(|first: char| first.is_ascii_lowercase()));
        }
    }

    #[test]
    fn text_that_could_leave_the_directory_is_no_key() {
        for text in [
            "",
            "..",
            "../../../etc1",
            "k3f9k3f9k3f9k",
            "K3F9K3F9K3F9",
            "k3f9/3f9k3f9",
            "33f9k3f9k3f9",
        ] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_forgives_case_and_look_alikes() {
        let key: Key = "k0f1k3f9k3f9".parse().unwrap();
        assert!(Prefix::parse("KOFL").unwrap().matches(key.as_str()));
        assert!(!Prefix::parse("k1").unwrap().matches(key.as_str()));
        assert_eq!(Prefix::parse("k!"), None);
        assert_eq!(Prefix::parse(""), None);
    }
}
