//! Colour for commands that print once: on a terminal, unless the user does not want it.

use std::io::IsTerminal;

pub fn is_wanted() -> bool {
    std::io::stdout().is_terminal() && anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}
