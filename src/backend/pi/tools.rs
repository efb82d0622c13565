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

/// What the names of MCP tools begin with: `mcp__SERVER__TOOL`.
const MCP: &str = "mcp";

/// How the reason of every refusal by our gate begins.
pub const DENIED: &str = "Denied by agentctl";

pub fn kind(name: &str) -> ToolKind {
    match name {
        "bash" => ToolKind::Bash,
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "write" => ToolKind::Write,
        "grep" | "find" | "ls" => ToolKind::Search,
        name if is_mcp(name) => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

fn is_mcp(name: &str) -> bool {
    name.strip_prefix(MCP).is_some_and(|rest| rest.starts_with("__"))
}

/// What a name of Pi's stands for, if it stands for something.
pub fn known_kind(name: &str) -> Result<ToolKind, Failure> {
    Named::by(&[ToolRule::Native(name.to_owned())])?;
    Ok(kind(name))
}

/// The tools that a request leaves to the model.
#[derive(Debug, PartialEq, Eq)]
pub struct Offer {
    /// The built-in ones; `None` is Pi's own default.
    pub builtin: Option<Vec<&'static str>>,
    /// Those of MCP servers, by name or by what comes before a double underscore.
    pub mcp: Vec<String>,
    /// Those of MCP servers that are refused all the same.
    pub refused_mcp: Vec<String>,
}

pub fn offer(request: &Request) -> Result<Offer, Failure> {
    let allowed = Named::by(&request.allow_tools)?;
    let denied = Named::by(&request.deny_tools)?;
    let lists = !request.allow_tools.is_empty();
    let base = match request.permission {
        _ if lists => &allowed.builtin,
        Permission::ReadOnly => READING,
        Permission::Edit => EDITING,
        // Without a shell the model needs the tools for searching.
        Permission::Full if denied.builtin.contains(&"bash") => EDITING,
        Permission::Full => DEFAULT,
    };
    let left = base
        .iter()
        .copied()
        .filter(|name| !denied.builtin.contains(name))
        .collect();
    let mcp = if lists { allowed.mcp } else { vec![MCP.to_owned()] };
    Ok(Offer {
        builtin: request.is_limited().then_some(left),
        mcp: if denied.mcp.iter().any(|name| name == MCP) {
            Vec::new()
        } else {
            mcp
        },
        refused_mcp: denied.mcp,
    })
}

/// The tools that rules name, in Pi's words.
#[derive(Default)]
struct Named {
    builtin: Vec<&'static str>,
    mcp: Vec<String>,
}

impl Named {
    fn by(rules: &[ToolRule]) -> Result<Self, Failure> {
        let mut named = Self::default();
        for rule in rules {
            match rule {
                ToolRule::Canonical(ToolKind::Mcp) => named.mcp.push(MCP.to_owned()),
                ToolRule::Canonical(wanted) => {
                    let found = ALL.iter().filter(|name| kind(name) == *wanted);
                    named.builtin.extend(found);
                }
                ToolRule::Native(native) => match ALL.iter().find(|name| *name == native) {
                    Some(name) => named.builtin.push(name),
                    None if is_mcp(native) && is_plain(native) => named.mcp.push(native.clone()),
                    None => return Err(unknown(native)),
                },
            }
        }
        Ok(named)
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.bytes().all(plain)
}

/// A name that Pi does not know would be ignored by it: a refusal that refuses nothing.
fn unknown(native: &str) -> Failure {
    let all = ALL.join(", ");
    Failure::usage(format!("Pi has no tool `{native}` and takes no patterns")).hint(format!(
        "name whole tools: {all}; or bash, read, edit, write, search, mcp; or mcp__SERVER, mcp__SERVER__TOOL"
    ))
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
        let offered = |permission| offer(&request(permission, &[], &[])).unwrap().builtin;
        assert_eq!(offered(Permission::Full), None);
        assert_eq!(offered(Permission::ReadOnly).unwrap(), READING);
        assert_eq!(offered(Permission::Edit).unwrap(), EDITING);
    }

    #[test]
    fn allowed_tools_are_the_only_ones_and_denied_ones_are_gone() {
        let offered =
            |level, allow: &[&str], deny: &[&str]| offer(&request(level, allow, deny)).unwrap().builtin.unwrap();
        assert_eq!(offered(Permission::Full, &["search"], &[]), ["grep", "find", "ls"]);
        assert_eq!(offered(Permission::ReadOnly, &["bash", "read"], &["bash"]), ["read"]);
        assert_eq!(offered(Permission::Full, &[], &["write"]), ["read", "bash", "edit"]);
        assert_eq!(offered(Permission::Full, &[], &["bash"]), EDITING);
        assert_eq!(offered(Permission::Full, &["fetch"], &[]), [""; 0]);
    }

    #[test]
    fn mcp_tools_come_with_every_level_unless_a_list_leaves_them_out() {
        let mcp = |allow: &[&str], deny: &[&str]| offer(&request(Permission::ReadOnly, allow, deny)).unwrap().mcp;
        assert_eq!(mcp(&[], &[]), ["mcp"]);
        assert_eq!(mcp(&["read"], &[]), [""; 0]);
        assert_eq!(mcp(&["read", "mcp"], &[]), ["mcp"]);
        assert_eq!(mcp(&["mcp__db__query"], &[]), ["mcp__db__query"]);
        assert_eq!(mcp(&["mcp"], &["mcp"]), [""; 0]);
        let offer = offer(&request(Permission::Full, &[], &["mcp__db"])).unwrap();
        assert_eq!(
            (offer.mcp, offer.refused_mcp),
            (vec!["mcp".to_owned()], vec!["mcp__db".to_owned()])
        );
        assert_eq!(offer.builtin.unwrap(), DEFAULT);
    }

    #[test]
    fn a_pattern_or_a_misspelt_tool_is_refused_instead_of_ignored() {
        for name in ["Bash", "bash(git *)", "rm", "", "mcp__db__*", "mcp_db"] {
            assert!(offer(&request(Permission::Full, &[], &[name])).is_err(), "{name}");
            assert!(offer(&request(Permission::Full, &[name], &[])).is_err(), "{name}");
        }
    }
}
