//! From a permission level and tool rules to the flags that hold the agent to them.
//!
//! Rights come from here alone. Plan mode is no read-only mode (it runs `echo`, and project settings can lift it), so a
//! restricted run is offered only the tools that it may use. Settings of the project and the local ones are not loaded
//! at all; those of the user are loaded from a copy in which everything that grants rights or runs commands is off.

use super::rule::Rule;
use super::tools;
use crate::backend::{Launch, ScratchEntry, Site};
use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::{ToolKind, ToolRule};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Flags that would undo what is decided here.
const DECIDED_HERE: &[&str] = &[
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--permission-mode",
    "--permission-prompt-tool",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--tools",
    "--settings",
    "--setting-sources",
    "--mcp-config",
    "--plugin-dir",
    "--plugin-url",
    "--add-dir",
    "--agents",
];

/// What means something in the path of a rule.
const PATTERN_CHARACTERS: &[char] = &['*', '?', '[', ']', '{', '}', '(', ')', '!', '\\', ','];

/// How far a run is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restraint {
    /// Everything, with the CLI's own configuration.
    None,
    /// Everything but the denied tools. A project must not bring commands in by its settings.
    Denied,
    /// Only what is listed.
    Listed,
}

impl Restraint {
    fn of(request: &Request) -> Self {
        if !request.is_limited() {
            Self::None
        } else if request.permission == Permission::Full && request.allow_tools.is_empty() {
            Self::Denied
        } else {
            Self::Listed
        }
    }
}

/// Adds everything that decides what the agent may do.
pub fn apply(request: &Request, site: &Site, launch: &mut Launch) -> Result<(), Failure> {
    let restraint = Restraint::of(request);
    refuse_raw_rights(request, restraint)?;
    match restraint {
        Restraint::None => {
            launch.arg("--dangerously-skip-permissions");
        }
        Restraint::Denied => {
            launch.arg("--dangerously-skip-permissions");
            launch.args(["--setting-sources", "user"]);
            project_memory(launch);
        }
        Restraint::Listed => {
            let mode = listed(request, launch)?;
            own_settings(mode, site, launch);
            project_memory(launch);
        }
    }
    for rule in deny_rules(request)? {
        launch.arg(format!("--disallowedTools={rule}"));
    }
    if restraint == Restraint::Listed || denies_mcp(request) {
        launch.arg("--strict-mcp-config");
    }
    Ok(())
}

/// Whether the servers of `--mcp-config` may be started.
pub fn denies_mcp(request: &Request) -> bool {
    request.deny_tools.contains(&ToolRule::Canonical(ToolKind::Mcp))
}

/// Raw arguments are the user's own, but two contradicting wishes are a mistake, and a dangerous one.
fn refuse_raw_rights(request: &Request, restraint: Restraint) -> Result<(), Failure> {
    let lifts = |arg: &&std::ffi::OsString| {
        let arg = arg.to_string_lossy();
        let name = arg.split('=').next().unwrap_or_default();
        DECIDED_HERE.contains(&name)
    };
    match request.raw_args.iter().find(lifts) {
        Some(arg) if restraint != Restraint::None => Err(Failure::usage(format!(
            "the raw argument {} contradicts the asked-for rights",
            arg.display()
        ))
        .hint("use `--permission`, `--allow-tool` and `--deny-tool`; raw rights need `--permission full` without tool rules")),
        _ => Ok(()),
    }
}

/// Offers only what may be used, and settles every question beforehand: nobody is there to answer it.
fn listed(request: &Request, launch: &mut Launch) -> Result<&'static str, Failure> {
    let offered = offered(request)?;
    // In `acceptEdits` the CLI itself confines edits to the working directories; `dontAsk` refuses what is not allowed.
    let confined = request.permission != Permission::Full && edits_everything(request, &offered)?;
    let mode = if confined { "acceptEdits" } else { "dontAsk" };
    launch.args(["--permission-mode", mode]);
    let offered: Vec<_> = offered.into_iter().collect();
    launch.args(["--tools".to_owned(), offered.join(",")]);
    for rule in allow_rules(request)? {
        launch.arg(format!("--allowedTools={rule}"));
    }
    Ok(mode)
}

/// Whether the tools that change files may change every one, and not only those of a pattern.
fn edits_everything(request: &Request, offered: &BTreeSet<String>) -> Result<bool, Failure> {
    let (mut whole, mut part) = (None, None);
    for rule in &request.allow_tools {
        match rule {
            ToolRule::Canonical(ToolKind::Edit | ToolKind::Write) => whole = Some(rule),
            ToolRule::Canonical(_) => {}
            ToolRule::Native(text) => match Rule::read(text)? {
                native if !native.changes_files() => {}
                Rule { pattern: None, .. } => whole = Some(rule),
                Rule { pattern: Some(_), .. } => part = Some(rule),
            },
        }
    }
    match (whole, part) {
        (Some(whole), Some(part)) => Err(Failure::usage(format!(
            "Claude cannot keep to `{part}` while `{whole}` is allowed below full rights"
        ))
        .hint("allow only one of the two")),
        (None, Some(_)) => Ok(false),
        _ => Ok(offered
            .iter()
            .any(|name| matches!(tools::kind(name), ToolKind::Edit | ToolKind::Write))),
    }
}

