//! Rights: from a permission level and tool rules to what Gemini CLI is told about its tools.
//!
//! Three means say the same thing, because each alone has a hole: `tools.core` in the settings registers no other tool
//! and denies the rest, but a user's own policy files outrank it; an admin policy outranks those, but is ignored (with a
//! warning) on machines that have system policies; a user policy fails open when the CLI cannot read it.

use super::{stderr::Limits, tools};
use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::{ToolKind, ToolRule};
use serde::Serialize;

/// The name of the policy file; the protocol looks for it in the CLI's complaints.
pub const DENY_FILE: &str = "agentctl-deny.toml";
pub const ALLOW_FILE: &str = "agentctl-allow.toml";

/// What the agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The value of `--approval-mode`.
    pub approval_mode: &'static str,
    /// The tools on offer, in the form of `tools.core`; `None` offers all.
    pub core: Option<Vec<String>>,
    /// Rules that nothing may overrule.
    pub deny: Vec<Rule>,
    /// Rules for the servers of this run.
    pub allow: Vec<Rule>,
    /// Start no MCP server but these.
    pub servers_only: Option<Vec<String>>,
}

/// One rule of a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_name: Option<String>,
    #[serde(serialize_with = "one_or_many")]
    tool_name: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command_prefix: Option<String>,
    decision: &'static str,
    priority: u32,
}

/// A single name is written without a list: rules about commands take no other form.
fn one_or_many<S: serde::Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    match names {
        [name] => name.serialize(serializer),
        names => names.serialize(serializer),
    }
}

#[derive(Serialize)]
struct PolicyFile<'a> {
    rule: &'a [Rule],
}

/// A policy file with these rules.
pub fn file(rules: &[Rule]) -> String {
    // Rules are plain strings and numbers: they always have a TOML form.
    toml::to_string(&PolicyFile { rule: rules }).unwrap_or_default()
}

/// Whether this run may do less than everything.
pub fn limits(request: &Request) -> Limits {
    match request.is_limited() {
        true => Limits::Some,
        false => Limits::None,
    }
}

impl Rights {
    pub fn of(request: &Request) -> Result<Self, Failure> {
        let denied = Denied::of(&request.deny_tools)?;
        let mut rights = Self {
            approval_mode: approval_mode(request),
            ..Self::default()
        };
        if request.permission == Permission::Full && request.allow_tools.is_empty() {
            rights.deny = denied.rules();
            return Ok(rights);
        }
        let mut core: Vec<String> = offered(request)?
            .into_iter()
            .filter(|tool| !denied.tools.contains(tool))
            .collect();
        if request.permission != Permission::Full && request.mcp_servers.is_empty() {
            // The user's own servers are no part of the level.
            core.retain(|tool| !tool.starts_with("mcp_"));
        }
        let allows_servers = core.iter().any(|tool| tool.starts_with("mcp_"))
            || (request.allow_tools.is_empty() && !request.mcp_servers.is_empty());
        rights.deny = denied.rules();
        rights.deny.push(withheld(&core, allows_servers));
        if allows_servers {
            rights.allow_servers(request, &core);
        }
        rights.core = Some(core);
        Ok(rights)
    }

    /// Of the servers, only those of this run are started: the user's own were not given for it. At full rights, a list of
    /// allowed tools that names the servers' tools means all servers.
    fn allow_servers(&mut self, request: &Request, core: &[String]) {
        let named: Vec<String> = core.iter().filter(|tool| tool.starts_with("mcp_")).cloned().collect();
        if !named.is_empty() {
            self.allow.push(Rule::tools(named, "allow", 900));
            if request.permission == Permission::Full {
                return;
            }
        } else {
            for server in &request.mcp_servers {
                self.allow.push(Rule {
                    mcp_name: Some(server.name.clone()),
                    ..Rule::tools(vec!["*".to_owned()], "allow", 900)
                });
            }
        }
        self.servers_only = Some(request.mcp_servers.iter().map(|server| server.name.clone()).collect());
    }
}

impl Rule {
    fn tools(names: Vec<String>, decision: &'static str, priority: u32) -> Self {
        Self {
            mcp_name: None,
            tool_name: names,
            command_prefix: None,
            decision,
            priority,
        }
    }
}

fn approval_mode(request: &Request) -> &'static str {
    match request.permission {
        Permission::ReadOnly => "default",
        Permission::Edit if request.allow_tools.iter().any(is_command_rule) => "default",
        Permission::Edit => "auto_edit",
        // In the other modes a command that begins as allowed may write to any file by redirection.
        Permission::Full if request.allow_tools.iter().any(is_command_rule) => "default",
        Permission::Full => "yolo",
    }
}

