//! The gate of a run that may read and change files, but only in its directories: a plugin of ours that looks where
//! symbolic links lead, which OpenCode does not. The agent of the run gets these rights from the plugin alone, so that
//! without it nothing can be read or changed. Decides nothing about rights: that is the permission table.

use super::config::Config;
use super::rights::Table;
use super::tools::{self, TOOLS, Tool};
use crate::backend::{Launch, Site, gate as common};
use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::ToolKind;
use serde::Serialize;

const GATE: &str = include_str!("gate.js");

/// The rights that the gate gives: those of all tools that take a path.
pub const GUARDED: &[&str] = &["read", "list", "glob", "grep", "lsp", EDITING];

/// The one of them that changes files.
pub const EDITING: &str = "edit";

/// What the gate says on stderr when it stands.
pub const STANDING: &str = "agentctl: reading and editing are kept inside the allowed directories";

#[derive(Serialize)]
struct Rights<'a> {
    agent: &'a str,
    permission: &'a Table,
    roots: Vec<&'a str>,
    instructions: Option<&'a str>,
    changing: Vec<&'static str>,
    reading: Vec<&'static str>,
    harmless: Vec<&'static str>,
    others: Vec<&'a str>,
    denied: &'static str,
    standing: &'static str,
}

/// What a built-in tool does with paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Changing,
    Reading,
    Harmless,
}

impl Way {
    fn of(tool: &Tool) -> Self {
        match tool.kind {
            _ if tool.right == EDITING => Self::Changing,
            ToolKind::Read | ToolKind::Search => Self::Reading,
            _ => Self::Harmless,
        }
    }
}

/// Whether a run needs the gate: also without a tool that takes a path, for the project's words to its agents.
pub fn is_needed(request: &Request) -> bool {
    request.permission < Permission::Full
}

/// Puts the gate before the agent of this name. Its configuration must deny what the gate gives.
pub fn place(
    agent: &str,
    table: &Table,
    request: &Request,
    site: &Site,
    config: &mut Config,
    launch: &mut Launch,
) -> Result<(), Failure> {
    refuse_runs_without_plugins(request, site)?;
    let names = |wanted: Way| {
        TOOLS
            .iter()
            .filter(move |tool| Way::of(tool) == wanted)
            .map(|tool| tool.name)
            .collect()
    };
    let instructions = request.cwd.join("AGENTS.md");
    let rights = Rights {
        agent,
        permission: table,
        roots: common::roots(request, "OpenCode")?,
        instructions: instructions.to_str(),
        changing: names(Way::Changing),
        reading: names(Way::Reading),
        harmless: names(Way::Harmless),
        others: table.allowed_patterns().collect(),
        denied: tools::DENIED,
        standing: STANDING,
    };
    let rights = serde_json::to_string(&rights)
        .map_err(|error| Failure::usage(format!("the gate of this run cannot be written: {error}")))?;
    let path = site.scratch("agentctl-gate.mjs");
    let name = path
        .to_str()
        .ok_or_else(|| Failure::usage(format!("OpenCode takes no path that is not UTF-8: {}", path.display())))?;
    config.plugin(name)?;
    launch.file(&path, common::script(rights, GATE));
    // With a plugin OpenCode waits until it has installed a package that ours does not need, or failed to: not for long.
    for (variable, value) in [("npm_config_fetch_retries", "0"), ("npm_config_fetch_timeout", "10000")] {
        if site.env(variable).is_none() {
            launch.env(variable, value);
        }
    }
    Ok(())
}

/// The gate is a plugin: a run without plugins could read and change nothing.
fn refuse_runs_without_plugins(request: &Request, site: &Site) -> Result<(), Failure> {
    let flag = request.raw_args.iter().any(|flag| {
        let flag = flag.to_string_lossy();
        flag == "--pure" || flag.starts_with("--pure=")
    });
    let variable = matches!(site.env("OPENCODE_PURE"), Some(value) if !matches!(value, "0" | "false"));
    let asked_by = if request.options.contains_key("pure") {
        "--option pure=true"
    } else if flag {
        "`--pure` after `--`"
    } else if variable {
        "OPENCODE_PURE"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "{asked_by} leaves out all plugins, and one of agentctl's own keeps the run inside the allowed directories"
    ))
    .hint("leave it out, or use `--permission full`"))
}
