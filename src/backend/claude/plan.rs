//! The exact command of a run: everything but the rights (`rights`) and the words (`prompt`).

use super::options::Options;
use super::{prompt, rights};
use crate::backend::{Launch, Plan, Site, Stdin, Stop};
use crate::error::Failure;
use crate::request::{Conversation, Effort, McpServer, McpTransport, Persistence, Placement, Request};
use serde_json::{Value, json};

/// The longest single argument that Linux takes, less some room.
const LONGEST_ARGUMENT: usize = 120 * 1024;

/// One headless run: the prompt goes in as a message, and the input stays open until the result is read, because the
/// CLI otherwise exits before its pipe is drained.
pub fn headless(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut launch = Launch::new(site, &request.cwd);
    let mut warnings = Vec::new();
    launch.args(["-p", "--output-format", "stream-json", "--input-format", "stream-json"]);
    launch.args(["--verbose", "--include-partial-messages"]);
    if let Some(turns) = request.max_turns {
        if turns == 0 {
            return Err(Failure::usage("--max-turns must be at least 1"));
        }
        launch.args(["--max-turns".to_owned(), turns.to_string()]);
    }
    if let Some(schema) = &request.schema {
        let schema = schema.to_string();
        if schema.len() > LONGEST_ARGUMENT {
            return Err(Failure::usage("the schema is too large: Claude takes at most 120 KiB"));
        }
        launch.args(["--json-schema".to_owned(), schema]);
    }
    if request.persistence == Persistence::Ephemeral {
        launch.arg("--no-session-persistence");
    }
    Options::of(request)?.apply(&mut launch);
    common(request, site, &mut launch, &mut warnings)?;
    if let Some(retries) = request.patience.max_retries {
        launch.env("CLAUDE_CODE_MAX_RETRIES", retries.to_string());
    }
    launch.stdin = Stdin::Held(prompt::message(request)?);
    launch.args(request.raw_args.iter().cloned());
    Ok(Plan { launch, warnings })
}

/// The CLI's own terminal UI.
pub fn interactive(request: &Request, site: &Site) -> Result<Plan, Failure> {
    if request.persistence == Persistence::Ephemeral {
        return Err(
            Failure::usage("Claude Code's terminal UI keeps its conversations, whatever it is told")
                .hint("leave out --ephemeral, or -i"),
        );
    }
    let mut launch = Launch::new(site, &request.cwd);
    let mut warnings = Vec::new();
    common(request, site, &mut launch, &mut warnings)?;
    // Nobody reads what the UI shows, so its id is known only if we choose it.
    if let Conversation::Fresh { id } | Conversation::Fork { id, .. } = &request.conversation {
        launch.args(["--session-id".to_owned(), id.to_string()]);
    }
    launch.args(request.raw_args.iter().cloned());
    launch.stdin = Stdin::Inherited;
    let prompt = prompt::argument(request);
    if prompt.len() > LONGEST_ARGUMENT {
        return Err(Failure::usage("the prompt is too long for an interactive run")
            .hint("put it in a file and ask Claude to read it"));
    }
    if !prompt.is_empty() {
        launch.args(["--".to_owned(), prompt]);
    }
    Ok(Plan { launch, warnings })
}

/// What a headless and an interactive run share.
fn common(request: &Request, site: &Site, launch: &mut Launch, warnings: &mut Vec<String>) -> Result<(), Failure> {
    launch.stop = Stop::Interrupt;
    model(request, launch)?;
    if let Some(effort) = request.effort {
        launch.args(["--effort", effort_name(effort, warnings)]);
    }
    conversation(request, launch)?;
    system(request, site, launch);
    for directory in &request.add_dirs {
        launch.arg("--add-dir").arg(directory.clone());
    }
    rights::apply(request, site, launch)?;
    mcp(request, site, launch, warnings);
    for name in ["DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"] {
        launch.env(name, "1");
    }
    Ok(())
}

/// A resumed conversation would fall back to the default model (and lose its long context) without the flag.
fn model(request: &Request, launch: &mut Launch) -> Result<(), Failure> {
    let carried = || {
        let carried = &request.conversation.continuation()?.carried;
        carried.get(super::CARRIED_MODEL).map(String::as_str)
    };
    if let Some(model) = request.model.as_deref().or_else(carried) {
        launch.args(["--model", model_name(model)?]);
    }
    Ok(())
}

/// A model's name, which must not be taken for a flag.
pub fn model_name(name: &str) -> Result<&str, Failure> {
    if name.is_empty() || name.starts_with('-') || name.contains(char::is_control) {
        return Err(Failure::usage(format!("`{}` is no model name", name.escape_debug())));
    }
    Ok(name)
}

fn effort_name(effort: Effort, warnings: &mut Vec<String>) -> &'static str {
    if effort == Effort::Minimal {
        warnings.push("Claude has no effort below `low`: `low` is used".to_owned());
        return Effort::Low.name();
    }
    effort.name()
}

fn conversation(request: &Request, launch: &mut Launch) -> Result<(), Failure> {
    if let Some(continuation) = request.conversation.continuation() {
        launch.args(["--resume", session_id(&continuation.native_id)?]);
    }
    if let Conversation::Fork { .. } = request.conversation {
        launch.arg("--fork-session");
    }
    Ok(())
}

/// The CLI takes anything else for a title or for a path of a transcript.
fn session_id(id: &str) -> Result<&str, Failure> {
    let hyphenated = id.len() == uuid::fmt::Hyphenated::LENGTH;
    if hyphenated && uuid::Uuid::try_parse(id).is_ok() {
        return Ok(id);
    }
    Err(
        Failure::usage(format!("`{}` is no session id of Claude", id.escape_debug()))
            .hint("it is a UUID such as 9b6fa811-68ff-4343-bd84-aa36d740c320; see `agentctl sessions list`"),
    )
}

/// A resumed conversation does not remember it, so it is given every time.
fn system(request: &Request, site: &Site, launch: &mut Launch) {
    let Some(system) = &request.system else { return };
    let path = site.scratch("system.md");
    let flag = match system.placement {
        Placement::Append => "--append-system-prompt-file",
        Placement::Replace => "--system-prompt-file",
    };
    launch.arg(flag).arg(path.clone());
    launch.file(path, system.text.as_bytes());
}

fn mcp(request: &Request, site: &Site, launch: &mut Launch, warnings: &mut Vec<String>) {
    if request.mcp_servers.is_empty() {
        return;
    }
    if rights::denies_mcp(request) {
        warnings.push("the MCP servers are not started, because `mcp` is denied".to_owned());
        return;
    }
    let path = site.scratch("mcp.json");
    let servers: serde_json::Map<String, Value> = request
        .mcp_servers
        .iter()
        .map(|server| (server.name.clone(), mcp_server(server)))
        .collect();
    launch.arg("--mcp-config").arg(path.clone());
    launch.file(path, json!({ "mcpServers": servers }).to_string());
}

fn mcp_server(server: &McpServer) -> Value {
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"type": "stdio", "command": command, "args": args, "env": env})
        }
        McpTransport::Http { url, headers } => json!({"type": "http", "url": url, "headers": headers}),
        McpTransport::Sse { url, headers } => json!({"type": "sse", "url": url, "headers": headers}),
    }
}
