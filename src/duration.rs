//! Durations as people type them: `90s`, `10m`, `1h30m`, `30d`, a bare number of seconds, `0` for none.

use jiff::SpanRelativeTo;
use std::time::Duration;

/// Reads a limit. `None` is `0`: no limit at all.
pub fn parse(text: &str) -> Result<Option<Duration>, String> {
    let limit = parse_age(text).map_err(|wrong| format!("{wrong}; 0 is none"))?;
    Ok(Some(limit).filter(|limit| !limit.is_zero()))
}

/// Reads an age, for which `0` is an age like any other.
pub fn parse_age(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let duration = match text.parse::<f64>() {
        Ok(seconds) if text.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            Duration::try_from_secs_f64(seconds).ok()
        }
        _ => parse_units(text),
    };
    duration.ok_or_else(|| wrong(text))
}

/// Days and weeks are of 24 hours: nobody who types `30d` thinks of daylight saving.
fn parse_units(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    Duration::try_from(duration).ok()
}

fn wrong(text: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("`{shown}` is no duration: write 90s, 10m, 1h30m or 30d")
}

/// How long ago something was, in one unit: `now`, `5m`, `3h`, `12d`.
pub fn ago(passed: jiff::SignedDuration) -> String {
    let seconds = passed.as_secs();
    match seconds {
        ..10 => "now".to_owned(),
        10..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text).unwrap().map(|duration| duration.as_secs())
    }

    #[test]
    fn the_forms_that_people_type_are_understood() {
        for (text, expected) in [
            ("90s", 90),
            ("90", 90),
            ("10m", 600),
            ("1h30m", 5400),
            ("1h 30m", 5400),
            ("30d", 30 * 86_400),
            ("2w", 14 * 86_400),
            ("5 minutes", 300),
            (" 10m ", 600),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert_eq!(parse("1.5").unwrap(), Some(Duration::from_millis(1500)));
        assert_eq!(parse("250ms").unwrap(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn zero_is_no_limit() {
        for text in ["0", "0s", "0m", "0.0"] {
            assert_eq!(seconds(text), None, "{text}");
            assert_eq!(parse_age(text), Ok(Duration::ZERO), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_examples() {
        for text in [
            "", "soon", "-5s", "-1", "10x", "1e400", "nan", "inf", "infinity", "1mo", "1y", "5s ago",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("soon").unwrap_err().contains("1h30m"));
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        for (passed, told) in [
            (-5, "now"),
            (3, "now"),
            (59, "59s ago"),
            (60, "1m ago"),
            (7200, "2h ago"),
            (200_000, "2d ago"),
        ] {
            assert_eq!(ago(jiff::SignedDuration::from_secs(passed)), told);
        }
    }
}
