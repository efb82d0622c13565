//! The picture in the README: two runs on a terminal as they look, drawn from the cells of the screen.
//!
//! The agent is a script that says what Pi would say. What differs from run to run (times, the key of the conversation,
//! the frame of the spinner) is set to fixed values, so that the file is fresh or stale and never just different.
//! `AGENTCTL_BLESS=1 cargo test --test it picture` draws it anew.

use super::pty::Pty;
use crate::desk::Desk;
use crate::generated::check;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const SIZE: super::Size = (14, 108);
const KEY: &str = "nn9mctfk";
const SPINNER: &str = "pi · turn 2 · 6.3k tokens · $0.0147 · bash cargo test";

/// One answer of the model: its words or the call of a tool, with what it used and cost.
fn answer(content: &Value, stop_reason: &str, (input, output, cost): (u32, u32, f64)) -> Value {
    json!({"type": "message_end", "message": {
        "role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "stopReason": stop_reason,
        "content": [content], "usage": {"input": input, "output": output, "cost": {"total": cost}},
    }})
}

/// The lines of a turn that calls a tool. One that does not end is the last of its lines.
fn call(tool: &str, args: &Value, used: (u32, u32, f64), ok: Option<bool>) -> Vec<Value> {
    let mut lines = vec![
        json!({"type": "turn_start"}),
        answer(&json!({"type": "toolCall"}), "toolUse", used),
        json!({"type": "tool_execution_start", "toolCallId": "call", "toolName": tool, "args": args}),
    ];
    lines.extend(ok.map(|ok| {
        json!({"type": "tool_execution_end", "toolCallId": "call", "toolName": tool, "result": {"content": []}, "isError": !ok})
    }));
    lines
}

fn told(lines: &[Value]) -> String {
    let session = json!({"type": "session", "id": "01a1ec16-4689-70f6-a48a-938cdaa9380c"});
    [&session]
        .into_iter()
        .chain(lines)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// An agent that finds an error in its first run, and in its second one tests for ever.
fn agent(desk: &Desk) {
    let text = "The parser lost the last line of a file that does not end with a newline. It keeps it now.";
    let (test, file) = (
        json!({"command": "cargo test parser"}),
        json!({"path": "src/parser.rs"}),
    );
    let first = [
        call("bash", &test, (2810, 64, 0.0094), Some(false)),
        call("read", &file, (3904, 51, 0.0125), Some(true)),
        call("edit", &file, (4377, 212, 0.0163), Some(true)),
        call("bash", &test, (4688, 58, 0.0149), Some(true)),
        vec![
            json!({"type": "turn_start"}),
            answer(&json!({"type": "text", "text": text}), "stop", (4853, 39, 0.0152)),
            json!({"type": "agent_end", "messages": []}),
        ],
    ];
    let second = [
        call(
            "write",
            &json!({"path": "tests/parser.rs"}),
            (1204, 305, 0.0082),
            Some(true),
        ),
        call("bash", &json!({"command": "cargo test"}), (4716, 62, 0.0065), None),
    ];
    desk.file("first", &told(&first.concat()));
    desk.file("second", &told(&second.concat()));
    desk.script(
        "pi",
        "#!/bin/sh\nif [ -e asked ]; then cat second; exec sleep 1000; fi\n: > asked\ncat first\n",
    );
}

/// Cells next to each other that look alike.
struct Span {
    column: u16,
    class: &'static str,
    text: String,
}

fn class(cell: &vt100::Cell) -> &'static str {
    match (cell.fgcolor(), cell.dim()) {
        (vt100::Color::Default, true) => "dim",
        (vt100::Color::Default, false) => "plain",
        other => panic!("the picture has no colour for {other:?}"),
    }
}

fn spans(screen: &vt100::Screen, row: u16) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for column in 0..SIZE.1 {
        let Some(cell) = screen.cell(row, column) else { break };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match spans.last_mut() {
            Some(last) if last.class == class(cell) => last.text.push_str(text),
            _ => spans.push(Span {
                column,
                class: class(cell),
                text: text.to_owned(),
            }),
        }
    }
    for span in &mut spans {
        span.text.truncate(span.text.trim_end().len());
    }
    spans.retain(|span| !span.text.is_empty());
    spans
}

/// The text with everything that differs from run to run at its fixed value.
fn steady(text: &str, key: &str) -> String {
    let text = text.replace(key, KEY);
    if text.starts_with(super::FRAMES) {
        return format!("⠹ 7s {SPINNER}");
    }
    let parts = text.split(" · ").map(|part| {
        let seconds = part
            .strip_suffix('s')
            .is_some_and(|number| number.parse::<f64>().is_ok());
        if seconds { "38.2s" } else { part }
    });
    parts.collect::<Vec<&str>>().join(" · ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

const HEAD: &str = r##"<style>
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
  .plain { fill: #e6edf3 } .dim { fill: #8b949e }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
"##;

const COLUMN: f32 = 8.43;
const ROW: f32 = 20.0;
const LEFT: f32 = 16.0;
const TOP: f32 = 54.0;

fn drawn(screen: &vt100::Screen, key: &str) -> String {
    let rows: Vec<Vec<Span>> = (0..SIZE.0).map(|row| spans(screen, row)).collect();
    let used = rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0);
    let (width, height) = (2.0 * LEFT + COLUMN * f32::from(SIZE.1), TOP + ROW * used as f32 + LEFT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\">\n{HEAD}"
    );
    for (row, spans) in rows.iter().enumerate() {
        for span in spans {
            let (x, y) = (LEFT + COLUMN * f32::from(span.column), TOP + ROW * row as f32);
            let text = escaped(&steady(&span.text, key));
            writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.0}\" class=\"{}\">{text}</text>",
                span.class
            )
            .unwrap();
        }
    }
    svg + "</svg>\n"
}

/// Waits for a moment at which the spinner is wholly drawn.
fn with_spinner(pty: &Pty) -> vt100::Parser {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let parser = pty.parsed();
        let contents = parser.screen().contents();
        let last = contents.trim_end().lines().last().unwrap_or_default();
        if super::has_spinner(last) && last.ends_with(SPINNER) {
            return parser;
        }
        assert!(Instant::now() < give_up, "{contents}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_picture_in_the_readme_shows_what_a_terminal_shows() {
    let desk = Desk::new();
    agent(&desk);
    let mut command = desk.program("/bin/bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .env("TERM", "xterm")
        .env("PS1", "$ ");
    // Chosen, so that the rights are not announced.
    command
        .env("AGENTCTL_PI_PATH", "./pi")
        .env("AGENTCTL_PERMISSION", "full");
    let mut pty = Pty::start(command, SIZE);
    pty.wait_for("$ ");
    pty.send("agentctl run -b pi \"Why does the parser's test fail?\"\r");
    pty.wait_for("agentctl resume ");
    pty.wait_for_times("$ ", 2);
    let written = pty.written();
    let (_, key) = written.rsplit_once("agentctl resume ").unwrap();
    let key = key.get(..KEY.len()).unwrap().to_owned();
    pty.send(&format!("agentctl resume {key} \"Now a test for that.\"\r"));
    let parser = with_spinner(&pty);
    let picture = drawn(parser.screen(), &key);
    pty.send("\x03");
    pty.wait_for("interrupted");
    pty.send("exit\r");
    pty.close();
    check(".github/terminal.svg", picture.as_bytes());
}
