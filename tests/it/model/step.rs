//! What the model does next: the vocabulary that a test writes its script with. No wire format is known here.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// One answer to one request.
#[derive(Clone, Debug)]
pub enum Step {
    Reply(Reply),
    Failure(Failure),
    /// Takes the request and never answers.
    Silence,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub parts: Vec<Part>,
    pub pace: Pace,
    pub end: End,
}

#[derive(Clone, Debug)]
pub enum Part {
    Thinking(String),
    Text(String),
    /// Every user text of the request, joined by ` | `.
    Recall,
    /// This value, as the argument of a structured-output tool where one is on offer, else as text.
    Json(Value),
    Call(Call),
}

/// A tool as the test thinks of it; `tools` finds the name and the argument keys that the CLI uses.
#[derive(Clone, Debug)]
pub enum Call {
    Shell(String),
    Write { path: String, content: String },
    Edit { path: String, old: String, new: String },
    Read(String),
    Mcp { suffix: String, arguments: Value },
    Named { name: String, arguments: Value },
}

/// How text is cut into chunks, and what happens between two of them.
#[derive(Clone, Debug)]
pub struct Pace {
    pub chunks: usize,
    pub pause: Duration,
    pub gate: Option<Gate>,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    Length,
    Drop,
    Silence,
}

/// An answer that is an HTTP error.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

/// Lets a test decide when the next chunk is sent: the model waits at the gate between two chunks.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<usize>>);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets one more chunk through.
    pub fn open(&self) {
        self.admit(1);
    }

    /// Lets everything through from now on.
    pub fn open_wide(&self) {
        self.admit(usize::MAX / 2);
    }

    /// Takes one admission if there is one; the server polls, so that no thread is held.
    pub fn try_pass(&self) -> bool {
        let mut admitted = self.0.lock().expect("gate lock");
        if *admitted == 0 {
            return false;
        }
        *admitted -= 1;
        true
    }

    fn admit(&self, more: usize) {
        let mut admitted = self.0.lock().expect("gate lock");
        *admitted = admitted.saturating_add(more);
    }
}

pub fn text(text: impl Into<String>) -> Step {
    part(Part::Text(text.into()))
}

pub fn thinking(text: impl Into<String>) -> Step {
    part(Part::Thinking(text.into()))
}

/// Repeats everything that the user said so far, joined by ` | `: proof of memory.
pub fn recall() -> Step {
    part(Part::Recall)
}

/// An answer of exactly `bytes` bytes, in chunks of about 64 KiB: Pi prints all that was said with each of them. No
/// two of its lines are equal, so that no CLI takes it for a loop.
pub fn big(bytes: usize) -> Step {
    text(big_text(bytes)).chunks(bytes / 65_536 + 1)
}

/// What [`big`] answers.
pub fn big_text(bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 64);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push_str(&format!(
            "{:08x} {state:016x} {:016x}\n",
            out.len(),
            state.rotate_left(29)
        ));
    }
    out.truncate(bytes);
    out
}

pub fn json(value: Value) -> Step {
    part(Part::Json(value))
}

pub fn shell(command: impl Into<String>) -> Step {
    part(Part::Call(Call::Shell(command.into())))
}

pub fn write(path: impl Into<String>, content: impl Into<String>) -> Step {
    part(Part::Call(Call::Write {
        path: path.into(),
        content: content.into(),
    }))
}

/// Replaces `old` by `new` in a file; both are whole lines without the final newline.
pub fn edit(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Step {
    part(Part::Call(Call::Edit {
        path: path.into(),
        old: old.into(),
        new: new.into(),
    }))
}

pub fn read(path: impl Into<String>) -> Step {
    part(Part::Call(Call::Read(path.into())))
}

/// The MCP tool whose name ends in `suffix`, whatever prefix the CLI puts before it.
pub fn mcp(suffix: impl Into<String>, arguments: Value) -> Step {
    part(Part::Call(Call::Mcp {
        suffix: suffix.into(),
        arguments,
    }))
}

/// Any tool by its exact name, offered or not. A string as `arguments` is the input of a free-form tool.
pub fn tool(name: impl Into<String>, arguments: Value) -> Step {
    part(Part::Call(Call::Named {
        name: name.into(),
        arguments,
    }))
}

pub fn status(status: u16) -> Step {
    Step::Failure(Failure {
        status,
        headers: Vec::new(),
        body: None,
    })
}

pub fn silence() -> Step {
    Step::Silence
}

/// Milliseconds, for scripts that read well.
pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn part(part: Part) -> Step {
    Step::Reply(Reply {
        parts: vec![part],
        pace: Pace {
            chunks: 3,
            pause: Duration::ZERO,
            gate: None,
        },
        end: End::Complete,
    })
}

impl Step {
    /// More in the same answer. The pace and the end of the later part win if it sets them.
    #[must_use]
    pub fn and(self, more: Step) -> Step {
        let more = more.into_reply("and");
        self.change("and", |reply| {
            reply.parts.extend(more.parts);
            if more.pace.chunks != 3 {
                reply.pace.chunks = more.pace.chunks;
            }
            reply.pace.pause = reply.pace.pause.max(more.pace.pause);
            reply.pace.gate = more.pace.gate.or(reply.pace.gate.take());
            if more.end != End::Complete {
                reply.end = more.end;
            }
        })
    }

    /// Cuts each text into this many chunks (3 unless told).
    #[must_use]
    pub fn chunks(self, chunks: usize) -> Step {
        self.change("chunks", |reply| reply.pace.chunks = chunks.max(1))
    }

    /// Waits between two chunks.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Step {
        self.change("pause", |reply| reply.pace.pause = pause)
    }

    /// Waits between two chunks until the test opens the gate.
    #[must_use]
    pub fn gated(self, gate: &Gate) -> Step {
        self.change("gated", |reply| reply.pace.gate = Some(gate.clone()))
    }

    /// Cuts the connection where the answer would end.
    #[must_use]
    pub fn then_drop(self) -> Step {
        self.change("then_drop", |reply| reply.end = End::Drop)
    }

    /// Falls silent where the answer would end, with the connection open.
    #[must_use]
    pub fn then_silence(self) -> Step {
        self.change("then_silence", |reply| reply.end = End::Silence)
    }

    /// Stops at the output limit of the model.
    #[must_use]
    pub fn then_length(self) -> Step {
        self.change("then_length", |reply| reply.end = End::Length)
    }

    /// A header of an HTTP error.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Step {
        match &mut self {
            Step::Failure(failure) => failure.headers.push((name.to_owned(), value.to_owned())),
            _ => panic!("header() belongs to status(…)"),
        }
        self
    }

    /// The body of an HTTP error, instead of the vendor's usual one.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Step {
        match &mut self {
            Step::Failure(failure) => failure.body = Some(body.into()),
            _ => panic!("body() belongs to status(…)"),
        }
        self
    }

    /// Whether this step asks the CLI to run something.
    pub fn calls_a_tool(&self) -> bool {
        matches!(self, Step::Reply(reply) if reply.parts.iter().any(|part| matches!(part, Part::Call(_))))
    }

    fn change(self, what: &str, change: impl FnOnce(&mut Reply)) -> Step {
        let mut reply = self.into_reply(what);
        change(&mut reply);
        Step::Reply(reply)
    }

    fn into_reply(self, what: &str) -> Reply {
        match self {
            Step::Reply(reply) => reply,
            other => panic!("{what}() needs an answer, not {other:?}"),
        }
    }
}
