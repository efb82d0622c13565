//! Streams to measure with: recordings of the CLIs whose middle is repeated until they are as long as wanted.

use std::path::Path;

/// The beginning, what is repeated, and the end.
pub struct Recording {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    pub tail: Vec<u8>,
}

/// The built-in CLIs: a recording with text and tools of each, and how many of its lines are beginning and end.
pub const RECORDINGS: &[(&str, &str, usize, usize)] = &[
    ("claude", "01-partial-tool-think", 1, 1),
    ("codex", "text-before-tool-json", 3, 1),
    ("gemini", "tool-shell-stream", 2, 1),
    ("opencode", "02-text-before-tool", 0, 0),
    ("pi", "text-around-tool", 2, 1),
];

/// The recording of a CLI.
pub fn recording(backend: &str) -> Recording {
    let (_, case, head, tail) = RECORDINGS
        .iter()
        .find(|(name, ..)| *name == backend)
        .expect("one of RECORDINGS");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(backend)
        .join(case)
        .join("stdout");
    let bytes = std::fs::read(&path).expect("a recording");
    if *tail == 0 {
        // Every message has an id, and the same one twice in a row is a retry: the whole recording is repeated, with an
        // end that asks for more.
        let text = String::from_utf8_lossy(&bytes);
        return Recording {
            head: Vec::new(),
            body: text
                .replace(r#""reason":"stop""#, r#""reason":"tool-calls""#)
                .into_bytes(),
            tail: bytes,
        };
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (head, rest) = lines.split_at(*head);
    let (body, tail) = rest.split_at(rest.len() - tail);
    Recording {
        head: head.concat(),
        body: body.concat(),
        tail: tail.concat(),
    }
}

impl Recording {
    /// How often the middle is repeated in a stream of about `bytes`.
    pub fn repeats(&self, bytes: u64) -> u64 {
        let ends = (self.head.len() + self.tail.len()) as u64;
        (bytes.saturating_sub(ends) / self.body.len() as u64).max(1)
    }

    /// The whole stream in memory.
    pub fn of_size(&self, bytes: u64) -> Vec<u8> {
        let repeats = usize::try_from(self.repeats(bytes)).expect("a stream that fits in memory");
        [&self.head[..], &self.body.repeat(repeats), &self.tail].concat()
    }
}

/// What Pi writes while it streams an answer: each line has one more piece of it, and twice all of it so far. Calls
/// `line` for each of them.
pub fn growing_answer(answer: usize, piece: usize, mut line: impl FnMut(&[u8])) {
    let whole = "all work and no play makes the answer long; ".repeat(answer / 44 + 1);
    let mut bytes = Vec::new();
    line(b"{\"type\":\"session\",\"version\":3,\"id\":\"01a1ec16-4689-70f6-a48a-938cdaa9380c\"}\n{\"type\":\"agent_start\"}\n{\"type\":\"turn_start\"}\n{\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n");
    let mut end = 0;
    while end < answer {
        let start = end;
        end = (end + piece).min(answer);
        let (delta, text) = (&whole[start..end], &whole[..end]);
        bytes.clear();
        for part in [
            r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":""#,
            delta,
            r#"","partial":{"role":"assistant","content":[{"type":"text","text":""#,
            text,
            r#""}]}},"message":{"role":"assistant","content":[{"type":"text","text":""#,
            text,
            "\"}]}}\n",
        ] {
            bytes.extend_from_slice(part.as_bytes());
        }
        line(&bytes);
    }
    line(format!("{{\"type\":\"message_end\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}],\"stopReason\":\"stop\"}}}}\n{{\"type\":\"agent_end\",\"messages\":[]}}\n", &whole[..answer]).as_bytes());
}
