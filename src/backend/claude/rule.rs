//! One rule about tools as the CLI takes it. The CLI ignores what it does not know, so everything that is not known to
//! mean something to it is refused here.

use super::tools;
use crate::error::Failure;
use crate::suggest::closest;
use crate::tool::ToolKind;

/// A rule that the CLI knows.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool that it is about.
    pub tool: String,
    /// What the CLI is told.
    pub text: String,
    /// The part of the tool's calls that it is about; `None` is all.
    pub pattern: Option<String>,
}

/// Tools that take a pattern, by our names and by the CLI's, with the name that the CLI looks for. It looks for rules
/// about files under two names alone: one for reading, and one for every kind of change.
const PATTERNED: &[(&str, &str, &str)] = &[
    ("bash", "Bash", "Bash"),
    ("Bash", "Bash", "Bash"),
    ("PowerShell", "PowerShell", "PowerShell"),
    ("read", "Read", "Read"),
    ("Read", "Read", "Read"),
    ("edit", "Edit", "Edit"),
    ("Edit", "Edit", "Edit"),
    ("MultiEdit", "MultiEdit", "Edit"),
    ("NotebookEdit", "NotebookEdit", "Edit"),
    ("write", "Write", "Edit"),
    ("Write", "Write", "Edit"),
    ("fetch", "WebFetch", "WebFetch"),
    ("WebFetch", "WebFetch", "WebFetch"),
    ("Agent", "Agent", "Agent"),
    ("Task", "Task", "Task"),
    ("Skill", "Skill", "Skill"),
];

impl Rule {
    /// Reads a rule that is not just one of our names.
    pub fn read(text: &str) -> Result<Self, Failure> {
        let (name, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(|| malformed(text))?)),
        };
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '*' | '.');
        let well_formed = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(plain)
            && pattern.is_none_or(|pattern| !pattern.trim().is_empty())
            && !text.contains(char::is_control);
        if !well_formed {
            return Err(malformed(text));
        }
        match pattern {
            None if name.starts_with("mcp__") || tools::is_known(name) => Ok(Self {
                tool: name.to_owned(),
                text: text.to_owned(),
                pattern: None,
            }),
            None => Err(unknown(name)),
            Some(pattern) => {
                let Some((_, tool, looked_for)) = PATTERNED.iter().find(|(written, ..)| *written == name) else {
                    return Err(takes_no_pattern(name));
                };
                Ok(Self {
                    tool: (*tool).to_owned(),
                    text: format!("{looked_for}({pattern})"),
                    pattern: Some(pattern.to_owned()),
                })
            }
        }
    }

    pub fn kind(&self) -> ToolKind {
        tools::kind(&self.tool)
    }

    pub fn changes_files(&self) -> bool {
        matches!(self.kind(), ToolKind::Edit | ToolKind::Write)
    }
}

fn malformed(text: &str) -> Failure {
    Failure::usage(format!("`{text}` is no tool rule of Claude"))
        .hint("a tool's name, or a name with a pattern such as `Bash(git *)`")
}

fn unknown(name: &str) -> Failure {
    let ours = ToolKind::NAMEABLE.iter().map(|kind| kind.name());
    let known: Vec<&str> = ours.chain(tools::all()).collect();
    let hint = match closest(name, &known) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => {
            "use bash, read, edit, write, search, fetch, mcp, a tool of Claude such as `NotebookEdit`, a pattern such \
                 as `Bash(git *)`, or mcp__SERVER__TOOL"
                .to_owned()
        }
    };
    Failure::usage(format!("Claude has no tool `{name}`")).hint(hint)
}

fn takes_no_pattern(name: &str) -> Failure {
    let is_ours = ToolKind::NAMEABLE.iter().any(|kind| kind.name() == name);
    if !is_ours && !tools::is_known(name) && !name.starts_with("mcp__") {
        return unknown(name);
    }
    let hint = match (name, tools::kind(name)) {
        ("mcp", _) | (_, ToolKind::Mcp) => "name the tool: mcp__SERVER__TOOL".to_owned(),
        ("search", _) | (_, ToolKind::Search | ToolKind::Read) => "files are named by `Read(PATTERN)`".to_owned(),
        _ => format!("name the whole tool: `{name}`"),
    };
    Failure::usage(format!(
        "Claude takes no pattern for `{name}`: it would ignore the rule"
    ))
    .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rule: &str) -> String {
        Rule::read(rule)
            .unwrap_or_else(|failure| panic!("{rule}: {failure}"))
            .text
    }

    #[test]
    fn our_names_with_a_pattern_become_those_that_the_cli_looks_for() {
        for (written, told) in [
            ("bash(touch *)", "Bash(touch *)"),
            ("Bash(git *, ls)", "Bash(git *, ls)"),
            ("read(secret/**)", "Read(secret/**)"),
            ("fetch(domain:example.com)", "WebFetch(domain:example.com)"),
            ("Agent(Explore)", "Agent(Explore)"),
            ("mcp__tracker__list", "mcp__tracker__list"),
            ("NotebookEdit", "NotebookEdit"),
        ] {
            assert_eq!(text(written), told);
        }
    }

    #[test]
    fn a_pattern_of_written_files_has_the_name_under_which_the_cli_looks_for_it() {
        for written in [
            "edit(secret/**)",
            "write(secret/**)",
            "Write(secret/**)",
            "NotebookEdit(secret/**)",
        ] {
            assert_eq!(text(written), "Edit(secret/**)");
        }
        assert_eq!(Rule::read("write(x)").unwrap().tool, "Write");
    }

    #[test]
    fn what_the_cli_would_ignore_is_refused_with_what_was_meant() {
        for (rule, hint) in [
            ("bsah", "`bash`"),
            ("Bsh", "`Bash`"),
            ("bsah(touch *)", "`bash`"),
            ("Frobnicate", "mcp__SERVER__TOOL"),
            ("search(x)", "`Read(PATTERN)`"),
            ("Grep(x)", "`Read(PATTERN)`"),
            ("mcp(x)", "mcp__SERVER__TOOL"),
            ("mcp__a__b(x)", "mcp__SERVER__TOOL"),
            ("WebSearch(x)", "`WebSearch`"),
            ("B*", "mcp__SERVER__TOOL"),
        ] {
            let failure = Rule::read(rule).unwrap_err();
            assert!(
                failure.hint.as_deref().unwrap_or_default().contains(hint),
                "{rule}: {failure:?}"
            );
        }
    }
}
