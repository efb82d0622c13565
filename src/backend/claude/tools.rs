//! The names of Claude Code's tools, and what each is in our words.

use crate::tool::ToolKind;

/// Every tool of ours by the names that the CLI has, or had, for it.
const NAMES: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::Bash,
        &["Bash", "BashOutput", "KillShell", "KillBash", "PowerShell", "Monitor"],
    ),
    (ToolKind::Read, &["Read", "NotebookRead"]),
    (ToolKind::Search, &["Grep", "Glob", "LS"]),
    (ToolKind::Edit, &["Edit", "MultiEdit", "NotebookEdit"]),
    (ToolKind::Write, &["Write"]),
    (ToolKind::Fetch, &["WebFetch", "WebSearch", "web_fetch", "web_search"]),
    (ToolKind::Mcp, &["ListMcpResourcesTool", "ReadMcpResourceTool"]),
    (ToolKind::Task, &["Agent", "Task", "Workflow", "SendMessage"]),
    (
        ToolKind::Plan,
        &[
            "TodoWrite",
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskUpdate",
            "EnterPlanMode",
            "ExitPlanMode",
        ],
    ),
];

/// Tools that are none of ours.
const OTHERS: &[&str] = &[
    "AgentOutputTool",
    "Artifact",
    "AskUserQuestion",
    "Brief",
    "Config",
    "CronCreate",
    "CronDelete",
    "CronList",
    "DesignSync",
    "EnterWorktree",
    "ExitWorktree",
    "LSP",
    "ListAgents",
    "Projects",
    "PushNotification",
    "REPL",
    "ReadMcpResourceDirTool",
    "RemoteTrigger",
    "ReportFindings",
    "ScheduleWakeup",
    "SendUserFile",
    "SendUserMessage",
    "ShareOnboardingGuide",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "TaskOutput",
    "TaskStop",
    "TeamCreate",
    "TeamDelete",
    "ToolSearch",
    "WaitForMcpServers",
];

/// Notes that the agent makes for itself; they touch nothing.
pub const NOTES: &[&str] = &["TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"];

/// The tool by which the CLI takes a structured answer. It does nothing else, so it is no tool call of the agent's.
pub const STRUCTURED_OUTPUT: &str = "StructuredOutput";

/// What a tool of the CLI does.
pub fn kind(name: &str) -> ToolKind {
    if name.starts_with("mcp__") {
        return ToolKind::Mcp;
    }
    NAMES
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// Every tool that the CLI has, or had.
pub fn all() -> impl Iterator<Item = &'static str> {
    NAMES.iter().flat_map(|(_, names)| *names).chain(OTHERS).copied()
}

/// Whether the CLI has, or had, a tool of this name.
pub fn is_known(name: &str) -> bool {
    all().any(|known| known == name)
}

/// The CLI's names for one of our tools.
pub fn names(kind: ToolKind) -> &'static [&'static str] {
    NAMES
        .iter()
        .find(|(candidate, _)| *candidate == kind)
        .map_or(&[], |(_, names)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for (kind, names) in NAMES {
            assert!(names.iter().all(|name| super::kind(name) == *kind), "{kind}");
        }
        assert_eq!(kind("mcp__tracker__list"), ToolKind::Mcp);
        assert_eq!(kind("CronCreate"), ToolKind::Other);
    }

    #[test]
    fn every_tool_that_a_user_can_name_has_names_here() {
        assert!(ToolKind::NAMEABLE.iter().all(|kind| !names(*kind).is_empty()));
    }
}
