//! Gemini CLI's tools by name: what each does, and which belong to a canonical name.

use crate::tool::ToolKind;

/// Every built-in tool that acts on the world or reads it, with its kind.
const TOOLS: &[(&str, ToolKind)] = &[
    ("run_shell_command", ToolKind::Bash),
    ("read_file", ToolKind::Read),
    ("read_many_files", ToolKind::Read),
    ("list_directory", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("grep_search", ToolKind::Search),
    ("search_file_content", ToolKind::Search),
    ("write_file", ToolKind::Write),
    ("replace", ToolKind::Edit),
    ("web_fetch", ToolKind::Fetch),
    ("google_web_search", ToolKind::Fetch),
    ("list_mcp_resources", ToolKind::Mcp),
    ("read_mcp_resource", ToolKind::Mcp),
    ("invoke_agent", ToolKind::Task),
    ("activate_skill", ToolKind::Task),
    ("enter_plan_mode", ToolKind::Plan),
    ("exit_plan_mode", ToolKind::Plan),
    ("write_todos", ToolKind::Plan),
    ("update_topic", ToolKind::Plan),
];

/// The tool that runs commands.
pub const SHELL: &str = "run_shell_command";

/// Every built-in tool, those for the model's own bookkeeping left out.
pub const ALL: &[&str] = &[
    "run_shell_command",
    "list_background_processes",
    "read_background_output",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "write_file",
    "replace",
    "web_fetch",
    "google_web_search",
    "list_mcp_resources",
    "read_mcp_resource",
    "invoke_agent",
    "activate_skill",
    "enter_plan_mode",
    "exit_plan_mode",
    "ask_user",
    "save_memory",
    "get_internal_docs",
];

/// Tools that change nothing outside the model's own bookkeeping; a limited set of tools keeps them.
pub const HARMLESS: &[&str] = &["write_todos", "update_topic", "complete_task"];

/// The canonical kind of a tool.
pub fn kind(name: &str) -> ToolKind {
    if name.starts_with("mcp_") {
        return ToolKind::Mcp;
    }
    if name.starts_with("tracker_") {
        return ToolKind::Plan;
    }
    TOOLS
        .iter()
        .find(|(tool, _)| *tool == name)
        .map_or(ToolKind::Other, |(_, kind)| *kind)
}

/// The built-in tools of a canonical name.
pub fn of_kind(kind: ToolKind) -> impl Iterator<Item = &'static str> {
    TOOLS
        .iter()
        .filter(move |(_, tool_kind)| *tool_kind == kind)
        .map(|(tool, _)| *tool)
}

/// Whether the CLI has this tool, so that its absence means that it was withheld.
pub fn is_built_in(name: &str) -> bool {
    name.starts_with("mcp_") || ALL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nameable_kind_has_a_tool() {
        for nameable in ToolKind::NAMEABLE {
            assert!(of_kind(*nameable).next().is_some(), "{nameable}");
        }
    }

    #[test]
    fn servers_tools_are_told_by_their_prefix() {
        assert_eq!(kind("mcp_probe_lab_echo"), ToolKind::Mcp);
        assert_eq!(kind("tracker_create_task"), ToolKind::Plan);
        assert_eq!(kind("something_new"), ToolKind::Other);
    }
}
