//! Generated files: completions, man pages, JSON Schemas. All come from the one definition in `cli` and `event`.

use super::print;
use crate::cli::{self, SchemaName, ShellArg};
use crate::complete;
use crate::error::{ErrorKind, Failure};
use crate::event::{Event, EventResult};
use crate::exit::Exit;
use std::path::Path;

pub fn completions(shell: ShellArg) -> Result<Exit, Failure> {
    let script = completion_script(shell);
    print(&script.map_err(|error| Failure::new(ErrorKind::Crashed, error.to_string()))?)
}

/// The completion script of a shell.
pub fn completion_script(shell: ShellArg) -> std::io::Result<Vec<u8>> {
    complete::script(match shell {
        ShellArg::Bash => "bash",
        ShellArg::Zsh => "zsh",
        ShellArg::Fish => "fish",
        ShellArg::PowerShell => "powershell",
        ShellArg::Elvish => "elvish",
    })
}

pub fn man(directory: Option<&Path>) -> Result<Exit, Failure> {
    let unwritable =
        |error: std::io::Error| Failure::new(ErrorKind::Crashed, format!("cannot write the man pages: {error}"));
    let Some(directory) = directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(cli::command())
            .render(&mut page)
            .map_err(unwritable)?;
        return print(&page);
    };
    std::fs::create_dir_all(directory).map_err(unwritable)?;
    for (name, page) in man_pages().map_err(unwritable)? {
        std::fs::write(directory.join(name), page).map_err(unwritable)?;
    }
    Ok(Exit::Success)
}

/// A page for agentctl and one for each of its commands: file name and text.
pub fn man_pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = cli::command();
    root.build();
    let mut pages = Vec::new();
    let commands = root
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help");
    for command in std::iter::once(&root).chain(commands) {
        let name = match command.get_name() {
            "agentctl" => "agentctl".to_owned(),
            name => format!("agentctl-{name}"),
        };
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone().name(name.clone())).render(&mut page)?;
        pages.push((format!("{name}.1"), page));
    }
    Ok(pages)
}

pub fn schema(of: SchemaName) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(&schema_of(of));
    let mut text = text.map_err(|error| Failure::new(ErrorKind::Protocol, error.to_string()))?;
    text.push('\n');
    print(text.as_bytes())
}

/// The JSON Schema of an output.
pub fn schema_of(of: SchemaName) -> schemars::Schema {
    match of {
        SchemaName::Event => schemars::schema_for!(Event<'_>),
        SchemaName::Result => schemars::schema_for!(EventResult),
        SchemaName::Doctor => schemars::schema_for!(crate::doctor::DoctorReport),
        SchemaName::Backends => schemars::schema_for!(Vec<super::backends::BackendView>),
        SchemaName::Sessions => schemars::schema_for!(Vec<super::sessions::SessionView>),
    }
}