/// The built-in tools that the agent sees.
fn offered(request: &Request) -> Result<BTreeSet<String>, Failure> {
    let mut offered: BTreeSet<String> = tools::NOTES.iter().map(|name| (*name).to_owned()).collect();
    let mut offer = |kind: ToolKind| offered.extend(tools::names(kind).iter().map(|name| (*name).to_owned()));
    if request.allow_tools.is_empty() {
        offer(ToolKind::Read);
        offer(ToolKind::Search);
        if request.permission == Permission::Edit {
            offer(ToolKind::Edit);
            offer(ToolKind::Write);
        }
        return Ok(offered);
    }
    for rule in &request.allow_tools {
        match rule {
            ToolRule::Canonical(kind) => offered.extend(tools::names(*kind).iter().map(|name| (*name).to_owned())),
            ToolRule::Native(rule) => {
                let tool = Rule::read(rule)?.tool;
                if !tool.starts_with("mcp__") {
                    offered.insert(tool);
                }
            }
        }
    }
    Ok(offered)
}

/// The rules that let calls through without asking. Reading and, in `acceptEdits`, editing need none in the working
/// directories; a rule would open the rest of the machine.
fn allow_rules(request: &Request) -> Result<Vec<String>, Failure> {
    let full = request.permission == Permission::Full;
    let mut rules = Vec::new();
    for rule in &request.allow_tools {
        match rule {
            ToolRule::Canonical(ToolKind::Mcp) => {}
            ToolRule::Canonical(ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Write) if !full => {}
            ToolRule::Canonical(kind) => rules.extend(tools::names(*kind).iter().map(|name| (*name).to_owned())),
            ToolRule::Native(text) => {
                let rule = Rule::read(text)?;
                let reads = matches!(rule.kind(), ToolKind::Read | ToolKind::Search);
                let files = reads || rule.changes_files();
                match &rule.pattern {
                    Some(_) if reads => return Err(reads_everything(text)),
                    Some(pattern) if files && !full && leads_out(pattern) => return Err(beyond_directories(text)),
                    None if files && !full => {}
                    _ => rules.push(rule.text),
                }
            }
        }
    }
    // A file too large to be sent along is at least there to be read.
    rules.extend(request.attachments.iter().filter_map(|attachment| {
        let path = attachment
            .path
            .to_str()
            .filter(|path| path.starts_with('/') && !path.contains(PATTERN_CHARACTERS))?;
        Some(format!("Read(/{path})"))
    }));
    let all_servers =
        request.allow_tools.is_empty() || request.allow_tools.contains(&ToolRule::Canonical(ToolKind::Mcp));
    if all_servers && !denies_mcp(request) {
        rules.extend(
            request
                .mcp_servers
                .iter()
                .map(|server| format!("mcp__{}", rule_name(&server.name))),
        );
    }
    Ok(rules)
}

/// Reading in the working directories needs no rule there, so no rule narrows it.
fn reads_everything(rule: &str) -> Failure {
    Failure::usage(format!(
        "Claude cannot be limited by `{rule}`: it reads everything in its working directories"
    ))
    .hint("take parts away with --deny-tool 'Read(PATTERN)', or add directories with --add-dir")
}

/// `//path` and `~/path` are how the CLI writes absolute paths.
fn leads_out(pattern: &str) -> bool {
    pattern.starts_with("//") || pattern.starts_with('~') || pattern.split(['/', '\\']).any(|part| part == "..")
}

fn beyond_directories(rule: &str) -> Failure {
    Failure::usage(format!(
        "`{rule}` leads out of the working directory, and the permission level does not"
    ))
    .hint("add the directory with --add-dir, or use `--permission full`")
}

/// A server's name as it stands in the names of its tools.
fn rule_name(server: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    server
        .chars()
        .map(|character| if fits(character) { character } else { '_' })
        .collect()
}

fn deny_rules(request: &Request) -> Result<Vec<String>, Failure> {
    let mut rules = Vec::new();
    for rule in &request.deny_tools {
        match rule {
            ToolRule::Canonical(kind) => rules.extend(tools::names(*kind).iter().map(|name| (*name).to_owned())),
            ToolRule::Native(text) => {
                let rule = Rule::read(text)?;
                if text.starts_with("bash(") {
                    // Where the CLI has two shells, ours is both.
                    rules.push(rule.text.replacen("Bash", "PowerShell", 1));
                }
                rules.push(rule.text);
            }
        }
    }
    Ok(rules)
}

/// The user's settings without what grants rights or runs commands, and nobody else's.
fn own_settings(mode: &str, site: &Site, launch: &mut Launch) {
    let path = site.scratch("settings.json");
    launch.args(["--setting-sources", ""]);
    launch.arg("--settings").arg(path.clone());
    launch.files.push(ScratchEntry::MergedJson {
        path,
        base: config_dir(site).join("settings.json"),
        patch: serde_json::json!({
            "permissions": {"allow": [], "ask": [], "additionalDirectories": [], "defaultMode": mode},
            "disableAllHooks": true,
            "enableAllProjectMcpServers": false,
        }),
    });
    // The user's own instructions belong to those settings: without them the CLI does not look for the file.
    let memory = site.scratch("memory");
    launch.files.push(ScratchEntry::CopyOrEmpty {
        path: memory.join("CLAUDE.md"),
        of: config_dir(site).join("CLAUDE.md"),
    });
    launch.arg("--add-dir").arg(memory);
}

/// What the project says to the model (CLAUDE.md) is no setting and grants nothing: it is read from the working directory
/// as from an added one.
fn project_memory(launch: &mut Launch) {
    let cwd = launch.cwd.clone();
    launch.arg("--add-dir").arg(cwd);
    launch.env("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "1");
}

/// Where the CLI keeps settings and conversations.
pub fn config_dir(site: &Site) -> PathBuf {
    match site.env("CLAUDE_CONFIG_DIR") {
        Some(path) => PathBuf::from(path),
        None => site.home.join(".claude"),
    }
}
