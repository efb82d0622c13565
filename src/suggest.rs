//! What was probably meant.

/// The candidate nearest to a mistyped word, if one is near.
pub fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let exactly = |candidate: &str| strsim::jaro_winkler(word, candidate);
    let likeness = |candidate: &str| {
        let (word, candidate) = (word.to_lowercase(), candidate.to_lowercase());
        // In a short word one slip changes much.
        let is_slip = strsim::osa_distance(&word, &candidate) <= 1;
        strsim::jaro_winkler(&word, &candidate) + f64::from(u8::from(is_slip))
    };
    let best = candidates.iter().max_by(|left, right| {
        let by_likeness = likeness(left).total_cmp(&likeness(right));
        by_likeness.then_with(|| exactly(left).total_cmp(&exactly(right)))
    })?;
    (likeness(best) > 0.8).then_some(*best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_finds_none() {
        assert_eq!(closest("clade", &["claude", "codex"]), Some("claude"));
        assert_eq!(closest("zzz", &["claude", "codex"]), None);
        assert_eq!(closest("rnu", &["run", "resume"]), Some("run"));
        assert_eq!(closest("MOCK", &["codex", "mock"]), Some("mock"));
        assert_eq!(closest("Bsh", &["bash", "Bash"]), Some("Bash"));
    }
}