fn is_command_rule(rule: &ToolRule) -> bool {
    matches!(rule, ToolRule::Native(text) if matches!(Native::parse(text), Ok(Native::Command(_))))
}

/// What one of the CLI's own rules is about.
pub fn kind(rule: &str) -> Result<ToolKind, Failure> {
    Ok(match Native::parse(rule)? {
        Native::Command(_) => ToolKind::Bash,
        Native::Tool(name) => match tools::kind(name) {
            // Its plan mode would end with more rights.
            ToolKind::Plan => ToolKind::Other,
            kind => kind,
        },
    })
}

/// The tools of the level, or those that the user listed.
fn offered(request: &Request) -> Result<Vec<String>, Failure> {
    let mut offered: Vec<String> = Vec::new();
    for rule in &request.allow_tools {
        match rule {
            ToolRule::Canonical(ToolKind::Mcp) => offered.push("mcp_*".to_owned()),
            ToolRule::Canonical(kind) => offered.extend(tools::of_kind(*kind).map(str::to_owned)),
            ToolRule::Native(text) => offered.push(match Native::parse(text)? {
                Native::Tool(name) => name.to_owned(),
                Native::Command(prefix) => format!("{}({prefix})", tools::SHELL),
            }),
        }
    }
    if request.allow_tools.is_empty() {
        let kinds: &[ToolKind] = match request.permission {
            Permission::ReadOnly => &[ToolKind::Read, ToolKind::Search],
            _ => &[ToolKind::Read, ToolKind::Search, ToolKind::Write, ToolKind::Edit],
        };
        offered.extend(kinds.iter().flat_map(|kind| tools::of_kind(*kind)).map(str::to_owned));
    }
    offered.extend(tools::HARMLESS.iter().map(|tool| (*tool).to_owned()));
    Ok(offered)
}

/// Everything that the CLI has and that is not offered.
fn withheld(core: &[String], allows_servers: bool) -> Rule {
    let is_offered = |tool: &str| {
        core.iter()
            .any(|offered| offered.split('(').next() == Some(tool) || (tool.starts_with("mcp_") && allows_servers))
    };
    let names = tools::ALL
        .iter()
        .copied()
        .chain(["mcp_*", "discovered_tool_*"])
        .filter(|tool| !is_offered(tool))
        .map(str::to_owned)
        .collect();
    Rule::tools(names, "deny", 990)
}

/// What `--deny-tool` comes to.
#[derive(Default)]
struct Denied {
    tools: Vec<String>,
    prefixes: Vec<String>,
}

impl Denied {
    fn of(rules: &[ToolRule]) -> Result<Self, Failure> {
        let mut denied = Self::default();
        for rule in rules {
            match rule {
                ToolRule::Canonical(kind) => {
                    denied.tools.extend(tools::of_kind(*kind).map(str::to_owned));
                    if *kind == ToolKind::Mcp {
                        denied.tools.push("mcp_*".to_owned());
                    }
                }
                ToolRule::Native(text) => match Native::parse(text)? {
                    Native::Tool(name) => denied.tools.push(name.to_owned()),
                    Native::Command(prefix) => denied.prefixes.push(prefix.to_owned()),
                },
            }
        }
        Ok(denied)
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        if !self.tools.is_empty() {
            rules.push(Rule::tools(self.tools.clone(), "deny", 999));
        }
        for prefix in &self.prefixes {
            rules.push(Rule {
                command_prefix: Some(prefix.clone()),
                ..Rule::tools(vec![tools::SHELL.to_owned()], "deny", 999)
            });
        }
        rules
    }
}

