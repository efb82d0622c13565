//! What the decoder makes of lines that no recording holds, and that its two ways of reading agree.

use super::*;
use crate::backend::{Command, Tally};
use crate::error::ErrorKind;
use crate::event::Event;
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;

struct Decoded {
    events: Vec<String>,
    tally: Tally,
    commands: Vec<Command>,
}

fn decode<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap());
    let (mut tally, mut commands) = (Tally::default(), Vec::new());
    let mut protocol = PiProtocol::new(Offered::Default);
    let mut out = Output::new(&mut tally, &mut sink, &mut commands);
    for line in lines {
        protocol.stdout(line, &mut out);
    }
    protocol.finish(ExitStatus::default(), &mut out);
    Decoded {
        events,
        tally,
        commands,
    }
}

fn decode_text(text: &str) -> Decoded {
    decode(text.lines().map(str::as_bytes))
}

fn assistant(stop_reason: &str, text: &str, error: &str) -> String {
    json!({"type": "message_end", "message": {
        "role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": stop_reason, "errorMessage": error
    }})
    .to_string()
}

const RECORDINGS: &[&str] = &[
    "plain-json",
    "thinking-mockanth",
    "text-around-tool",
    "error-mockanth-drop",
    "error-flaky-retry-ok",
    "prompt-stdin-multiline-emoji",
];

#[test]
fn the_same_lines_with_their_keys_in_another_order_decode_alike() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    if !tests.exists() {
        // The crate as it is published has no recordings.
        return;
    }
    for case in RECORDINGS {
        let recording = &std::fs::read_to_string(tests.join("fixtures/pi").join(case).join("stdout")).unwrap();
        let reordered: Vec<String> = recording.lines().map(type_last).collect();
        assert!(reordered.iter().all(|line| head::scan(line.as_bytes()).is_none()));
        let reordered = decode_text(&reordered.join("\n"));
        let plain = decode_text(recording);
        assert_eq!(plain.events, reordered.events);
        assert_eq!(plain.tally.answer, reordered.tally.answer);
        assert_eq!(plain.tally.failure, reordered.tally.failure);
        assert_eq!((plain.tally.unknown_events, plain.tally.garbage_lines), (0, 0));
    }
}

/// The same object with `type` at its end, so that nothing can be read from its head.
fn type_last(line: &str) -> String {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    let kind = object.remove("type").unwrap();
    let rest = serde_json::to_string(&object).unwrap();
    let comma = if object.is_empty() { "" } else { "," };
    let rest = &rest[1..rest.len() - 1];
    format!("{{ {rest}{comma}\"type\":{kind}}}")
}

#[test]
fn the_text_of_a_failed_try_is_no_part_of_the_answer() {
    let retry = r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"500 x"}"#;
    let lines = [
        r#"{"type":"turn_start"}"#.to_owned(),
        assistant("error", "half an ans", "500 x"),
        retry.to_owned(),
        r#"{"type":"turn_start"}"#.to_owned(),
        assistant("stop", "an answer", ""),
    ];
    let failed = decode_text(&lines[..3].join("\n"));
    assert_eq!(failed.tally.answer, "");
    assert_eq!(failed.tally.failure.unwrap().kind, ErrorKind::Overloaded);
    let recovered = decode_text(&lines.join("\n"));
    assert_eq!(recovered.tally.answer, "an answer");
    assert!(recovered.tally.completed && recovered.tally.failure.is_none());
    assert_eq!((recovered.tally.turns, recovered.tally.retries), (1, 1));
}

#[test]
fn the_end_of_a_failed_try_is_not_the_end_of_the_run() {
    let end = r#"{"type":"agent_end","messages":[]}"#;
    assert!(
        decode_text(&format!("{}\n{end}", assistant("error", "", "500 x")))
            .commands
            .is_empty()
    );
    assert!(
        decode_text(&format!("{}\n{end}", assistant("toolUse", "", "")))
            .commands
            .is_empty()
    );
    let answered = decode_text(&format!("{}\n{end}", assistant("stop", "hi", "")));
    assert_eq!(answered.commands, [Command::Finished]);
}

