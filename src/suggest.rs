//! What was probably meant.

/// The candidate nearest to a mistyped word, if one is near.
pub fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let score = |candidate: &&str| strsim::jaro_winkler(word, candidate);
    let best = candidates
        .iter()
        .max_by(|left, right| score(left).total_cmp(&score(right)))?;
    (score(best) > 0.8).then_some(*best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        assert_eq!(closest("clade", &["claude", "codex"]), Some("claude"));
        assert_eq!(closest("zzz", &["claude", "codex"]), None);
    }
}
