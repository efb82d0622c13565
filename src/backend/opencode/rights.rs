//! Permission levels and tool rules as one of OpenCode's permission tables. The last rule that matches wins there, so
//! the order of the table is its meaning.

use super::tools;
use crate::error::Failure;
use crate::request::{McpServer, Permission, Request};
use crate::tool::{ToolKind, ToolRule};
use serde::ser::{Serialize, SerializeMap, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Allow,
    /// Nobody answers in a headless run: with `--auto` it is allowed.
    Ask,
    Deny,
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Rights by key; a key's patterns in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(Vec<(String, Vec<(String, Action)>)>);

/// The table of a run, and what the user should know about it.
#[derive(Debug)]
pub struct Limits {
    pub table: Table,
    pub warnings: Vec<String>,
}

const EVERYTHING: &str = "*";
/// Every tool of an MCP server has an underscore in its name.
const ANY_SERVER: &str = "*_*";
const EXTERNAL: &str = "external_directory";
const REPETITION: &str = "doom_loop";
const SEARCH: &[&str] = &["glob", "grep", "list"];
/// What changes nothing outside of the conversation.
const INTERNAL: &[&str] = &["todowrite", "skill"];
/// Subagents and modes come with rights of their own.
const ESCAPES: &[&str] = &["task", "plan_enter", "plan_exit", "question"];

/// The rights of a run; `None` if it may do everything.
pub fn limits(request: &Request) -> Result<Option<Limits>, Failure> {
    if !request.is_limited() {
        return Ok(None);
    }
    let mut table = Table::default();
    let mut warnings = Vec::new();
    if !request.allow_tools.is_empty() {
        table.set(EVERYTHING, Action::Deny);
        for rule in &request.allow_tools {
            allow(&mut table, rule, request)?;
        }
        table.set_each(INTERNAL, Action::Allow);
    } else if request.permission < Permission::Full {
        table.set(EVERYTHING, Action::Deny);
        for server in &request.mcp_servers {
            table.set(&server_tools(&server.name), Action::Allow);
        }
        table.set("read", Action::Allow);
        table.set_each(SEARCH, Action::Allow);
        table.set_each(INTERNAL, Action::Allow);
        if request.permission == Permission::Edit {
            table.set("edit", Action::Allow);
        }
    } else {
        warnings.push("OpenCode's subagents would not keep to --deny-tool: its task tool is off".to_owned());
    }
    table.set_each(ESCAPES, Action::Deny);
    deny(&mut table, request, &mut warnings)?;
    surroundings(&mut table, request)?;
    Ok(Some(Limits { table, warnings }))
}

/// What one of OpenCode's own names or patterns is about. Those of servers that are not of this run, and those that
/// could stand for a built-in tool, are no part of any level but full.
pub fn kind(rule: &str, request: &Request) -> Result<ToolKind, Failure> {
    let native = Native::read(rule)?;
    let of_this_run = |server: &McpServer| native.right.starts_with(&tools::of_server(&server.name));
    Ok(match tools::TOOLS.iter().find(|tool| tool.right == native.right) {
        Some(_) if INTERNAL.contains(&native.right.as_str()) => ToolKind::Plan,
        Some(tool) if !ESCAPES.contains(&tool.name) => tool.kind,
        None if request.mcp_servers.iter().any(of_this_run) => ToolKind::Mcp,
        _ => ToolKind::Other,
    })
}

fn allow(table: &mut Table, rule: &ToolRule, request: &Request) -> Result<(), Failure> {
    match rule {
        ToolRule::Canonical(kind @ (ToolKind::Edit | ToolKind::Write)) => {
            let other = if *kind == ToolKind::Edit {
                ToolKind::Write
            } else {
                ToolKind::Edit
            };
            if !request.allow_tools.contains(&ToolRule::Canonical(other)) {
                return Err(Failure::usage(format!(
                    "OpenCode has one right for editing and writing files, so {kind} cannot be allowed without {other}"
                ))
                .hint(format!("add `--allow-tool {other}`")));
            }
            table.set("edit", Action::Allow);
        }
        ToolRule::Canonical(ToolKind::Mcp) => {
            if request.mcp_servers.is_empty() {
                return Err(Failure::usage(
                    "--allow-tool mcp stands for the servers of --mcp-config, and there are none",
                )
                .hint("name the tools of your own servers as OpenCode does, e.g. `--allow-tool 'github_*'`"));
            }
            for server in &request.mcp_servers {
                table.set(&server_tools(&server.name), Action::Allow);
            }
        }
        ToolRule::Canonical(kind) => {
            for right in rights_of(*kind) {
                table.set(right, Action::Allow);
            }
        }
        ToolRule::Native(text) => {
            let native = Native::read(text)?;
            if ESCAPES.contains(&native.right.as_str()) {
                return Err(Failure::usage(format!(
                    "--allow-tool {text}: it has rights of its own, so the other rules would not hold"
                ))
                .hint("leave it out, or run with `--permission full` and no tool rules"));
            }
            match native.pattern {
                None => table.set(&native.right, Action::Allow),
                Some(pattern) => {
                    table.open(&native.right, Action::Deny);
                    table.add(&native.right, pattern, Action::Allow);
                }
            }
        }
    }
    Ok(())
}

/// Takes away what is denied: parts of tools first, so that nothing comes after a tool that is denied as a whole.
fn deny(table: &mut Table, request: &Request, warnings: &mut Vec<String>) -> Result<(), Failure> {
    let mut whole = Vec::new();
    for rule in &request.deny_tools {
        match rule {
            ToolRule::Canonical(kind) => {
                warnings.extend(denied_along(*kind, request));
                whole.extend(rights_of(*kind).iter().map(|right| (*right).to_owned()));
            }
            ToolRule::Native(text) => {
                let native = Native::read(text)?;
                match native.pattern {
                    None => whole.push(native.right),
                    Some(pattern) => table.add_last(&native.right, pattern, Action::Deny),
                }
            }
        }
    }
    for right in whole {
        table.last(&right, Action::Deny);
    }
    Ok(())
}

/// Editing and writing are one right: what denying one of them does to the other.
fn denied_along(kind: ToolKind, request: &Request) -> Option<String> {
    let other = match kind {
        ToolKind::Edit => ToolKind::Write,
        ToolKind::Write => ToolKind::Edit,
        _ => return None,
    };
    let asked_for =
        request.deny_tools.contains(&ToolRule::Canonical(other)) || request.permission == Permission::ReadOnly;
    (!asked_for).then(|| {
        format!("OpenCode has one right for editing and writing files: --deny-tool {kind} also denies {other}")
    })
}

/// Paths outside of the working directory, and the guard against repeated calls. Last, because the patterns of MCP
/// servers could name them.
fn surroundings(table: &mut Table, request: &Request) -> Result<(), Failure> {
    if table.denies_outright(EXTERNAL) || table.ends_with_everything() {
        return Ok(());
    }
    if request.permission == Permission::Full {
        table.last(EXTERNAL, Action::Ask);
        table.last(REPETITION, Action::Ask);
        return Ok(());
    }
    table.last(EXTERNAL, Action::Deny);
    for directory in &request.add_dirs {
        let directory = directory
            .to_str()
            .filter(|path| !path.contains(['*', '?']))
            .ok_or_else(|| {
                Failure::usage(format!(
                    "--add-dir {}: OpenCode takes directories as patterns, and this name does not stand for itself",
                    directory.display()
                ))
            })?;
        table.add(
            EXTERNAL,
            format!("{}/*", directory.trim_end_matches('/')),
            Action::Allow,
        );
    }
    table.last(REPETITION, Action::Allow);
    Ok(())
}

/// The rights that a canonical name stands for.
fn rights_of(kind: ToolKind) -> &'static [&'static str] {
    match kind {
        ToolKind::Bash => &["bash"],
        ToolKind::Read => &["read"],
        ToolKind::Search => SEARCH,
        ToolKind::Fetch => &["webfetch", "websearch", "codesearch"],
        ToolKind::Edit | ToolKind::Write => &["edit"],
        ToolKind::Task => &["task"],
        ToolKind::Plan => &["todowrite"],
        ToolKind::Mcp => &[ANY_SERVER],
        ToolKind::Other => &[],
    }
}

