//! What one schema found in one value.

use serde_json::Value;
use std::collections::HashSet;

/// The most of a value that a message quotes.
const QUOTED: usize = 100;

/// One way in which a value does not fit: where in the value, as a JSON pointer, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) at: String,
    pub(super) why: String,
}

/// What does not fit, and which parts of the value were spoken about: `unevaluatedProperties` and `unevaluatedItems` are
/// for the others.
#[derive(Debug, Default)]
pub(super) struct Verdict<'v> {
    pub(super) at: String,
    pub(super) mismatches: Vec<Mismatch>,
    pub(super) properties: HashSet<&'v str>,
    pub(super) items: HashSet<usize>,
}

impl<'v> Verdict<'v> {
    /// On the value that is at this place.
    pub(super) fn at(at: &str) -> Self {
        Self {
            at: at.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn fits(&self) -> bool {
        self.mismatches.is_empty()
    }

    pub(super) fn tell(&mut self, why: impl Into<String>) {
        self.mismatches.push(Mismatch {
            at: self.at.clone(),
            why: why.into(),
        });
    }

    /// Takes over what another schema found in the same value.
    pub(super) fn join(&mut self, other: Self) {
        self.mismatches.extend(other.mismatches);
        self.properties.extend(other.properties);
        self.items.extend(other.items);
    }

    /// Takes over what was found in a part of the value.
    pub(super) fn join_part(&mut self, part: Verdict<'_>) {
        self.mismatches.extend(part.mismatches);
    }

    /// The place of a part of the value.
    pub(super) fn below(&self, part: &str) -> String {
        format!("{}/{}", self.at, part.replace('~', "~0").replace('/', "~1"))
    }
}

/// A value as JSON, cut where it gets long.
pub(super) fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
