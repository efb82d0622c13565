//! Pi's tools: what each does, and which of them a request lets the model have.

use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::{ToolKind, ToolRule};

/// Every built-in tool.
pub const ALL: &[&str] = &["read", "bash", "edit", "write", "grep", "find", "ls"];

/// What Pi offers when it is not told otherwise.
pub const DEFAULT: &[&str] = &["read", "bash", "edit", "write"];

const READING: &[&str] = &["read", "grep", "find", "ls"];
const EDITING: &[&str] = &["read", "edit", "write", "grep", "find", "ls"];

/// How the reason of every refusal by our gate begins.
pub const DENIED: &str = "Denied by agentctl";

pub fn kind(name: &str) -> ToolKind {
    match name {
        "bash" => ToolKind::Bash,
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "write" => ToolKind::Write,
        "grep" | "find" | "ls" => ToolKind::Search,
        name if name.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

/// The tools that a request leaves to the model; `None` is Pi's own default.
pub fn offered(request: &Request) -> Result<Option<Vec<&'static str>>, Failure> {
    let listed = named(&request.allow_tools)?;
    let denied = named(&request.deny_tools)?;
    if request.permission == Permission::Full && request.allow_tools.is_empty() && denied.is_empty() {
        return Ok(None);
    }
    let base = match request.permission {
        _ if !request.allow_tools.is_empty() => &listed,
        Permission::ReadOnly => READING,
        Permission::Edit => EDITING,
        // Without a shell the model needs the tools for searching.
        Permission::Full if denied.contains(&"bash") => EDITING,
        Permission::Full => DEFAULT,
    };
    let offered = base.iter().copied().filter(|name| !denied.contains(name)).collect();
    Ok(Some(offered))
}

/// Pi's names for the tools that the rules name.
fn named(rules: &[ToolRule]) -> Result<Vec<&'static str>, Failure> {
    let mut names = Vec::new();
    for rule in rules {
        let matching = |wanted: &dyn Fn(&str) -> bool| ALL.iter().copied().filter(|name| wanted(name)).collect();
        let found: Vec<&'static str> = match rule {
            ToolRule::Canonical(wanted) => matching(&|name| kind(name) == *wanted),
            ToolRule::Native(native) => {
                let found: Vec<_> = matching(&|name| name == native);
                if found.is_empty() {
                    return Err(unknown(native));
                }
                found
            }
        };
        names.extend(found);
    }
    Ok(names)
}

/// A name that Pi does not know would be ignored by it: a refusal that refuses nothing.
fn unknown(native: &str) -> Failure {
    let all = ALL.join(", ");
    Failure::usage(format!("Pi has no tool `{native}` and takes no patterns"))
        .hint(format!("name whole tools: {all}; or bash, read, edit, write, search"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(permission: Permission, allow: &[&str], deny: &[&str]) -> Request {
        let rules = |names: &[&str]| names.iter().map(|name| ToolRule::from((*name).to_owned())).collect();
        Request {
            permission,
            allow_tools: rules(allow),
            deny_tools: rules(deny),
            ..Request::new("hello", "/w")
        }
    }

    #[test]
    fn a_level_is_a_list_of_tools() {
        let offered = |permission| offered(&request(permission, &[], &[])).unwrap();
        assert_eq!(offered(Permission::Full), None);
        assert_eq!(offered(Permission::ReadOnly).unwrap(), READING);
        assert_eq!(offered(Permission::Edit).unwrap(), EDITING);
    }

    #[test]
    fn allowed_tools_are_the_only_ones_and_denied_ones_are_gone() {
        let offered = |level, allow: &[&str], deny: &[&str]| offered(&request(level, allow, deny)).unwrap().unwrap();
        assert_eq!(offered(Permission::Full, &["search"], &[]), ["grep", "find", "ls"]);
        assert_eq!(offered(Permission::ReadOnly, &["bash", "read"], &["bash"]), ["read"]);
        assert_eq!(offered(Permission::Full, &[], &["write"]), ["read", "bash", "edit"]);
        assert_eq!(offered(Permission::Full, &[], &["bash"]), EDITING);
        assert_eq!(offered(Permission::Full, &["fetch"], &[]), [""; 0]);
    }

    #[test]
    fn a_pattern_or_a_misspelt_tool_is_refused_instead_of_ignored() {
        for name in ["Bash", "bash(git *)", "rm", ""] {
            assert!(offered(&request(Permission::Full, &[], &[name])).is_err(), "{name}");
            assert!(offered(&request(Permission::Full, &[name], &[])).is_err(), "{name}");
        }
    }
}
