//! What the decoder makes of lines that no recording holds.

use super::OpenCode;
use crate::backend::{Backend, Command, ExitStatus, Output, Tally};
use crate::error::ErrorKind;
use crate::event::Event;
use crate::request::{Patience, Permission, Request};

const ID: &str = "ses_e13ea3634ffe79FvjS09cum4Vz";

fn request(permission: Permission) -> Request {
    let mut request = Request::new("hello", "/home/user/project");
    request.permission = permission;
    request
}

fn decode(request: &Request, stderr: &[&str], stdout: &[&str]) -> (Tally, Vec<Command>, Vec<String>) {
    let mut tally = Tally::default();
    let mut commands = Vec::new();
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap());
    let mut protocol = OpenCode.protocol(request);
    let mut out = Output::new(&mut tally, &mut sink, &mut commands);
    for line in stderr {
        protocol.stderr(line.as_bytes(), &mut out);
    }
    for line in stdout {
        protocol.stdout(line.as_bytes(), &mut out);
    }
    let exit = ExitStatus {
        code: Some(0),
        signal: None,
    };
    protocol.finish(exit, &mut out);
    (tally, commands, events)
}

fn stream_error(error: &str) -> String {
    format!(
        r#"timestamp=t level=ERROR message="stream error" session.id={ID} small=false agent=build mode=primary error.error="AI_APICallError: {error}""#
    )
}

#[test]
fn an_authentication_failure_that_is_retried_ends_the_run() {
    let line = stream_error("Unauthorized (401), request 5001");
    let (once, commands, events) = decode(&request(Permission::Full), &[&line], &[]);
    assert_eq!((commands.len(), once.retries, events.len()), (0, 0, 1));
    let (twice, commands, _) = decode(&request(Permission::Full), &[&line, &line], &[]);
    assert_eq!(commands, [Command::Stop]);
    assert_eq!(twice.failure.unwrap().kind, ErrorKind::Auth);
}

#[test]
fn retries_are_told_as_they_happen_and_end_with_the_users_patience() {
    let line = stream_error("Overloaded");
    let subagent = line.replace("mode=primary", "mode=subagent");
    let (tally, commands, _) = decode(&request(Permission::Full), &[&line, &subagent, &line], &[]);
    assert_eq!((tally.retries, commands.len()), (2, 0));
    let mut impatient = request(Permission::Full);
    impatient.patience = Patience {
        max_retries: Some(1),
        retry_for: None,
    };
    let (tally, commands, _) = decode(&impatient, &[&line, &line], &[]);
    assert_eq!((tally.retries, commands), (1, vec![Command::Stop]));
    assert_eq!(tally.failure.unwrap().kind, ErrorKind::Overloaded);
}

#[test]
fn a_limited_run_whose_agent_was_not_taken_is_stopped() {
    let line = "\u{1b}[93m!\u{1b}[0m agent \"agentctl-x\" not found. Falling back to default agent";
    let (tally, commands, _) = decode(&request(Permission::ReadOnly), &[line], &[]);
    assert_eq!(commands, [Command::Stop]);
    assert_eq!(tally.failure.unwrap().kind, ErrorKind::PermissionDenied);
    let (tally, commands, _) = decode(&request(Permission::Full), &[line], &[]);
    assert_eq!((tally.warnings.len(), commands.len()), (1, 0));
}

#[test]
fn a_withheld_tool_is_denied_and_an_invented_one_only_fails() {
    let call = |tool: &str, offered: &str| {
        format!(
            r#"{{"type":"tool_use","sessionID":"{ID}","part":{{"tool":"{tool}","callID":"c","state":{{"status":"error","error":"Model tried to call unavailable tool 'invalid'. Available tools: {offered}."}}}}}}"#
        )
    };
    for (tool, offered, denied) in [
        ("bash", "glob, read", 1),
        ("write", "glob, read", 1),
        ("apply_patch", "edit, read", 0),
        ("no_such_tool", "glob, read", 0),
    ] {
        let (tally, _, _) = decode(&request(Permission::ReadOnly), &[], &[&call(tool, offered)]);
        assert_eq!(tally.denied.len(), denied, "{tool}");
    }
}

#[test]
fn a_message_that_begins_again_is_no_turn_and_its_text_is_not_doubled() {
    let line =
        |kind: &str, body: &str| format!(r#"{{"type":"{kind}","sessionID":"{ID}","part":{{"messageID":"m1"{body}}}}}"#);
    let start = line("step_start", "");
    let (tally, commands, _) = decode(
        &request(Permission::Full),
        &[],
        &[
            &start,
            &line("text", r#","text":"half""#),
            &start,
            &line("text", r#","text":"one""#),
            &line("text", r#","text":"two \ud83d""#),
            &line(
                "step_finish",
                r#","reason":"length","cost":"free","tokens":{"input":3,"output":2,"reasoning":1}"#,
            ),
        ],
    );
    assert_eq!(tally.answer, "one\ntwo \u{fffd}");
    assert_eq!((tally.turns, tally.retries), (1, 1));
    assert_eq!(
        (
            tally.usage.input_tokens,
            tally.usage.output_tokens,
            tally.usage.total_tokens
        ),
        (3, 3, 6)
    );
    assert!(tally.completed);
    assert_eq!(commands, [Command::Finished]);
}

#[test]
fn strange_lines_are_counted_and_do_no_harm() {
    let lines = [
        "",
        "  ",
        "plain text",
        "[1,2]",
        "{}",
        r#"{"type":"new_thing"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"tool_use","part":{"state":7}}"#,
        r#"{"type":"error","error":{"_tag":"BadRequest"}}"#,
    ];
    let (tally, _, _) = decode(&request(Permission::Full), &["\u{1b}[", "timestamp=", "="], &lines);
    assert_eq!(tally.garbage_lines, 1);
    assert_eq!(tally.unknown_events, 5);
    let failure = tally.failure.unwrap();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (ErrorKind::InvalidRequest, "OpenCode refused the request")
    );
}

#[test]
fn a_refusal_of_the_gate_is_a_denial_and_a_gate_that_is_missing_is_told() {
    let call = r#"{"type":"tool_use","sessionID":"ses_a","part":{"tool":"write","callID":"c","state":{"status":"error","input":{"filePath":"link"},"error":"Denied by agentctl: link is outside of the allowed directories"}}}"#;
    let end = r#"{"type":"step_finish","sessionID":"ses_a","part":{"reason":"tool-calls"}}"#;
    let (gated, _, _) = decode(&request(Permission::Edit), &[super::gate::STANDING], &[call, end]);
    assert!(gated.blocked);
    assert_eq!(gated.denied.len(), 1);
    assert!(gated.warnings.is_empty(), "{:?}", gated.warnings);
    let (open, _, _) = decode(&request(Permission::Edit), &[], &[call, end]);
    assert_eq!(open.warnings.len(), 1);
    let (reading, _, _) = decode(&request(Permission::ReadOnly), &[], &[call, end]);
    assert_eq!(reading.warnings.len(), 1);
    let (full, _, _) = decode(&request(Permission::Full), &[], &[call, end]);
    assert!(full.warnings.is_empty(), "{:?}", full.warnings);
}
