//! The items of a thread as tools: what each is called, what went in, how it ended.

use super::wire::{Change, Item, McpResult};
use crate::backend::ToolOutcome;
use crate::request::Permission;
use crate::tool::ToolKind;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// The shell and the patch tool by the names that the model calls them, which refusals use as well.
pub const SHELL: &str = "exec_command";
pub const PATCH: &str = "apply_patch";

pub struct Tool<'a> {
    pub name: Cow<'a, str>,
    pub kind: ToolKind,
}

/// The tool that an item stands for; none if it is no tool of ours.
pub fn tool<'a>(item: &'a Item<'_>) -> Option<Tool<'a>> {
    let (name, kind) = match &*item.kind {
        "command_execution" => (Cow::Borrowed(SHELL), ToolKind::Bash),
        "file_change" => (Cow::Borrowed(PATCH), change_kind(item.changes)),
        "mcp_tool_call" => (
            Cow::Owned(format!("mcp__{}__{}", &*item.server, &*item.tool)),
            ToolKind::Mcp,
        ),
        "web_search" => (Cow::Borrowed("web_search"), ToolKind::Fetch),
        "collab_tool_call" => (Cow::Borrowed(&*item.tool), ToolKind::Task),
        "todo_list" => (Cow::Borrowed("update_plan"), ToolKind::Plan),
        _ => return None,
    };
    Some(Tool { name, kind })
}

/// The kind of a tool by the name that the model calls it.
pub fn kind_of(tool: &str) -> ToolKind {
    match tool {
        SHELL | "shell" | "shell_command" | "local_shell" | "write_stdin" | "unified_exec" => ToolKind::Bash,
        PATCH => ToolKind::Edit,
        "view_image" => ToolKind::Read,
        "web_search" => ToolKind::Fetch,
        "update_plan" => ToolKind::Plan,
        "spawn_agent" => ToolKind::Task,
        _ if tool.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

/// New files only is writing; anything else is editing.
fn change_kind(changes: Option<&RawValue>) -> ToolKind {
    let changes: Vec<Change<'_>> = changes
        .and_then(|changes| serde_json::from_str(changes.get()).ok())
        .unwrap_or_default();
    if !changes.is_empty() && changes.iter().all(|change| &*change.kind == "add") {
        ToolKind::Write
    } else {
        ToolKind::Edit
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Input<'a> {
    Command(&'a str),
    Changes(&'a RawValue),
    Query(&'a str),
    Prompt(&'a str),
    Items(&'a RawValue),
}

/// What went into the tool.
pub fn input(item: &Item<'_>) -> Option<Box<RawValue>> {
    let input = match &*item.kind {
        "command_execution" => Input::Command(&item.command),
        "file_change" => Input::Changes(item.changes?),
        "web_search" => Input::Query(&item.query),
        "collab_tool_call" => Input::Prompt(&item.prompt),
        "todo_list" => Input::Items(item.items?),
        "mcp_tool_call" => return item.arguments.map(ToOwned::to_owned),
        _ => return None,
    };
    to_raw_value(&input).ok()
}

pub struct End<'a> {
    pub outcome: ToolOutcome,
    pub output: Option<Cow<'a, str>>,
    /// The sandbox itself could not be set up, so that no command can run.
    pub sandbox_unavailable: bool,
}

/// How a completed tool item ended.
pub fn end<'a>(item: &'a Item<'_>, permission: Permission) -> End<'a> {
    let said = &*item.aggregated_output;
    let sandbox_unavailable = &*item.kind == "command_execution"
        && &*item.status == "failed"
        && said.starts_with("bwrap: ")
        && said.trim_end().lines().count() == 1
        && !item.command.contains("bwrap");
    let error = item
        .error
        .as_ref()
        .map(|error| &*error.message)
        .filter(|message| !message.is_empty());
    let denied = sandbox_unavailable
        || &*item.status == "declined"
        || error.is_some_and(|error| error.contains("requires approval") || error.contains("rejected"))
        || (&*item.status == "failed" && permission != Permission::Full && stopped_by_sandbox(said));
    let outcome = match &*item.status {
        _ if denied => ToolOutcome::Denied,
        "failed" => ToolOutcome::Failed,
        _ if error.is_some() => ToolOutcome::Failed,
        _ => ToolOutcome::Succeeded,
    };
    let output = match error {
        Some(error) => Some(Cow::Borrowed(error)),
        None if &*item.kind == "mcp_tool_call" => item.result.map(mcp_output),
        None if said.is_empty() => None,
        None => Some(Cow::Borrowed(said)),
    };
    End {
        outcome,
        output,
        sandbox_unavailable,
    }
}

/// What the system says when a confined command writes where it must not: a read-only mount on Linux, a seatbelt on
/// macOS.
fn stopped_by_sandbox(output: &str) -> bool {
    output.contains("Read-only file system")
        || (cfg!(target_os = "macos") && output.contains("Operation not permitted"))
}

/// The text blocks of an MCP answer; the answer as it is, if there are none.
fn mcp_output(result: &RawValue) -> Cow<'_, str> {
    let answer: McpResult<'_> = serde_json::from_str(result.get()).unwrap_or_default();
    let texts: Vec<&str> = answer
        .content
        .iter()
        .map(|block| &*block.text)
        .filter(|text| !text.is_empty())
        .collect();
    match texts.is_empty() {
        true => Cow::Borrowed(result.get()),
        false => Cow::Owned(texts.join("\n")),
    }
}
