//! A word that is still being typed, with the quotes and backslashes of a shell.

/// The quote that is open at the end of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

#[derive(Debug)]
pub struct Typed {
    /// As it is in the command line, without a backslash that nothing follows yet.
    raw: String,
    value: String,
    quote: Quote,
}

impl Typed {
    pub fn of(raw: &str) -> Self {
        let mut typed = Self {
            raw: raw.to_owned(),
            value: String::new(),
            quote: Quote::None,
        };
        let mut characters = raw.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            typed.quote = match (typed.quote, character) {
                (Quote::None, '\'') => Quote::Single,
                (Quote::None, '"') => Quote::Double,
                (Quote::Single, '\'') | (Quote::Double, '"') => Quote::None,
                (Quote::None, '\\') if next.is_none() => {
                    typed.raw.pop();
                    Quote::None
                }
                (quote, '\\') if next.is_some_and(|next| is_escaped(next, quote)) => {
                    typed.value.extend(characters.next());
                    quote
                }
                (quote, other) => {
                    typed.value.push(other);
                    quote
                }
            };
        }
        typed
    }

    /// What the shell would make of it.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The word as it would be typed to the end. Nothing if this quote does not keep the shell from obeying a part of it.
    /// The shell closes the quote, unless it takes the last character for that.
    pub fn completed(&self, value: &str) -> Option<String> {
        let mut line = match (value.strip_prefix(&self.value), self.quote) {
            (Some(rest), quote) => format!("{}{}", self.raw, quoted(rest, quote)?),
            (None, Quote::None) => quoted(value, Quote::None)?,
            (None, _) => return None,
        };
        match self.quote {
            Quote::Double if line.ends_with('"') => line.push('"'),
            Quote::Single if line.ends_with('\'') => line.push('\''),
            _ => {}
        }
        Some(line)
    }
}

/// Whether a backslash takes the meaning of this character.
fn is_escaped(character: char, quote: Quote) -> bool {
    match quote {
        Quote::None => true,
        Quote::Single => false,
        Quote::Double => "\"$`\\".contains(character),
    }
}

/// The text as it is typed after this quote.
fn quoted(text: &str, quote: Quote) -> Option<String> {
    let plain = |character: char| character.is_alphanumeric() || "-_./@+,=:%".contains(character);
    match quote {
        Quote::None => Some(escaped(text, |character| !plain(character))),
        // Nothing but a backslash that stays there keeps bash from replacing it.
        Quote::Double if text.contains('!') => None,
        Quote::Double => Some(escaped(text, |character| is_escaped(character, quote))),
        Quote::Single => Some(text.replace('\'', r"'\''")),
    }
}

fn escaped(text: &str, needs: impl Fn(char) -> bool) -> String {
    let characters = text.chars();
    let escape = |character| needs(character).then_some('\\').into_iter().chain([character]);
    characters.flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_means_what_the_shell_makes_of_it() {
        for (raw, value) in [
            ("my", "my"),
            ("my\\ ch", "my ch"),
            ("\"my ch", "my ch"),
            ("'my ch", "my ch"),
            ("--session=\"my", "--session=my"),
            ("\"a\\$b\\c", "a$b\\c"),
            ("'a\\", "a\\"),
            ("a\\", "a"),
            ("'a'b\"c\"d", "abcd"),
        ] {
            assert_eq!(Typed::of(raw).value(), value, "{raw}");
        }
    }

    #[test]
    fn a_word_is_completed_in_the_quote_that_was_begun() {
        for (raw, value, completed) in [
            ("my", "my chat", Some("my\\ chat")),
            ("my\\", "my chat", Some("my\\ chat")),
            ("my\\ ch", "my chat", Some("my\\ chat")),
            ("\"my", "my chat", Some("\"my chat")),
            ("'my", "my chat", Some("'my chat")),
            ("\"a", "a $(x) `y` \"z\"", Some("\"a \\$(x) \\`y\\` \\\"z\\\"\"")),
            ("'a", "a it's", Some("'a it'\\''s")),
            ("\"a", "a!!", None),
            ("irc:", "irc:room", Some("irc:room")),
            ("~/a", "/home/user/a b", Some("/home/user/a\\ b")),
        ] {
            assert_eq!(Typed::of(raw).completed(value).as_deref(), completed, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_shell_reads_a_completed_word_as_the_value(value in "[^\\x00-\\x1f!]{0,12}", at in 0usize..12) {
            let beginning: String = value.chars().take(at).collect();
            for (open, close) in [("", ""), ("'", "'"), ("\"", "\"")] {
                let quote = Typed::of(open).quote;
                let typed = Typed::of(&format!("{open}{}", quoted(&beginning, quote).unwrap()));
                prop_assert_eq!(typed.value(), &beginning);
                let mut line = typed.completed(&value).unwrap();
                if !line.ends_with(close) {
                    line.push_str(close);
                }
                // The lexer takes nothing at all for no word.
                let words = shlex::split(&line).unwrap();
                prop_assert_eq!(words.concat(), value.as_str(), "{}", line);
                prop_assert!(words.len() <= 1, "{}", line);
            }
        }
    }
}