#[test]
fn a_run_that_ends_while_making_room_for_its_answer_has_failed() {
    let lines = format!(
        "{}\n{}",
        assistant("error", "", "400 maximum context length is 5"),
        r#"{"type":"compaction_start","reason":"overflow"}"#
    );
    assert_eq!(
        decode_text(&lines).tally.failure.unwrap().kind,
        ErrorKind::ContextLength
    );
    let silent = decode_text(r#"{"type":"compaction_start","reason":"overflow"}"#);
    assert_eq!(silent.tally.failure.unwrap().kind, ErrorKind::ContextLength);
    let harmless = format!(
        "{}\n{}",
        assistant("stop", "hi", ""),
        r#"{"type":"compaction_start","reason":"threshold"}"#
    );
    assert!(decode_text(&harmless).tally.completed);
}

#[test]
fn lines_of_a_newer_pi_are_counted_and_read_around() {
    let lines = format!(
        "{}\nnot json\n{{\"type\":\"brand_new\"}}\n{{}}\n\n",
        assistant("stop", "hi", "")
    );
    let decoded = decode_text(&lines);
    assert_eq!((decoded.tally.unknown_events, decoded.tally.garbage_lines), (2, 1));
    assert_eq!(decoded.tally.answer, "hi");
}

#[test]
fn fields_of_unexpected_types_cost_only_themselves() {
    for line in [
        r#"{"type":"message_end","message":null}"#,
        r#"{"type":"message_end","message":{"role":"assistant","content":{"a":1},"usage":"none","stopReason":7}}"#,
        r#"{"type":"message_end","message":{"role":"assistant","content":[null,1,{"type":"text","text":null}]}}"#,
        r#"{"type":"message_update","assistantMessageEvent":[]}"#,
        r#"{"type":"tool_execution_end","toolCallId":3,"result":"x","isError":"no"}"#,
        r#"{"type":"auto_retry_start","attempt":-1,"maxAttempts":{},"delayMs":1.5}"#,
        r#"{"type":"session","id":null}"#,
        r#"{"type":"compaction_start"}"#,
    ] {
        assert_eq!(decode_text(line).tally.garbage_lines, 0, "{line}");
    }
}

proptest! {
    #[test]
    fn a_recording_that_is_cut_and_damaged_anywhere_never_panics(
        which in 0..RECORDINGS.len(), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..8)
    ) {
        let mut recording = RECORDINGS[which].as_bytes().to_vec();
        let at = at.index(recording.len());
        recording.splice(at..at, bytes);
        decode(recording.split(|byte| *byte == b'\n'));
        decode(recording[..at].split(|byte| *byte == b'\n'));
    }

    #[test]
    fn what_streams_in_pieces_is_the_answer(pieces in prop::collection::vec(".*", 1..6)) {
        let whole: String = pieces.concat();
        let mut lines: Vec<String> = pieces
            .iter()
            .map(|piece| {
                let partial = json!({"role": "assistant", "content": [{"type": "text", "text": whole}]});
                let delta = json!(piece);
                format!(
                    r#"{{"type":"message_update","assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":{delta},"partial":{partial}}},"message":{partial}}}"#
                )
            })
            .collect();
        let streamed = decode(lines.iter().map(String::as_bytes));
        prop_assert_eq!(&streamed.tally.answer, &whole);
        lines.push(assistant("stop", &whole, ""));
        let decoded = decode(lines.iter().map(String::as_bytes));
        prop_assert_eq!(&decoded.tally.answer, &whole);
        let texts = |decoded: &Decoded| decoded.events.iter().filter(|event| event.contains("\"type\":\"text\"")).count();
        prop_assert_eq!(texts(&decoded), texts(&streamed));
    }
}
