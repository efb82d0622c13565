//! `--allow-tool` and `--deny-tool`: which of Codex' tools are offered, and which sandbox holds what they do.
//!
//! Codex reads, searches and runs commands with one tool, the shell, and changes files with another, the patch. The
//! shell, web search, image viewing and subagents can be taken away; the patch cannot, but a read-only sandbox refuses
//! it. What cannot be had exactly is an error.

use super::item;
use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::{ToolKind, ToolRule};
use std::collections::BTreeSet;

/// What the rules come to.
#[derive(Debug, PartialEq, Eq)]
pub struct Offer {
    /// The level whose sandbox holds the run.
    pub level: Permission,
    /// Features to switch off.
    pub without: BTreeSet<&'static str>,
    pub web_search: WebSearch,
    pub mcp: Mcp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSearch {
    /// As the user has configured it.
    AsConfigured,
    Disabled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mcp {
    Offered,
    /// No server may be there, be it the user's own.
    Forbidden,
}

const SHELL: &str = "shell_tool";
const IMAGES: &str = "view_image";
const SUBAGENTS: &str = "multi_agent";

/// The parts of Codex that rules speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Commands that do anything.
    Shell,
    /// Commands that read and search: the same tool, in a sandbox.
    Reading,
    Editing,
    Writing,
    Web,
    Mcp,
    Images,
    Subagents,
}

pub fn offer(request: &Request) -> Result<Offer, Failure> {
    let allowed = parts(&request.allow_tools)?;
    let denied = parts(&request.deny_tools)?;
    let mut offer = Offer {
        level: request.permission,
        without: BTreeSet::new(),
        web_search: match request.permission {
            Permission::Full => WebSearch::AsConfigured,
            Permission::ReadOnly | Permission::Edit => WebSearch::Disabled,
        },
        mcp: Mcp::Offered,
    };
    if !allowed.is_empty() {
        allow(&mut offer, &allowed)?;
    }
    deny(&mut offer, &denied)?;
    Ok(offer)
}

/// Exactly the listed parts remain.
fn allow(offer: &mut Offer, allowed: &BTreeSet<Part>) -> Result<(), Failure> {
    let has = |part| allowed.contains(&part);
    let shell = has(Part::Shell);
    let changes = has(Part::Editing) || has(Part::Writing);
    if changes && !(has(Part::Editing) && has(Part::Writing)) {
        return Err(Failure::usage(
            "Codex changes and creates files with one tool: it cannot be allowed only one of the two",
        )
        .hint("use `--allow-tool edit --allow-tool write`"));
    }
    offer.level = match (changes, shell, offer.level) {
        (true, true, level) => level,
        (true, false, level) => level.min(Permission::Edit),
        (false, true, Permission::Edit | Permission::Full) => {
            return Err(Failure::usage(
                "Codex cannot be kept from changing files while its commands may: `bash` is allowed, `edit` and `write` \
                 are not",
            )
            .hint("allow `edit` and `write` as well, or use `--permission read-only`"));
        }
        (false, _, _) => Permission::ReadOnly,
    };
    if !shell && !has(Part::Reading) && !changes {
        offer.without.insert(SHELL);
    }
    if !has(Part::Images) && !has(Part::Reading) {
        offer.without.insert(IMAGES);
    }
    if !has(Part::Subagents) {
        offer.without.insert(SUBAGENTS);
    }
    if !has(Part::Web) {
        offer.web_search = WebSearch::Disabled;
    }
    if !has(Part::Mcp) {
        offer.mcp = Mcp::Forbidden;
    }
    Ok(())
}

fn deny(offer: &mut Offer, denied: &BTreeSet<Part>) -> Result<(), Failure> {
    let has = |part| denied.contains(&part);
    if has(Part::Reading) && !has(Part::Shell) {
        return Err(Failure::usage(
            "Codex reads and searches with its shell: `read` and `search` cannot be denied alone",
        )
        .hint("add `--deny-tool bash`"));
    }
    if (has(Part::Editing) || has(Part::Writing)) && offer.level != Permission::ReadOnly {
        return Err(
            Failure::usage("Codex' patch tool cannot be taken away, only refused by a read-only sandbox")
                .hint("use `--permission read-only`"),
        );
    }
    if has(Part::Shell) {
        offer.without.insert(SHELL);
    }
    if has(Part::Images) || has(Part::Reading) {
        offer.without.insert(IMAGES);
    }
    if has(Part::Subagents) {
        offer.without.insert(SUBAGENTS);
    }
    if has(Part::Web) {
        offer.web_search = WebSearch::Disabled;
    }
    if has(Part::Mcp) {
        offer.mcp = Mcp::Forbidden;
    }
    Ok(())
}

/// What one of Codex' own names stands for.
pub fn kind(name: &str) -> Result<ToolKind, Failure> {
    Ok(match part(&ToolRule::Native(name.to_owned()))? {
        Part::Shell => ToolKind::Bash,
        Part::Reading | Part::Images => ToolKind::Read,
        Part::Editing => ToolKind::Edit,
        Part::Writing => ToolKind::Write,
        Part::Web => ToolKind::Fetch,
        Part::Mcp => ToolKind::Mcp,
        Part::Subagents => ToolKind::Task,
    })
}

fn parts(rules: &[ToolRule]) -> Result<BTreeSet<Part>, Failure> {
    rules.iter().map(part).collect()
}

fn part(rule: &ToolRule) -> Result<Part, Failure> {
    let part = match rule {
        ToolRule::Canonical(kind) => match kind {
            ToolKind::Bash => Some(Part::Shell),
            ToolKind::Read | ToolKind::Search => Some(Part::Reading),
            ToolKind::Edit => Some(Part::Editing),
            ToolKind::Write => Some(Part::Writing),
            ToolKind::Fetch => Some(Part::Web),
            ToolKind::Mcp => Some(Part::Mcp),
            ToolKind::Task => Some(Part::Subagents),
            ToolKind::Plan | ToolKind::Other => None,
        },
        ToolRule::Native(name) => match name.as_str() {
            item::SHELL | "shell" | "shell_command" => Some(Part::Shell),
            "web_search" => Some(Part::Web),
            "view_image" => Some(Part::Images),
            "spawn_agent" => Some(Part::Subagents),
            _ => None,
        },
    };
    part.ok_or_else(|| {
        Failure::usage(format!("Codex has no rule for the tool `{rule}`")).hint(
            "it knows bash, read, search, edit, write, fetch, mcp and its own exec_command, web_search, view_image and \
             spawn_agent, without patterns",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(names: &[&str]) -> Vec<ToolRule> {
        names.iter().map(|name| ToolRule::from((*name).to_owned())).collect()
    }

    fn with(permission: Permission, allow: &[&str], deny: &[&str]) -> Result<Offer, Failure> {
        let mut request = Request::new("hello", "/home/user/project");
        request.permission = permission;
        request.allow_tools = rules(allow);
        request.deny_tools = rules(deny);
        offer(&request)
    }

    #[test]
    fn without_rules_the_level_decides() {
        let offer = with(Permission::Full, &[], &[]).unwrap();
        assert_eq!(
            (offer.level, offer.web_search),
            (Permission::Full, WebSearch::AsConfigured)
        );
        assert!(offer.without.is_empty());
        let offer = with(Permission::ReadOnly, &[], &[]).unwrap();
        assert_eq!(offer.web_search, WebSearch::Disabled);
    }

    #[test]
    fn reading_alone_is_the_shell_in_a_read_only_sandbox() {
        let offer = with(Permission::Full, &["read", "search"], &[]).unwrap();
        assert_eq!((offer.level, offer.mcp), (Permission::ReadOnly, Mcp::Forbidden));
        assert!(!offer.without.contains(SHELL));
    }

    #[test]
    fn changing_files_without_bash_is_confined_to_the_workspace() {
        let offer = with(Permission::Full, &["read", "edit", "write"], &[]).unwrap();
        assert_eq!(offer.level, Permission::Edit);
        let offer = with(Permission::ReadOnly, &["bash", "edit", "write", "fetch"], &[]).unwrap();
        assert_eq!(
            (offer.level, offer.web_search),
            (Permission::ReadOnly, WebSearch::Disabled)
        );
    }

    #[test]
    fn what_codex_cannot_take_apart_is_an_error() {
        assert!(with(Permission::Full, &["bash"], &[]).is_err());
        assert!(with(Permission::Full, &["edit"], &[]).is_err());
        assert!(with(Permission::Full, &[], &["read"]).is_err());
        assert!(with(Permission::Full, &[], &["edit"]).is_err());
        assert!(with(Permission::Full, &["Bash(git *)"], &[]).is_err());
        assert!(with(Permission::ReadOnly, &[], &["edit", "write"]).is_ok());
        assert!(with(Permission::ReadOnly, &["bash"], &[]).is_ok());
    }

    #[test]
    fn a_denied_shell_is_taken_away() {
        let offer = with(Permission::Full, &[], &["bash", "read", "fetch"]).unwrap();
        assert_eq!(offer.without, BTreeSet::from([SHELL, IMAGES]));
        assert_eq!(offer.web_search, WebSearch::Disabled);
    }

    #[test]
    fn deny_wins_over_allow() {
        let offer = with(Permission::Full, &["bash", "edit", "write", "fetch"], &["fetch"]).unwrap();
        assert_eq!(offer.web_search, WebSearch::Disabled);
    }
}
