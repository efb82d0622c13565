//! Lines, as they are read, where no recording shows it.

use super::{request, with};
use crate::backend::claude::Claude;
use crate::backend::{Backend, Command, Output, Tally};
use crate::error::ErrorKind;
use crate::event::Event;
use crate::request::{Permission, Request};

/// Decodes lines as of a run with this request.
fn decode(request: &Request, lines: &[&str]) -> (Vec<String>, Tally, Vec<Command>) {
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap());
    let (mut tally, mut commands) = (Tally::default(), Vec::new());
    let mut protocol = Claude.protocol(request);
    let mut out = Output::new(&mut tally, &mut sink, &mut commands);
    for line in lines {
        protocol.stdout(line.as_bytes(), &mut out);
    }
    (events, tally, commands)
}

#[test]
fn a_refused_key_ends_the_run_at_once_and_an_account_gets_one_renewal() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed"}"#;
    let again = retry.replace("\"attempt\":1", "\"attempt\":2");
    let key = r#"{"type":"system","subtype":"init","session_id":"s","apiKeySource":"ANTHROPIC_API_KEY"}"#;
    let account = r#"{"type":"system","subtype":"init","session_id":"s","apiKeySource":"none"}"#;
    let (_, tally, commands) = decode(&request(), &[key, retry]);
    assert_eq!(commands, [Command::Stop]);
    assert_eq!(tally.failure.unwrap().kind, ErrorKind::Auth);
    let stopped =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}"#;
    let (_, tally, _) = decode(&request(), &[key, retry, stopped]);
    assert_eq!(
        tally.failure.unwrap().kind,
        ErrorKind::Auth,
        "the reason outlives the interruption"
    );
    assert_eq!(decode(&request(), &[account, retry]).2, []);
    assert_eq!(decode(&request(), &[account, retry, &again]).2, [Command::Stop]);
}

#[test]
fn a_cli_that_starts_with_more_rights_than_asked_is_stopped() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","permissionMode":"bypassPermissions"}"#;
    assert_eq!(decode(&request(), &[init]).2, []);
    let restricted = with(|request| request.permission = Permission::Edit);
    let (_, tally, commands) = decode(&restricted, &[init]);
    assert_eq!(commands, [Command::Stop]);
    assert_eq!(tally.failure.unwrap().kind, ErrorKind::PermissionDenied);
}

#[test]
fn a_tool_that_was_not_offered_is_denied_and_one_that_never_was_fails() {
    for (name, error, denied) in [
        ("Bash", "No such tool available: Bash", true),
        (
            "Skill",
            "No such tool available: Skill. Skill exists but is not enabled in this context.",
            true,
        ),
        ("Nonsense", "No such tool available: Nonsense", false),
        ("Read", "No such tool available: Read", false),
    ] {
        let call = format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"{name}","input":{{}}}}]}}}}"#
        );
        let result = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"<tool_use_error>Error: {error}</tool_use_error>"}}]}}}}"#
        );
        let init = r#"{"type":"system","subtype":"init","session_id":"s","tools":["Read"]}"#;
        let (_, tally, _) = decode(&request(), &[init, &call, &result]);
        assert_eq!(tally.blocked, denied, "{error}");
        let reason = tally.denied.first().and_then(|tool| tool.reason.clone());
        assert_eq!(reason, denied.then(|| format!("Error: {error}")));
    }
}

#[test]
fn a_rejected_account_is_told_when_its_limit_resets() {
    let (_, tally, _) = decode(
        &request(),
        &[
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794972720,"rateLimitType":"five_hour"}}"#,
            r#"{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"limit"}]},"error":"rate_limit"}"#,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit","session_id":"s"}"#,
        ],
    );
    let failure = tally.failure.unwrap();
    assert_eq!(failure.kind, ErrorKind::RateLimit);
    assert_eq!(
        failure.hint.as_deref(),
        Some("the limit resets at 2026-11-18T03:32:00Z")
    );
}

#[test]
fn with_background_tasks_the_run_ends_when_they_have() {
    let started = r#"{"type":"system","subtype":"task_started","task_id":"b"}"#;
    let ended = r#"{"type":"system","subtype":"task_notification","task_id":"b"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"s"}"#;
    let end = [Command::CloseStdin, Command::Finished];
    assert_eq!(decode(&request(), &[started, result]).2, end);
    let awaited = with(|request| {
        request.options.insert("background-tasks".into(), "on".into());
    });
    assert_eq!(decode(&awaited, &[started, result]).2, []);
    assert_eq!(decode(&awaited, &[started, result, ended, result]).2, end);
}

#[test]
fn half_a_surrogate_pair_costs_one_character_of_text() {
    let (events, tally, _) = decode(
        &request(),
        &[
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"a\ud83d"}}}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a\ud83d"}]}}"#,
            r#"{"type":"result","subtype":"success","result":"a\ud83d","session_id":"s"}"#,
        ],
    );
    assert_eq!(tally.answer, "a\u{fffd}");
    assert_eq!(events.iter().filter(|event| event.contains("\"text\"")).count(), 1);
    assert_eq!(tally.unknown_events + tally.garbage_lines, 0);
}

#[test]
fn unknown_and_broken_lines_are_counted_and_never_fatal() {
    let (_, tally, _) = decode(
        &request(),
        &[
            "",
            "hello",
            "[1,\"x\",{}]",
            "[",
            "{\"type\":",
            r#"{"type":"new_thing"}"#,
            r#"{"type":"system","subtype":"new_thing"}"#,
            r#"{"type":"assistant","message":"text"}"#,
            r#"{"type":"user","message":null}"#,
            r#"{"type":"result","subtype":"success","result":"ok","session_id":"s","usage":"?","modelUsage":[1]}"#,
        ],
    );
    assert_eq!(tally.answer, "ok");
    assert!(tally.completed);
    assert_eq!((tally.garbage_lines, tally.unknown_events), (5, 4));
}
