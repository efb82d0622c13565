//! From what somebody typed to the one conversation that it means, or to the truth that it means none or several.

use super::damaged::Damaged;
use super::index::keys_of_native_id;
use super::key::{Key, Prefix};
use super::record::Record;
use super::store::{Filter, Store, keys_in};
use crate::error::{ErrorKind, Failure};

/// How many of the last used conversations are looked through for near matches.
const NEAR_AMONG: usize = 200;
const NEAR_SHOWN: usize = 5;
const NEAR_ENOUGH: f64 = 0.8;
/// How many candidates are listed; the first letter of a key may fit thousands.
const CANDIDATES_SHOWN: usize = 10;

/// What a selector means.
#[derive(Clone, Debug)]
pub enum Resolution {
    Found(Box<Record>),
    /// Several conversations fit; some of them may not be readable.
    Ambiguous {
        candidates: Vec<Record>,
        damaged: Vec<Damaged>,
    },
    /// None fits; these are like it.
    Unknown {
        near: Vec<Record>,
    },
    /// It means one that cannot be read.
    Damaged(Damaged),
}

impl Store {
    /// An exact key first; then a name or a native id, exactly; then the beginning of a key.
    pub fn resolve(&self, selector: &str) -> Resolution {
        if let Ok(key) = selector.parse::<Key>() {
            match self.get(&key) {
                Ok(Some(record)) => return Resolution::Found(Box::new(record)),
                Ok(None) => {}
                Err(damaged) => return Resolution::Damaged(damaged),
            }
        }
        let keys = match self.keys_of_exact(selector) {
            exact if exact.is_empty() => self.keys_of_prefix(selector),
            exact => exact,
        };
        self.resolution(selector, &keys)
    }

    /// The same for commands: anything but one record is a failure that says what to type instead.
    pub fn find(&self, selector: &str) -> Result<Record, Failure> {
        match self.resolve(selector) {
            Resolution::Found(record) => Ok(*record),
            Resolution::Ambiguous { candidates, damaged } => Err(ambiguous(selector, &candidates, &damaged)),
            Resolution::Unknown { near } => Err(unknown(selector, &near)),
            Resolution::Damaged(damaged) => Err(damaged.into()),
        }
    }

    fn keys_of_exact(&self, selector: &str) -> Vec<Key> {
        let mut keys = Vec::new();
        match self.by_name(selector) {
            Ok(named) => keys.extend(named.map(|record| record.key)),
            Err(damaged) => keys.push(damaged.key),
        }
        for key in keys_of_native_id(&self.root, selector) {
            let fits = match self.get(&key) {
                Ok(record) => record.is_some_and(|record| record.has_native_id(selector)),
                Err(_) => true,
            };
            if fits && !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    pub(super) fn keys_of_prefix(&self, selector: &str) -> Vec<Key> {
        let Some(prefix) = Prefix::parse(selector) else {
            return Vec::new();
        };
        let fits = |file: &str| prefix.matches(file);
        let mut keys: Vec<Key> = match prefix.shard() {
            Some(shard) => keys_in(&self.root.path().join("sessions").join(shard), fits),
            None => self.keys(|shard| prefix.matches(shard)).collect(),
        };
        keys.sort();
        keys
    }

    fn resolution(&self, selector: &str, keys: &[Key]) -> Resolution {
        let mut candidates = Vec::new();
        let mut damaged = Vec::new();
        for key in keys {
            match self.get(key) {
                Ok(record) => candidates.extend(record),
                Err(error) => damaged.push(error),
            }
        }
        match (candidates.len(), damaged.len()) {
            (1, 0) => Resolution::Found(Box::new(candidates.remove(0))),
            (0, 1) => Resolution::Damaged(damaged.remove(0)),
            (0, 0) => Resolution::Unknown {
                near: self.near(selector),
            },
            _ => Resolution::Ambiguous { candidates, damaged },
        }
    }

    fn near(&self, selector: &str) -> Vec<Record> {
        let recent = self.recent(&Filter::default(), NEAR_AMONG).records;
        let mut scored: Vec<(f64, Record)> = recent
            .into_iter()
            .map(|record| (likeness(selector, &record), record))
            .filter(|(score, _)| *score >= NEAR_ENOUGH)
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        scored.into_iter().take(NEAR_SHOWN).map(|(_, record)| record).collect()
    }
}

fn likeness(selector: &str, record: &Record) -> f64 {
    // Long texts cost quadratic time and are no typing errors.
    let like = |text: &str| match selector.len().max(text.len()) <= 200 {
        true => strsim::jaro_winkler(&selector.to_lowercase(), &text.to_lowercase()),
        false => 0.0,
    };
    let typed = selector.chars().count();
    let key: String = record.key.as_str().chars().take(typed).collect();
    let name = record
        .name
        .as_deref()
        .map_or(0.0, |name| match selector.len() > 2 && name.contains(selector) {
            true => 1.0,
            false => like(name),
        });
    name.max(like(&record.native_id)).max(like(&key))
}

fn ambiguous(selector: &str, candidates: &[Record], damaged: &[Damaged]) -> Failure {
    let count = candidates.len() + damaged.len();
    let unreadable = damaged.iter().map(|one| format!("\n  {}  cannot be read", one.key));
    let lines = candidates.iter().map(line).chain(unreadable);
    let mut shown: String = lines.take(CANDIDATES_SHOWN).collect();
    if count > CANDIDATES_SHOWN {
        shown.push_str(&format!("\n  … and {} more", count - CANDIDATES_SHOWN));
    }
    Failure::usage(format!("{count} sessions fit `{}`", one_line(selector)))
        .hint(format!("type more of one of them:{shown}"))
}

fn unknown(selector: &str, near: &[Record]) -> Failure {
    if selector.is_empty() {
        return Failure::usage("the name of the session is empty").hint("is a variable not set?");
    }
    let message = format!("there is no session `{}`", one_line(selector));
    let hint = match near {
        [] => "`agentctl sessions list` shows what there is".to_owned(),
        near => format!("did you mean:{}", near.iter().map(line).collect::<String>()),
    };
    Failure::new(ErrorKind::SessionNotFound, message).hint(hint)
}

/// A candidate, on a line of its own.
fn line(record: &Record) -> String {
    let name = record.name.as_deref().map(one_line).unwrap_or_default();
    let directory = one_line(&record.cwd.to_string_lossy());
    let line = format!("\n  {}  {}  {directory}  {name}", record.key, record.backend);
    line.trim_end().to_owned()
}

/// A name can be any text: control characters would break the line or the terminal, and length hides the rest.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown: String = text.chars().take(80).map(visible).collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}

fn visible(character: char) -> char {
    match crate::report::is_dangerous(character) || character.is_control() {
        true => '\u{fffd}',
        false => character,
    }
}
