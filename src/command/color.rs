//! Colour for commands that print once: on a terminal, unless the user does not want it.

use owo_colors::Style;
use std::io::IsTerminal;

/// The style, or none where there is no colour.
pub fn style(style: Style) -> Style {
    let colored = std::io::stdout().is_terminal()
        && anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    if colored { style } else { Style::new() }
}
