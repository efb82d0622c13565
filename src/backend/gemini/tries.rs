//! Tries of one answer. When the model's stream breaks off, Gemini CLI waits a second or more, asks again and prints the
//! new try after the old one with nothing between them; only the clock and the repetition tell.

/// The shortest wait of the CLI before it asks again.
const SHORTEST_WAIT_MS: u32 = 1000;

const DAY_MS: u32 = 24 * 60 * 60 * 1000;

/// Where in the answer so far a try may have begun.
#[derive(Debug, Default)]
pub struct Tries {
    starts: Vec<usize>,
    last_ms: Option<u32>,
}

/// More pauses than the CLI has tries are the model's own; the first few are enough to look at.
const STARTS_KEPT: usize = 64;

impl Tries {
    /// A piece of text arrives after `length` bytes of the answer.
    pub fn piece(&mut self, length: usize, timestamp: &str) {
        let now = milliseconds_of_day(timestamp);
        if let (Some(before), Some(now)) = (self.last_ms, now) {
            let waited = (now + DAY_MS - before) % DAY_MS;
            if waited >= SHORTEST_WAIT_MS && length > 0 && self.starts.len() < STARTS_KEPT {
                self.starts.push(length);
            }
        }
        self.last_ms = now;
    }

    /// A new answer begins.
    pub fn reset(&mut self) {
        self.starts.clear();
        self.last_ms = None;
    }

    /// The byte at which the answer proper begins: after every try that the following text repeats from its start.
    pub fn answer_start(&self, answer: &str) -> usize {
        let mut begin = 0;
        for start in &self.starts {
            if let (Some(tried), Some(rest)) = (answer.get(begin..*start), answer.get(*start..))
                && rest.starts_with(tried)
            {
                begin = *start;
            }
        }
        begin
    }
}

/// `2026-11-18T00:45:54.831Z`: the milliseconds since midnight.
fn milliseconds_of_day(timestamp: &str) -> Option<u32> {
    let time = timestamp.as_bytes().get(11..23)?;
    let number = |range: std::ops::Range<usize>| {
        time.get(range)?.iter().try_fold(0u32, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
        })
    };
    let (hours, minutes, seconds) = (number(0..2)?, number(3..5)?, number(6..8)?);
    Some((((hours * 60 + minutes) * 60 + seconds) * 1000 + number(9..12)?) % DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(pieces: &[(&str, &str)]) -> usize {
        let (mut tries, mut answer) = (Tries::default(), String::new());
        for (time, text) in pieces {
            tries.piece(answer.len(), &format!("2026-11-18T{time}Z"));
            answer.push_str(text);
        }
        tries.answer_start(&answer)
    }

    #[test]
    fn a_repeated_try_is_left_out() {
        let pieces = [
            ("00:45:54.831", "one t"),
            ("00:45:55.913", "one t"),
            ("00:45:57.936", "one t"),
            ("00:45:57.940", "wo"),
        ];
        assert_eq!(start(&pieces), 10);
    }

    #[test]
    fn a_slow_model_that_goes_on_is_kept_whole() {
        assert_eq!(start(&[("00:00:01.000", "one "), ("00:00:05.000", "two")]), 0);
    }

    #[test]
    fn a_repetition_without_a_wait_is_the_models_own() {
        assert_eq!(start(&[("00:00:01.000", "ha"), ("00:00:01.100", "ha")]), 0);
    }

    #[test]
    fn midnight_does_not_hide_a_try() {
        assert_eq!(start(&[("23:59:59.500", "a"), ("00:00:00.600", "ab")]), 1);
    }

    #[test]
    fn a_clock_that_cannot_be_read_tells_nothing() {
        assert_eq!(milliseconds_of_day("yesterday"), None);
        assert_eq!(milliseconds_of_day("2026-11-18Tab:cd:ef.ghiZ"), None);
        assert_eq!(milliseconds_of_day("2026-11-18T00:00:01.5é"), None);
    }
}
