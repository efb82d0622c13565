//! Values for `-c key=value`: TOML on one line, because a raw value that happens to parse as something else (`true`, `1`)
//! is a type error in Codex.

/// A basic string. JSON's escapes are TOML's, except that TOML wants DEL escaped too.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

pub fn strings<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts: Vec<_> = texts.into_iter().map(string).collect();
    format!("[{}]", texts.join(","))
}

/// An inline table; the values are TOML already.
pub fn table<'a>(entries: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let entries: Vec<_> = entries
        .into_iter()
        .map(|(key, value)| format!("{}={value}", string(key)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: &str) -> toml::Value {
        let document: toml::Table = format!("x = {value}").parse().unwrap();
        document["x"].clone()
    }

    #[test]
    fn any_string_survives() {
        for text in [
            "",
            "true",
            "a\"b\\c\nd\te\r",
            "\u{0}\u{1f}\u{7f}\u{80}",
            "ünï😀'''\"\"\"",
        ] {
            assert_eq!(parsed(&string(text)).as_str(), Some(text), "{text:?}");
        }
    }

    #[test]
    fn tables_and_lists_are_toml() {
        let value = parsed(&table([("a.b", string("c")), ("list", strings(["x", "y"]))]));
        assert_eq!(value["a.b"].as_str(), Some("c"));
        assert_eq!(value["list"].as_array().map(Vec::len), Some(2));
    }
}