fn server_tools(server: &str) -> String {
    format!("{}*", tools::of_server(server))
}

/// A tool as OpenCode calls it, perhaps with a pattern: `bash(git *)`, `github_*`.
struct Native {
    right: String,
    pattern: Option<String>,
}

impl Native {
    fn read(text: &str) -> Result<Self, Failure> {
        let (name, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(pattern) if !pattern.is_empty() => (name, Some(pattern.to_owned())),
                _ => return Err(unknown(text)),
            },
        };
        let known = tools::TOOLS.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
        let right = match known {
            Some(tool) => tool.right.to_owned(),
            // The name of an MCP tool, or a pattern of names.
            None if name == EXTERNAL || name.contains(['_', '*']) => name.to_owned(),
            None => return Err(unknown(text)),
        };
        Ok(Self {
            right,
            pattern: pattern.filter(|pattern| pattern != EVERYTHING),
        })
    }
}

/// Whether a key of the table, which may be a pattern, stands for this right too.
fn covers(pattern: &str, right: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => right.is_empty(),
        Some('*') => {
            let mut ends = right.char_indices().map(|(position, _)| position).chain([right.len()]);
            ends.any(|position| covers(rest.as_str(), &right[position..]))
        }
        Some(first) => {
            let mut right = right.chars();
            let same = right.next().is_some_and(|character| first == '?' || first == character);
            same && covers(rest.as_str(), right.as_str())
        }
    }
}

