//! Errors, hints, warnings and notes on stderr: how they look, and the one place that writes them outside of a run's
//! display. Colour is one decision for the process: `--color` or the configuration, else what the environment and the
//! stream say.

use super::sanitize::{self, Harmless};
use crate::cli::ColorArg;
use crate::error::Failure;
use owo_colors::{OwoColorize, Style};
use std::io::{IsTerminal, Write};

/// What such a line begins with, and its colour: the same that clap uses for its own.
fn style_of(label: &str) -> Option<Style> {
    match label {
        "error" => Some(Style::new().red().bold()),
        "warning" => Some(Style::new().yellow().bold()),
        "hint" | "note" => Some(Style::new().green()),
        _ => None,
    }
}

/// Has everything from now on coloured like this.
pub fn choose_color(color: ColorArg) {
    match color {
        ColorArg::Auto => anstream::ColorChoice::Auto,
        ColorArg::Always => anstream::ColorChoice::Always,
        ColorArg::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Whether lines on stderr are coloured.
pub fn is_colored() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// An error for people: what, and what to do next.
pub fn failure_text(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("error: {}\nhint: {hint}\n", failure.message),
        None => format!("error: {}\n", failure.message),
    }
}

/// The text with the labels of its lines in their colours.
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(painted_line).collect()
}

fn painted_line(line: &str) -> String {
    let labelled = line.split_once(": ");
    match labelled.and_then(|(label, rest)| Some((label, style_of(label)?, rest))) {
        Some((label, style, rest)) => format!("{} {rest}", format_args!("{label}:").style(style)),
        None => line.to_owned(),
    }
}

/// Writes a diagnostic to stderr, harmless if that is a terminal. Nobody reads it? Then nothing else is lost.
pub fn tell(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let text = match stderr.is_terminal() {
        true => sanitize::text(text, Harmless::Pictured),
        false => text.to_owned(),
    };
    let text = if is_colored() { painted(&text) } else { text };
    let _ = stderr.write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_labels_of_diagnostics_are_coloured() {
        let text = painted("error: there is no file: x\nhint: make one\nwarning of old\n");
        assert_eq!(
            text,
            "\x1b[31;1merror:\x1b[0m there is no file: x\n\x1b[32mhint:\x1b[0m make one\nwarning of old\n"
        );
    }
}
