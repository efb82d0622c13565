//! Columns that line up on a terminal, where a character may take two cells, or none.

/// How many cells the text takes.
pub fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// The text with blanks behind it, up to this many cells.
pub fn padded(text: &str, cells: usize) -> String {
    let blanks = cells.saturating_sub(width(text));
    format!("{text}{:blanks$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_wide_as_a_terminal_shows_it() {
        assert_eq!(["abc", "日本", "e\u{301}", ""].map(width), [3, 4, 1, 0]);
        assert_eq!([padded("日本", 6), padded("longer", 2)], ["日本  ", "longer"]);
    }
}