/// A tool as Gemini CLI writes it.
enum Native<'a> {
    Tool(&'a str),
    /// `run_shell_command(PREFIX)`.
    Command(&'a str),
}

impl<'a> Native<'a> {
    fn parse(text: &'a str) -> Result<Self, Failure> {
        if let Some(inner) = text
            .strip_prefix(tools::SHELL)
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.strip_suffix(')'))
        {
            // `git *` and `git:*` are how other CLIs write what is a plain prefix here.
            let prefix = inner.trim_end_matches(['*', ':', ' ']);
            if !prefix.is_empty() && !prefix.contains(['*', '(', ')', '\n']) {
                return Ok(Self::Command(prefix));
            }
        } else if tools::is_built_in(text) && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-*.".contains(c)) {
            return Ok(Self::Tool(text));
        }
        Err(Failure::usage(format!("Gemini CLI has no tool rule `{text}`")).hint(
            "use bash, read, edit, write, search, fetch or mcp, a tool name such as `write_file` or `mcp_SERVER_TOOL`, or \
             a command prefix such as `run_shell_command(git status)`",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{McpServer, McpTransport};

    fn request(permission: Permission, allow: &[&str], deny: &[&str]) -> Request {
        let rules = |texts: &[&str]| texts.iter().map(|text| ToolRule::from((*text).to_owned())).collect();
        let mut request = Request::new("hello", "/project");
        request.permission = permission;
        request.allow_tools = rules(allow);
        request.deny_tools = rules(deny);
        request
    }

    fn rights(permission: Permission, allow: &[&str], deny: &[&str]) -> Rights {
        Rights::of(&request(permission, allow, deny)).unwrap()
    }

    fn denies(rights: &Rights, tool: &str) -> bool {
        rights
            .deny
            .iter()
            .any(|rule| rule.command_prefix.is_none() && rule.tool_name.iter().any(|name| name == tool))
    }

    #[test]
    fn full_rights_limit_nothing() {
        let rights = rights(Permission::Full, &[], &[]);
        assert_eq!((rights.approval_mode, rights.core, rights.deny), ("yolo", None, vec![]));
    }

    #[test]
    fn reading_alone_offers_no_tool_that_acts_and_no_way_through_plan_mode() {
        let rights = rights(Permission::ReadOnly, &[], &[]);
        let core = rights.core.clone().unwrap();
        assert!(core.contains(&"read_file".to_owned()) && core.contains(&"grep_search".to_owned()));
        for tool in [
            "run_shell_command",
            "write_file",
            "replace",
            "web_fetch",
            "google_web_search",
            "enter_plan_mode",
            "exit_plan_mode",
            "invoke_agent",
            "activate_skill",
            "mcp_*",
            "discovered_tool_*",
        ] {
            assert!(!core.contains(&tool.to_owned()) && denies(&rights, tool), "{tool}");
        }
        assert!(!denies(&rights, "read_file"));
    }

    #[test]
    fn editing_adds_the_two_file_tools_only() {
        let rights = rights(Permission::Edit, &[], &[]);
        assert_eq!(rights.approval_mode, "auto_edit");
        assert!(!denies(&rights, "write_file") && !denies(&rights, "replace"));
        assert!(denies(&rights, "run_shell_command") && denies(&rights, "web_fetch"));
    }

    #[test]
    fn a_list_of_allowed_tools_is_all_that_is_offered() {
        let rights = rights(Permission::Full, &["read", "run_shell_command(git *)"], &[]);
        let core = rights.core.clone().unwrap();
        assert!(core.contains(&"run_shell_command(git)".to_owned()), "{core:?}");
        assert_eq!(rights.approval_mode, "default");
        assert!(!denies(&rights, "run_shell_command") && denies(&rights, "glob"));
    }

    #[test]
    fn a_denied_tool_is_denied_though_it_is_allowed() {
        let rights = rights(Permission::Full, &["read", "bash"], &["bash"]);
        assert!(denies(&rights, "run_shell_command"));
        assert!(!rights.core.unwrap().contains(&"run_shell_command".to_owned()));
    }

    #[test]
    fn a_denied_command_is_a_prefix_rule() {
        let rights = rights(Permission::Full, &[], &["run_shell_command(rm)"]);
        let text = file(&rights.deny);
        assert_eq!(
            text,
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 999\n"
        );
    }

    #[test]
    fn what_gemini_cannot_express_is_refused() {
        for rule in [
            "Bash(git *)",
            "read_file(secret)",
            "run_shell_command()",
            "run_shell_command(a*b)",
            "nope",
            "mcp_a b",
        ] {
            assert!(Rights::of(&request(Permission::Full, &[], &[rule])).is_err(), "{rule}");
        }
    }

    #[test]
    fn servers_of_this_run_are_allowed_under_every_level_and_no_others_start() {
        let mut request = request(Permission::ReadOnly, &[], &[]);
        request.mcp_servers = vec![McpServer {
            name: "probe".into(),
            transport: McpTransport::Sse {
                url: "http://localhost/".into(),
                headers: Default::default(),
            },
        }];
        let rights = Rights::of(&request).unwrap();
        assert_eq!(rights.servers_only, Some(vec!["probe".to_owned()]));
        assert!(file(&rights.allow).contains("mcpName = \"probe\""));
        assert!(!denies(&rights, "mcp_*"));
    }

    #[test]
    fn policy_files_are_toml() {
        let rights = rights(Permission::ReadOnly, &[], &["run_shell_command(rm \"x\")"]);
        let parsed: toml::Table = file(&rights.deny).parse().unwrap();
        assert_eq!(parsed["rule"].as_array().map(Vec::len), Some(2));
    }
}
