//! The mock agent's lines. A recording is announced by a `play` line; what follows is read by that backend's protocol.

use super::recording::{Bytes, Entry};
use crate::backend::field::Text;
use crate::backend::wire::Reader;
use crate::backend::{ExitStatus, Output, Protocol, ToolOutcome};
use crate::error::{ErrorKind, Failure};
use crate::event::Usage;
use crate::request::Request;
use crate::tool::ToolKind;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What the next process must know to go on in the recording: the part that this one played.
pub(super) const PLAYED: &str = "played";

/// One line of the mock agent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolKind>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Which part of a recording is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A line of stderr that the player put among those of stdout, as the recording has it.
fn recorded_stderr(line: &[u8]) -> Option<Bytes<'_>> {
    if !line.starts_with(br#"{"stderr":{"atMs":"#) {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(Entry::Stderr { line, .. }) => Some(line),
        _ => None,
    }
}

pub(super) struct MockProtocol {
    reader: Reader,
    request: Request,
    played: Played,
}

/// Whose recording is played.
enum Played {
    Nobodys,
    Ours,
    /// That of another CLI, which this reads.
    Anothers(Box<dyn Protocol>),
}

impl MockProtocol {
    pub fn new(request: &Request) -> Self {
        // The played protocol reads a run that was recorded elsewhere: of this request only the conversation matters.
        let mut seed = Request::new("", &request.cwd);
        seed.conversation = request.conversation.clone();
        Self {
            reader: Reader::default(),
            request: seed,
            played: Played::Nobodys,
        }
    }
}

impl Protocol for MockProtocol {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        match (&mut self.played, recorded_stderr(line)) {
            (Played::Anothers(protocol), Some(said)) => return protocol.stderr(said.as_bytes(), out),
            (Played::Anothers(protocol), None) => return protocol.stdout(line, out),
            (Played::Ours, Some(said)) => return complaint(said.as_bytes(), out),
            (Played::Ours, None) | (Played::Nobodys, _) => {}
        }
        let Ok(line) = self.reader.read::<Line<'_>>(line) else {
            return out.garbage(line);
        };
        let text = line.text.as_deref().unwrap_or_default();
        let id = line.id.as_deref().unwrap_or_default();
        match line.kind.as_ref() {
            "play" => {
                if let Some(part) = line.part {
                    out.carry(PLAYED, part.to_string());
                }
                self.played = match crate::backend::find(text) {
                    Some(backend) if backend.name() != "mock" => Played::Anothers(backend.protocol(&self.request)),
                    _ => Played::Ours,
                };
            }
            "init" => out.session(line.session_id.as_deref().unwrap_or_default(), line.model.as_deref()),
            "turn" => out.turn(),
            "text" => out.text(text),
            "thinking" => out.thinking(text),
            "toolStart" => {
                let name = line.name.as_deref().unwrap_or_default();
                out.tool_start(id, name, line.tool.unwrap_or(ToolKind::Other), line.input);
            }
            "toolEnd" => {
                let outcome = match line.denied {
                    Some(true) => ToolOutcome::Denied,
                    _ => ToolOutcome::Succeeded,
                };
                out.tool_end(id, outcome, line.text.as_deref());
            }
            "retry" => {
                let failure = Failure::new(ErrorKind::Network, text);
                out.retry(line.attempt.unwrap_or(1), None, None, &failure);
            }
            "error" => out.fail(Failure::new(line.error.unwrap_or(ErrorKind::Agent), text)),
            "done" => {
                out.spent(line.usage.unwrap_or_default(), Some(0.0));
                out.complete();
                out.finished();
            }
            _ => out.unknown(),
        }
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        // What a recording has of it comes in its place among the lines of stdout.
        if let Played::Nobodys = self.played {
            complaint(line, out);
        }
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        if let Played::Anothers(protocol) = &mut self.played {
            protocol.finish(exit, out);
        }
    }
}

/// What the mock agent says on stderr.
fn complaint(line: &[u8], out: &mut Output<'_>) {
    if let Some(id) = line.strip_prefix(super::agent::NO_SESSION.as_bytes()) {
        let id = Text(String::from_utf8_lossy(id));
        out.fail(crate::outcome::session_not_found("Mock", id.trim()));
    }
}
