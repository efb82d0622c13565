//! What looks like a credential wherever it stands: tokens by how they begin, and passwords of addresses.

use super::MASKED;

/// How tokens begin, and how long they are at least.
const TOKENS: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("sk-", 20),
    ("xoxa-", 15),
    ("xoxb-", 15),
    ("xoxp-", 15),
    ("xoxr-", 15),
    ("xoxs-", 15),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 35),
    ("npm_", 36),
    ("hf_", 30),
];
const JSON_WEB_TOKEN: &str = "eyJ";
const SHORTEST_JSON_WEB_TOKEN: usize = 30;

pub fn masked(text: String) -> String {
    without_tokens(without_passwords(text))
}

/// `scheme://user:password@host` of any length; alone, a short password would mask parts of words.
fn without_passwords(text: String) -> String {
    if !text.contains("://") {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(position) = rest.find("://") {
        let (before, after) = rest.split_at(position + 3);
        shown.push_str(before);
        let ends = |character: char| character.is_whitespace() || "/?#\"'`<>\\".contains(character);
        let authority = &after[..after.find(ends).unwrap_or(after.len())];
        let password = authority
            .rfind('@')
            .and_then(|end| Some((authority[..end].find(':')? + 1, end)));
        rest = match password {
            Some((start, end)) if start < end => {
                shown.push_str(&after[..start]);
                shown.push_str(MASKED);
                &after[end..]
            }
            _ => after,
        };
    }
    shown.push_str(rest);
    shown
}

fn without_tokens(text: String) -> String {
    let begins = |start: &str| text.contains(start);
    if !begins(JSON_WEB_TOKEN) && !TOKENS.iter().any(|(start, _)| begins(start)) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(position) = rest.find(is_part) {
        let (before, after) = rest.split_at(position);
        shown.push_str(before);
        let (run, remaining) = after.split_at(after.find(|one| !is_part(one)).unwrap_or(after.len()));
        let (escape, word) = run.split_at(if before.ends_with('\\') { escaped(run) } else { 0 });
        match (is_token(run), is_token(word)) {
            (true, _) => shown.push_str(MASKED),
            (false, true) => shown.extend([escape, MASKED]),
            (false, false) => shown.push_str(run),
        }
        rest = remaining;
    }
    shown.push_str(rest);
    shown
}

/// How much after a backslash belongs to it: in JSON, a line begins behind the letter of `\n`.
fn escaped(run: &str) -> usize {
    match run.starts_with('u') {
        true => run.len().min("uXXXX".len()),
        false => 1,
    }
}

fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

fn is_token(run: &str) -> bool {
    // A word or a file name with such a beginning has no digits, or is short.
    let long = |least: usize| run.len() >= least && run.contains(|one: char| one.is_ascii_digit());
    let web = run.starts_with(JSON_WEB_TOKEN) && run.matches('.').count() >= 2 && run.len() >= SHORTEST_JSON_WEB_TOKEN;
    web || TOKENS
        .iter()
        .any(|(start, least)| run.starts_with(start) && long(*least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_addresses_are_masked_at_any_length() {
        for (text, shown) in [
            ("https://u:p@h/", "https://u:***@h/"),
            (
                "a https://u:p:q@x@h:80/ b://c/d:e@f",
                "a https://u:***@h:80/ b://c/d:e@f",
            ),
            ("redis://:pw@h", "redis://:***@h"),
            ("https://user@h/ https://h:80/", "https://user@h/ https://h:80/"),
            (r#"{"a":"x://u:p@h"}"#, r#"{"a":"x://u:***@h"}"#),
        ] {
            assert_eq!(masked(text.to_owned()), shown);
        }
    }

    #[test]
    fn tokens_are_known_by_their_beginning() {
        for token in [
            "ghp_0123456789abcdefghij",
            "github_pat_11ABCDEFG0abcdefghij_x",
            "sk-ant-api03-abcdefghijklmnop",
            "xoxb-123456789012-abc",
            "AKIAIOSFODNN7EXAMPL3",
            "glpat-0123456789abcdefghij",
            "AIzaSyA0123456789abcdefghijklmnopqrstuv",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ] {
            assert_eq!(masked(format!("A='{token}', b")), "A='***', b");
            for escape in [r"\n", r"\t", r"\u000a", r"\\"] {
                let line = masked(format!(r#"{{"output":"one{escape}{token}\n"}}"#));
                assert_eq!(line, format!(r#"{{"output":"one{escape}***\n"}}"#));
            }
        }
        for text in ["sk-learn", "the sk-transformation-of-words", "eyJ.a.b", "AKIA", "ghp_x"] {
            assert_eq!(masked(text.to_owned()), text);
        }
    }
}