fn unknown(text: &str) -> Failure {
    let names: Vec<_> = tools::TOOLS
        .iter()
        .filter(|tool| !matches!(tool.name, "invalid" | "StructuredOutput"))
        .map(|tool| tool.name)
        .collect();
    Failure::usage(format!("OpenCode has no tool {text}")).hint(format!(
        "its tools are {}; a pattern goes in brackets, e.g. `bash(git *)`; MCP tools are `<server>_<tool>`",
        names.join(", ")
    ))
}

impl Table {
    fn position(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| name == key)
    }

    /// One action for everything under this key.
    fn set(&mut self, key: &str, action: Action) {
        let patterns = vec![(EVERYTHING.to_owned(), action)];
        match self.position(key) {
            Some(position) => self.0[position].1 = patterns,
            None => self.0.push((key.to_owned(), patterns)),
        }
    }

    fn set_each(&mut self, keys: &[&str], action: Action) {
        for key in keys {
            self.set(key, action);
        }
    }

    /// The same, after all that is there.
    fn last(&mut self, key: &str, action: Action) {
        self.0.retain(|(name, _)| name != key);
        self.set(key, action);
    }

    /// Makes sure that the key is there.
    fn open(&mut self, key: &str, action: Action) {
        if self.position(key).is_none() {
            self.set(key, action);
        }
    }

    fn add(&mut self, key: &str, pattern: String, action: Action) {
        match self.position(key) {
            Some(position) => self.0[position].1.push((pattern, action)),
            None => self.0.push((key.to_owned(), vec![(pattern, action)])),
        }
    }

    /// The same, and the key comes after all that is there.
    fn add_last(&mut self, key: &str, pattern: String, action: Action) {
        if let Some(position) = self.position(key) {
            let entry = self.0.remove(position);
            self.0.push(entry);
        }
        self.add(key, pattern, action);
    }

    /// Whether something of this right is allowed, or would be if somebody were asked.
    pub fn allows(&self, right: &str) -> bool {
        for (_, patterns) in self.0.iter().rev().filter(|(key, _)| covers(key, right)) {
            if patterns.iter().any(|(_, action)| *action != Action::Deny) {
                return true;
            }
            if patterns.iter().any(|(pattern, _)| pattern == EVERYTHING) {
                return false;
            }
        }
        false
    }

    /// The same table, but with nothing of these rights.
    pub fn without(&self, rights: &[&str]) -> Self {
        let mut table = self.clone();
        for right in rights {
            table.last(right, Action::Deny);
        }
        table
    }

    /// What is allowed beside the rights of built-in tools: patterns of names.
    pub fn allowed_patterns(&self) -> impl Iterator<Item = &str> {
        let is_right =
            |key: &str| key == REPETITION || key == EXTERNAL || tools::TOOLS.iter().any(|tool| tool.right == key);
        let keys = self.0.iter().map(|(key, _)| key.as_str());
        keys.filter(move |key| !is_right(key) && self.allows(key))
    }

    fn denies_outright(&self, key: &str) -> bool {
        self.position(key)
            .is_some_and(|position| matches!(self.0[position].1.as_slice(), [(_, Action::Deny)]))
    }

    fn ends_with_everything(&self) -> bool {
        self.0.last().is_some_and(|(name, _)| name == EVERYTHING)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, patterns) in &self.0 {
            match patterns.as_slice() {
                [(pattern, action)] if pattern == EVERYTHING => map.serialize_entry(key, action)?,
                patterns => map.serialize_entry(key, &Patterns(patterns))?,
            }
        }
        map.end()
    }
}

struct Patterns<'a>(&'a [(String, Action)]);

impl Serialize for Patterns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A pattern twice would keep its first place and its last action.
        let last = |pattern: &str| self.0.iter().rposition(|(name, _)| name == pattern);
        serializer.collect_map(
            self.0
                .iter()
                .enumerate()
                .filter(|(position, (pattern, _))| last(pattern) == Some(*position))
                .map(|(_, (pattern, action))| (pattern, action)),
        )
    }
}
