//! `MEDIA:` tokens: how an agent names a file or URL that a gateway should send along with its answer.
//!
//! A token is `MEDIA:` at the start of a word, followed by a path or URL: up to white space, or quoted with `"`, `'` or
//! backquotes when it holds spaces.

const TOKEN: &str = "MEDIA:";

/// The answer without its tokens, and what they named, in order and once each.
pub fn extract(answer: &str) -> (String, Vec<String>) {
    let mut media: Vec<String> = Vec::new();
    let mut text = String::with_capacity(answer.len());
    for line in answer.split_inclusive('\n') {
        let (kept, found) = extract_from_line(line);
        if found.is_empty() {
            text.push_str(line);
            continue;
        }
        for item in found {
            if !media.contains(&item) {
                media.push(item);
            }
        }
        // A line that held nothing else goes with its token.
        if !kept.trim().is_empty() {
            text.push_str(&kept);
        }
    }
    if media.is_empty() {
        return (answer.to_owned(), media);
    }
    (text.trim_end().to_owned(), media)
}

fn extract_from_line(line: &str) -> (String, Vec<String>) {
    let mut kept = String::new();
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(position) = rest.find(TOKEN) {
        let before = &rest[..position];
        let after = &rest[position + TOKEN.len()..];
        let starts_word = before
            .chars()
            .next_back()
            .map_or(kept.ends_with(char::is_whitespace) || kept.is_empty(), |last| {
                last.is_whitespace() || matches!(last, '(' | '[' | '"' | '\'' | '`' | '*' | '>')
            });
        match target(after).filter(|_| starts_word) {
            Some((item, used)) => {
                kept.push_str(before.trim_end_matches([' ', '\t']));
                if !kept.is_empty() && !kept.ends_with(char::is_whitespace) && !after[used..].trim().is_empty() {
                    kept.push(' ');
                }
                found.push(item.to_owned());
                rest = after[used..].trim_start_matches([' ', '\t']);
            }
            None => {
                kept.push_str(&rest[..position + TOKEN.len()]);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    (kept, found)
}

/// What a token names, and how many bytes of `text` that takes.
fn target(text: &str) -> Option<(&str, usize)> {
    let trimmed = text.trim_start_matches([' ', '\t']);
    let skipped = text.len() - trimmed.len();
    let first = trimmed.chars().next()?;
    if matches!(first, '"' | '\'' | '`')
        && let Some(end) = trimmed[1..].find([first, '\n'])
        && trimmed[1 + end..].starts_with(first)
    {
        return (end > 0).then(|| (&trimmed[1..=end], skipped + end + 2));
    }
    let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
    let item = trimmed[..end].trim_end_matches(['"', '\'', '`', ',', ';', ')', ']', '*']);
    (!item.is_empty()).then_some((item, skipped + end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(answer: &str, text: &str, media: &[&str]) {
        let (kept, found) = extract(answer);
        assert_eq!(
            (kept.as_str(), found.iter().map(String::as_str).collect::<Vec<_>>()),
            (text, media.to_vec())
        );
    }

    #[test]
    fn a_line_with_only_a_token_goes_with_it() {
        check(
            "Here it is:\nMEDIA:/tmp/plot.png\nEnjoy.",
            "Here it is:\nEnjoy.",
            &["/tmp/plot.png"],
        );
    }

    #[test]
    fn tokens_inside_a_line_leave_the_rest_readable() {
        check(
            "See MEDIA:a.png and MEDIA:https://h/b.jpg now",
            "See and now",
            &["a.png", "https://h/b.jpg"],
        );
    }

    #[test]
    fn quoted_paths_may_hold_spaces() {
        check("MEDIA:\"my plot.png\"", "", &["my plot.png"]);
        check("`MEDIA:x.png`", "`", &["x.png"]);
    }

    #[test]
    fn the_same_file_is_named_once() {
        check("MEDIA:a MEDIA:a", "", &["a"]);
    }

    #[test]
    fn what_only_looks_like_a_token_is_left_alone() {
        for text in ["MULTIMEDIA:x", "MEDIA:", "MEDIA: \n", "no media here\n"] {
            check(text, text, &[]);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_without_a_panic_and_text_without_tokens_is_untouched(text in "\\PC{0,80}") {
            let (kept, media) = extract(&text);
            if media.is_empty() {
                prop_assert_eq!(kept, text);
            }
        }
    }
}
