//! Generated files: completions, man pages, JSON Schemas. All come from the one definition in `cli` and `event`.

use super::print;
use crate::cli::{self, SchemaName, ShellArg};
use crate::complete;
use crate::error::{ErrorKind, Failure};
use crate::event::Event;
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
    let pages = man_pages().map_err(unwritable)?;
    let Some(directory) = directory else {
        // The first is agentctl's own.
        return print(pages.first().map_or(&[], |(_, page)| page));
    };
    std::fs::create_dir_all(directory).map_err(unwritable)?;
    for (name, page) in pages {
        std::fs::write(directory.join(name), page).map_err(unwritable)?;
    }
    Ok(Exit::Success)
}

/// A page for agentctl and one for each of its commands, and theirs: file name and text.
pub fn man_pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let root = cli::command();
    let mut pages = Vec::new();
    add_pages(&root, "agentctl", &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().name(name.to_owned()))
        .source(concat!("agentctl ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    let mut page = as_typed(&String::from_utf8_lossy(&page));
    page = page.replace("[\\fIBACKEND_ARGS\\fR]", "[\\-\\- \\fIBACKEND_ARGS\\fR...]");
    // Without a date, what comes after it would be taken for one.
    let title = format!(".TH {name} 1  ");
    page = page.replacen(&title, &format!(".TH {name} 1 \"\" "), 1);
    // A word that is parted at the end of a line cannot be copied, and a flag would not be found.
    page = page.replacen("\n.SH NAME\n", "\n.nh\n.ad l\n.SH NAME\n", 1);
    if name != "agentctl" {
        page += ".SH \"SEE ALSO\"\nagentctl(1)\n";
    } else {
        let codes = Exit::TABLE.iter();
        let codes = codes.map(|(exit, meaning)| (exit.code().to_string(), (*meaning).to_owned()));
        page += &section("EXIT STATUS", codes);
        let variables = crate::config::VARIABLES.iter();
        let variables = variables.map(|(name, meaning)| ((*name).to_owned(), (*meaning).to_owned()));
        page += &section("ENVIRONMENT", variables);
    }
    pages.push((format!("{name}.1"), page.into_bytes()));
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    // The help of a group of commands explains itself.
    for below in below.filter(|below| name == "agentctl" || below.get_name() != "help") {
        add_pages(below, &format!("{name}-{}", below.get_name()), pages)?;
    }
    Ok(())
}

/// The page with its examples in a section of their own, line by line as they are typed.
fn as_typed(page: &str) -> String {
    let Some((above, rest)) = page.split_once(".SH EXTRA\nExamples:\n") else {
        return page.to_owned();
    };
    let end = rest
        .split_inclusive('\n')
        .take_while(|line| line.starts_with("  "))
        .map(str::len)
        .sum();
    let (examples, below) = rest.split_at(end);
    let below = below.trim_start_matches('\n');
    let gap = if below.is_empty() { "" } else { ".PP\n" };
    format!(
        "{above}.SH EXAMPLES\n.nf\n{}\n.fi\n{gap}{below}",
        examples.trim_end_matches('\n')
    )
}

/// Words with what they mean, as a section of a man page.
fn section(title: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    let typeset = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let rows = rows.map(|(word, meaning)| format!(".TP\n\\fB{}\\fR\n{}\n", typeset(&word), typeset(&meaning)));
    format!(".SH \"{title}\"\n{}", rows.collect::<String>())
}

/// Prints the files that were generated: with the means to generate them the binary would be larger by a fifth of a
/// megabyte.
pub fn schema(of: SchemaName) -> Result<Exit, Failure> {
    let text = match of {
        SchemaName::Event => include_str!("../../man/schema/event.json"),
        SchemaName::Result => include_str!("../../man/schema/result.json"),
        SchemaName::Doctor => include_str!("../../man/schema/doctor.json"),
        SchemaName::Backends => include_str!("../../man/schema/backends.json"),
        SchemaName::Backend => include_str!("../../man/schema/backend.json"),
        SchemaName::Sessions => include_str!("../../man/schema/sessions.json"),
        SchemaName::Session => include_str!("../../man/schema/session.json"),
        SchemaName::Prune => include_str!("../../man/schema/prune.json"),
    };
    print(text.as_bytes())
}

/// The JSON Schema of an output, from its definition; a test keeps the files as fresh as this.
pub fn schema_of(of: SchemaName) -> schemars::Schema {
    match of {
        SchemaName::Event => schemars::schema_for!(Event<'_>),
        SchemaName::Result => schemars::schema_for!(crate::report::Tagged<'_>),
        SchemaName::Doctor => schemars::schema_for!(crate::doctor::DoctorReport),
        SchemaName::Backends => schemars::schema_for!(Vec<super::backends::BackendView>),
        SchemaName::Backend => schemars::schema_for!(super::backends::BackendView),
        SchemaName::Sessions => schemars::schema_for!(Vec<super::sessions::SessionView>),
        SchemaName::Session => schemars::schema_for!(super::sessions::SessionView),
        SchemaName::Prune => schemars::schema_for!(super::sessions::PruneView),
    }
}
