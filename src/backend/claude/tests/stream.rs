//! Lines, as they are read, where no recording shows it.

use super::{request, with};
use crate::backend::claude::Claude;
use crate::backend::{Backend, Command, Output, Tally};
use crate::error::ErrorKind;
use crate::event::Event;
use crate::request::{Continuation, Conversation, Permission, Placement, Request, System};

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
fn a_file_that_is_denied_by_settings_is_refused_when_it_happens_and_not_at_the_end() {
    let call = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"{id}","name":"Write","input":{{}}}}]}}}}"#
        )
    };
    let refused = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"File is in a directory that is denied by your permission settings."}]}}"#;
    let done = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"ok"}]}}"#;
    let end = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","permission_denials":[{"tool_name":"Write","tool_use_id":"a"}]}"#;
    let (_, tally, _) = decode(&request(), &[&call("a"), refused, &call("b"), done, end]);
    assert_eq!(tally.denied.len(), 1);
    assert!(!tally.blocked, "it got on with its work");
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

/// A request that goes on after a run that came to this.
fn resumed(earlier: &Tally) -> Request {
    with(|request| {
        request.conversation = Conversation::Resume(Continuation {
            native_id: "9b6fa811-68ff-4343-bd84-aa36d740c320".to_owned(),
            carried: earlier.carry.clone(),
        });
    })
}

#[test]
fn a_newer_cli_counts_from_the_beginning_of_the_conversation() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","claude_code_version":"99.0.0"}"#;
    let result = |turn: u64, all: u64, cost: f64| {
        let (turn, all) = (
            format!(r#"{{"input_tokens":{turn}}}"#),
            format!(r#"{{"inputTokens":{all}}}"#),
        );
        format!(
            r#"{{"type":"result","subtype":"success","result":"x","usage":{turn},"modelUsage":{{"m":{all}}},"total_cost_usd":{cost}}}"#
        )
    };
    let spent = |tally: &Tally| (tally.usage.input_tokens, tally.cost_usd);

    let (_, first, _) = decode(&request(), &[init, &result(10, 12, 0.5)]);
    assert_eq!(spent(&first), (12, Some(0.5)), "with the two of a subagent");
    let (_, second, _) = decode(&resumed(&first), &[init, &result(10, 23, 0.75)]);
    assert_eq!(spent(&second), (11, Some(0.25)), "what was added");
    let (_, third, _) = decode(&resumed(&second), &[init, &result(10, 33, 1.0)]);
    assert_eq!(spent(&third), (10, Some(0.25)), "and added again");

    let (_, unknown, _) = decode(&resumed(&Tally::default()), &[init, &result(10, 43, 1.0)]);
    assert_eq!(
        spent(&unknown),
        (10, None),
        "nobody knows what was before: the turn alone"
    );
    let (_, alone, _) = decode(&resumed(&first), &[init, &result(10, 11, 0.25)]);
    assert_eq!(spent(&alone), (11, Some(0.25)), "it counted this run alone");

    let tested = init.replace("99.0.0", "2.1.197");
    let (_, tally, _) = decode(&resumed(&first), &[&tested, &result(10, 23, 0.75)]);
    assert_eq!(spent(&tally), (23, Some(0.75)), "the tested version counts the run");
    assert!(!tally.carry.contains_key("spending"));
}

#[test]
fn a_newer_cli_that_keeps_the_first_instructions_is_not_taken_to_hear_others() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","claude_code_version":"99.0.0"}"#;
    let instructed = |mut request: Request, text: &str| {
        request.system = Some(System {
            text: text.to_owned(),
            placement: Placement::Append,
        });
        request
    };
    let (_, first, _) = decode(&instructed(request(), "Speak of plums."), &[init]);
    let (_, same, _) = decode(&instructed(resumed(&first), "Speak of plums."), &[init]);
    let (_, other, _) = decode(&instructed(resumed(&same), "Speak of pears."), &[init]);
    let (_, none, _) = decode(&resumed(&other), &[init]);
    assert_eq!([&first, &same].map(|tally| tally.warnings.len()), [0, 0]);
    for tally in [&other, &none] {
        assert!(tally.warnings[0].contains("is not heard"), "{:?}", tally.warnings);
    }
    let tested = init.replace("99.0.0", "2.1.197");
    let (_, heard, _) = decode(&instructed(resumed(&first), "Speak of pears."), &[&tested]);
    assert!(heard.warnings.is_empty(), "the tested version hears them");
}
