//! What single lines come to, where no recording tells it.

use super::protocol::{CARRIED_USAGE, Codex};
use crate::backend::{Command, ExitStatus, Output, Protocol, Tally};
use crate::error::ErrorKind;
use crate::event::Event;
use crate::request::{Continuation, Conversation, Patience, Permission, Request};
use std::collections::BTreeMap;

struct Decoded {
    events: Vec<String>,
    tally: Tally,
    commands: Vec<Command>,
}

enum From {
    Out(&'static str),
    Err(&'static str),
}
use From::{Err, Out};

fn decode(request: &Request, lines: &[From]) -> Decoded {
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap());
    let mut tally = Tally::default();
    let mut commands = Vec::new();
    let mut protocol = Codex::new(request);
    let mut out = Output::new(&mut tally, &mut sink, &mut commands);
    for line in lines {
        match line {
            Out(line) => protocol.stdout(line.as_bytes(), &mut out),
            Err(line) => protocol.stderr(line.as_bytes(), &mut out),
        }
    }
    protocol.finish(
        ExitStatus {
            code: Some(0),
            signal: None,
        },
        &mut out,
    );
    Decoded {
        events,
        tally,
        commands,
    }
}

fn request(permission: Permission) -> Request {
    let mut request = Request::new("hello", "/home/user/project");
    request.permission = permission;
    request
}

const STARTED: &str = r#"T  INFO codex_otel.trace_safe: event.name="codex.conversation_starts" approval_policy=never sandbox_policy=danger-full-access mcp_server_count=1 conversation.id=main model=gpt"#;
const RESPONSE: &str = r#"T  INFO codex_otel.trace_safe: event.name="codex.api_request" http.response.status_code=200 attempt=0 endpoint="/responses" conversation.id=main"#;
const TOKENS: &str = r#"T  INFO codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed input_token_count=19 output_token_count=7 cached_token_count=5 cache_write_token_count=0 reasoning_token_count=2 conversation.id=main"#;
const TOKENS_OF_SUBAGENT: &str = r#"T  INFO codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed input_token_count=100 output_token_count=10 cached_token_count=0 cache_write_token_count=0 reasoning_token_count=0 conversation.id=other"#;
const CALLED: &str =
    r#"T  INFO codex_otel.trace_safe: event.name="codex.tool_call_received" conversation.id=main call_id="c""#;
const ANSWERED: &str =
    r#"T  INFO codex_otel.trace_safe: event.name="codex.tool_result_ready" conversation.id=main call_id="c""#;
const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":57,"cached_input_tokens":15,"cache_write_input_tokens":0,"output_tokens":21,"reasoning_output_tokens":6}}"#;

#[test]
fn a_sandbox_wider_than_asked_for_ends_the_run() {
    let decoded = decode(&request(Permission::ReadOnly), &[Err(STARTED)]);
    assert_eq!(decoded.tally.failure.unwrap().kind, ErrorKind::PermissionDenied);
    assert_eq!(decoded.commands, [Command::Stop]);
    assert!(decode(&request(Permission::Full), &[Err(STARTED)]).commands.is_empty());
}

#[test]
fn servers_of_the_user_end_a_run_that_forbids_mcp() {
    let mut request = request(Permission::Full);
    request.deny_tools = vec![crate::tool::ToolRule::from("mcp".to_owned())];
    let decoded = decode(&request, &[Err(STARTED)]);
    assert_eq!(decoded.commands, [Command::Stop]);
}

#[test]
fn a_turn_begins_when_the_results_of_the_last_one_are_ready() {
    let lines = [
        Err(STARTED),
        Out(r#"{"type":"turn.started"}"#),
        Err(RESPONSE),
        Err(CALLED),
        Err(CALLED),
        Err(TOKENS),
        Err(ANSWERED),
    ];
    assert_eq!(decode(&request(Permission::Full), &lines).tally.turns, 1);
    let mut lines = Vec::from(lines);
    lines.push(Err(ANSWERED));
    assert_eq!(decode(&request(Permission::Full), &lines).tally.turns, 2);
    lines.push(Err(RESPONSE));
    assert_eq!(decode(&request(Permission::Full), &lines).tally.turns, 2);
}

#[test]
fn tokens_before_this_run_are_subtracted_and_those_of_subagents_added() {
    let mut request = request(Permission::Full);
    let carried = r#"{"inputTokens":28,"cacheReadTokens":10,"outputTokens":14,"reasoningTokens":4}"#;
    request.conversation = Conversation::Resume(Continuation {
        native_id: "main".into(),
        carried: BTreeMap::from([(CARRIED_USAGE.to_owned(), carried.to_owned())]),
    });
    let lines = [Err(STARTED), Err(TOKENS), Err(TOKENS_OF_SUBAGENT), Out(COMPLETED)];
    let tally = decode(&request, &lines).tally;
    let usage = tally.usage;
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens),
        (114, 5, 17)
    );
    assert!(tally.carry[CARRIED_USAGE].contains(r#""inputTokens":42"#));
}

#[test]
fn without_a_memory_of_the_thread_the_log_tells_the_tokens() {
    let mut request = request(Permission::Full);
    request.conversation = Conversation::Resume(Continuation {
        native_id: "main".into(),
        ..Continuation::default()
    });
    let tally = decode(&request, &[Err(STARTED), Err(TOKENS), Out(COMPLETED)]).tally;
    assert_eq!((tally.usage.input_tokens, tally.usage.output_tokens), (14, 7));
    assert!(tally.warnings.is_empty());
}

#[test]
fn a_write_that_the_system_refused_is_a_denial_only_in_a_sandbox() {
    let line = r#"{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"touch x","aggregated_output":"touch: cannot touch 'x': Read-only file system\n","exit_code":1,"status":"failed"}}"#;
    assert_eq!(decode(&request(Permission::Edit), &[Out(line)]).tally.denied.len(), 1);
    assert!(decode(&request(Permission::Full), &[Out(line)]).tally.denied.is_empty());
}

#[test]
fn a_tool_that_never_ended_ends_with_the_run() {
    let line = r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"sleep 60","status":"in_progress"}}"#;
    let decoded = decode(&request(Permission::Full), &[Out(line), Out(COMPLETED)]);
    assert!(
        decoded
            .events
            .iter()
            .any(|event| event.starts_with(r#"{"type":"tool_end","id":"item_1""#))
    );
    assert!(decoded.tally.completed);
}

#[test]
fn more_retries_than_allowed_end_the_run() {
    let mut request = request(Permission::Full);
    request.patience = Patience {
        max_retries: Some(1),
        retry_for: None,
    };
    let retry = r#"{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion: x)"}"#;
    assert!(decode(&request, &[Out(retry)]).commands.is_empty());
    let decoded = decode(&request, &[Out(retry), Out(retry)]);
    assert_eq!(decoded.commands, [Command::Stop]);
    assert_eq!(decoded.tally.failure.unwrap().kind, ErrorKind::Network);
}

#[test]
fn with_a_schema_the_last_message_is_the_value() {
    let mut request = request(Permission::Full);
    request.schema = Some(serde_json::json!({}));
    let message = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\"a\":1}"}}"#;
    let tally = decode(&request, &[Out(message), Out(COMPLETED)]).tally;
    assert_eq!(tally.structured, Some(serde_json::json!({"a": 1})));
}

#[test]
fn a_safety_setting_that_codex_ignores_ends_the_run() {
    let ignored = r#"{"type":"item.completed","item":{"id":"i","type":"error","message":"Codex is ignoring 1 unrecognized configuration setting.\n  session-flags: `web_search` is ignored."}}"#;
    assert_eq!(
        decode(&request(Permission::ReadOnly), &[Out(ignored)]).commands,
        [Command::Stop]
    );
    let harmless = r#"{"type":"item.completed","item":{"id":"i","type":"error","message":"Codex is ignoring 1 unrecognized configuration setting.\n  session-flags: `features.plugins` is ignored."}}"#;
    let decoded = decode(&request(Permission::ReadOnly), &[Out(harmless)]);
    assert_eq!((decoded.commands.len(), decoded.tally.warnings.len()), (0, 1));
}
