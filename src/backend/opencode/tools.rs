//! OpenCode's own tools: what kind each is, and which right (a key of its permission table) it needs.

use crate::tool::ToolKind;

/// How the reason of every refusal by our gate begins.
pub const DENIED: &str = "Denied by agentctl";

/// A built-in tool of OpenCode.
pub struct Tool {
    pub name: &'static str,
    pub kind: ToolKind,
    /// The key of the permission table that governs it. Editing and writing share one.
    pub right: &'static str,
}

const fn tool(name: &'static str, kind: ToolKind, right: &'static str) -> Tool {
    Tool { name, kind, right }
}

/// Every built-in tool, also those that only some models are offered.
pub const TOOLS: &[Tool] = &[
    tool("bash", ToolKind::Bash, "bash"),
    tool("read", ToolKind::Read, "read"),
    tool("list", ToolKind::Search, "list"),
    tool("glob", ToolKind::Search, "glob"),
    tool("grep", ToolKind::Search, "grep"),
    tool("lsp", ToolKind::Search, "lsp"),
    tool("edit", ToolKind::Edit, "edit"),
    tool("multiedit", ToolKind::Edit, "edit"),
    tool("patch", ToolKind::Edit, "edit"),
    tool("apply_patch", ToolKind::Edit, "edit"),
    tool("write", ToolKind::Write, "edit"),
    tool("webfetch", ToolKind::Fetch, "webfetch"),
    tool("websearch", ToolKind::Fetch, "websearch"),
    tool("codesearch", ToolKind::Fetch, "codesearch"),
    tool("task", ToolKind::Task, "task"),
    tool("todowrite", ToolKind::Plan, "todowrite"),
    tool("todoread", ToolKind::Plan, "todowrite"),
    tool("plan_enter", ToolKind::Plan, "plan_enter"),
    tool("plan_exit", ToolKind::Plan, "plan_exit"),
    tool("skill", ToolKind::Other, "skill"),
    tool("question", ToolKind::Other, "question"),
    tool("list_mcp_resources", ToolKind::Mcp, "read"),
    tool("list_mcp_resource_templates", ToolKind::Mcp, "read"),
    tool("read_mcp_resource", ToolKind::Mcp, "read"),
    tool("invalid", ToolKind::Other, "invalid"),
    tool("StructuredOutput", ToolKind::Other, "StructuredOutput"),
];

/// The built-in tool of this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// What a tool does. A name that is not built in and has an underscore is `<server>_<tool>`.
pub fn kind(name: &str) -> ToolKind {
    match find(name) {
        Some(tool) => tool.kind,
        None if name.contains('_') => ToolKind::Mcp,
        None => ToolKind::Other,
    }
}

/// How the names of a server's tools begin.
pub fn of_server(server: &str) -> String {
    let mut prefix: String = server
        .chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect();
    prefix.push('_');
    prefix
}
