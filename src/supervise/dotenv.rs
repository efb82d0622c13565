//! Files of `KEY=VALUE` lines, as far as people write them: `export`, comments, quotes. No references to other variables.

use std::path::Path;

/// The variables of a file; none if it cannot be read.
pub fn read(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim_start_matches('\u{feff}')
        .lines()
        .filter_map(variable)
        .collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let value = unquoted(value.trim());
    (is_name && !value.contains('\0')).then(|| (name.to_owned(), value))
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\'', '`'] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return if quote == '"' {
                inner.replace("\\n", "\n")
            } else {
                inner.to_owned()
            };
        }
    }
    value.split('#').next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_people_write_them() {
        let pairs: Vec<_> = [
            "A=1",
            "  export B = two words  # comment",
            "C=\"x # y\\nz\" # comment",
            "D='it''s'",
            "E=",
            "# F=1",
            "G",
            "=1",
            "bad name=1",
        ]
        .into_iter()
        .filter_map(variable)
        .collect();
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x # y\nz"),
            ("D", "it"),
            ("E", ""),
        ];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_file_that_is_not_there_holds_nothing() {
        assert_eq!(read(Path::new("/nonexistent/.env")), []);
    }
}
