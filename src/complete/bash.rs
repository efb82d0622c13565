//! Completion for bash: it is given values as they are typed, in the quote that was begun, because it puts them into the
//! line as they are.

use super::word::Typed;
use crate::report;
use clap_complete::engine;
use clap_complete::env::EnvCompleter;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Between values, which never have it: a vertical tabulator.
const SEPARATOR: char = '\x0b';

pub struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(&self, _: &str, _: &str, _: &str, _: &str, script: &mut dyn Write) -> io::Result<()> {
        script.write_all(include_bytes!("registration.bash"))
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        mut words: Vec<OsString>,
        here: Option<&Path>,
        answer: &mut dyn Write,
    ) -> io::Result<()> {
        // Behind the last word a new one begins.
        let index = super::index(&words).min(words.len());
        words.resize(words.len().max(index + 1), OsString::new());
        let typed = Typed::of(&words[index].to_string_lossy());
        words[index] = typed.value().into();
        for candidate in engine::complete(command, words, index, here)? {
            let value = candidate.get_value().to_string_lossy();
            let obeyed = |character: char| character.is_control() || report::is_dangerous(character);
            if let Some(line) = typed.completed(&value).filter(|line| !line.contains(obeyed)) {
                write!(answer, "{line}{SEPARATOR}")?;
            }
        }
        Ok(())
    }
}
