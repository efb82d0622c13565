//! A completion marker: a text that the agent was told to say when it is done, found also when chunks split it.

/// What a bare `--marker` looks for.
pub const DEFAULT_MARKER: &str = "ORCHESTRA_COMPLETE";

/// Looks for a marker in a text that arrives in pieces.
#[derive(Clone, Debug)]
pub struct Marker {
    text: String,
    /// The end of what came before: one byte less than the marker.
    tail: String,
    found: bool,
}

impl Marker {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tail: String::new(),
            found: false,
        }
    }

    pub fn feed(&mut self, piece: &str) {
        if self.found {
            return;
        }
        self.tail.push_str(piece);
        self.found = self.tail.contains(&self.text);
        let keep = self.text.len().saturating_sub(1);
        let mut start = self.tail.len().saturating_sub(keep);
        while !self.tail.is_char_boundary(start) {
            start -= 1;
        }
        self.tail.drain(..start);
    }

    pub fn found(&self) -> bool {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_marker_is_found_however_the_text_is_split(before in ".{0,20}", after in ".{0,20}", marker in "[A-Zé😀_]{1,8}", cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let text = format!("{before}{marker}{after}");
            let mut scanner = Marker::new(marker);
            let mut start = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len() && text.is_char_boundary(*cut)).collect();
            cuts.sort_unstable();
            for cut in cuts {
                scanner.feed(&text[start..cut]);
                start = cut;
            }
            scanner.feed(&text[start..]);
            prop_assert!(scanner.found());
        }

        #[test]
        fn a_marker_that_is_not_there_is_not_found(pieces in prop::collection::vec("[a-y]{0,5}", 0..10)) {
            let mut scanner = Marker::new("z");
            for piece in pieces {
                scanner.feed(&piece);
            }
            prop_assert!(!scanner.found());
        }
    }
}
