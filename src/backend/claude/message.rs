//! Messages of the model and of its tools: which text is new, which tool began and ended, what was used so far.
//!
//! With partial messages every block comes twice, as deltas and then whole; a dropped connection makes the CLI ask
//! again, and what was shown of the first try is then no part of the answer.

use super::head::Told;
use super::tools;
use super::wire::{Block, Denial, MessageLine, MessageUsage, StreamLine};
use crate::backend::field::Text;
use crate::backend::wire::{Reader, Unreadable};
use crate::backend::{Output, ToolOutcome};
use crate::error::{ErrorKind, Failure};
use crate::event::Usage;
use crate::tool::ToolKind;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

impl From<MessageUsage> for Usage {
    fn from(usage: MessageUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cache_read_tokens: usage.cache_read_input_tokens,
            cache_write_tokens: usage.cache_creation_input_tokens,
            output_tokens: usage.output_tokens,
            ..Self::default()
        }
        .totalled()
    }
}

/// What was seen of the conversation.
#[derive(Default)]
pub struct Messages {
    content_reader: Reader,
    block_reader: Reader,
    current: Current,
    /// Used by the messages before the current one.
    spent: Usage,
    /// The tools on offer; empty if the CLI did not tell.
    offered: BTreeSet<String>,
    /// Calls that the CLI reported as refused, apart from their results.
    denied: BTreeSet<String>,
    /// Calls that were refused and reported as such.
    told: BTreeSet<String>,
    /// What the last message that stands for a failed request says of it.
    error: String,
}

/// The message that the model is at.
#[derive(Default)]
struct Current {
    id: String,
    usage: Usage,
    state: State,
    /// Bytes of the current block that came as deltas.
    streamed_text: usize,
    streamed_thinking: usize,
    /// Whether any of its text was shown.
    shown: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ended,
    /// Deltas are coming.
    Streaming,
}

impl Messages {
    pub fn offered(&mut self, tools: Vec<String>) {
        self.offered = tools.into_iter().collect();
    }

    /// The CLI told that it refused this call; its result is still to come.
    pub fn denied(&mut self, tool_use_id: &str) {
        self.denied.insert(tool_use_id.to_owned());
    }

    /// The kind of the last failed request, in the CLI's word.
    pub fn error(&self) -> &str {
        &self.error
    }

    pub fn end_turn(&mut self) {
        self.error.clear();
        self.current.state = State::Ended;
    }

    /// A piece of a message that is being made. Subagents' pieces are no part of the answer.
    pub fn stream(&mut self, line: &StreamLine<'_>, out: &mut Output<'_>) {
        let Some(event) = &line.event else { return };
        if !line.parent_tool_use_id.is_empty() {
            return;
        }
        match &*event.kind {
            "content_block_delta" => {
                let Some(delta) = &event.delta else { return };
                self.text_piece(&delta.text, out);
                self.thinking_piece(&delta.thinking, out);
            }
            "content_block_start" => self.block_start(),
            "message_start" => {
                if let Some(message) = &event.message {
                    self.begin(&message.id, message.usage.unwrap_or_default(), State::Streaming, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    self.current.usage.output_tokens = usage.output_tokens;
                    out.usage(self.spent.plus(self.current.usage));
                }
            }
            "message_stop" => self.message_stop(),
            _ => {}
        }
    }

    /// The same from the head of a line. Nothing has happened if its piece cannot be read.
    pub fn told(&mut self, told: Told<'_>, reader: &mut Reader, out: &mut Output<'_>) -> Result<(), Unreadable> {
        match told {
            Told::Nothing => {}
            Told::Text(piece) => self.text_piece(&reader.text(piece)?, out),
            Told::Thinking(piece) => self.thinking_piece(&reader.text(piece)?, out),
            Told::BlockStart => self.block_start(),
            Told::MessageStop => self.message_stop(),
            Told::WholeText { message, text } => {
                self.is_at(message)?;
                self.whole_text(&reader.text(text)?, out);
            }
            Told::WholeThinking { message, thinking } => {
                self.is_at(message)?;
                self.whole_thinking(&reader.text(thinking)?, out);
            }
        }
        Ok(())
    }

    /// Of a message that has not begun more must be read than its head.
    fn is_at(&self, message: &[u8]) -> Result<(), Unreadable> {
        let id = message.strip_prefix(b"\"").and_then(|id| id.strip_suffix(b"\""));
        match !self.current.id.is_empty() && id == Some(self.current.id.as_bytes()) {
            true => Ok(()),
            false => Err(Unreadable),
        }
    }

    fn text_piece(&mut self, text: &str, out: &mut Output<'_>) {
        self.current.streamed_text += text.len();
        self.current.shown |= !text.is_empty();
        out.text(text);
    }

    fn thinking_piece(&mut self, thinking: &str, out: &mut Output<'_>) {
        self.current.streamed_thinking += thinking.len();
        out.thinking(thinking);
    }

    fn block_start(&mut self) {
        self.current.streamed_text = 0;
        self.current.streamed_thinking = 0;
    }

    fn message_stop(&mut self) {
        self.current.state = State::Ended;
    }

    /// A message begins, unless it is the one that we are at.
    fn begin(&mut self, id: &str, usage: MessageUsage, state: State, out: &mut Output<'_>) {
        if self.current.id == id && !id.is_empty() {
            return;
        }
        let repeated = self.current.state == State::Streaming;
        if repeated {
            // The last message never ended: its connection was cut and the CLI asks again.
            if self.current.shown {
                out.restart_answer();
            }
            let failure = Failure::new(ErrorKind::Network, "the stream was cut; the request is repeated");
            out.retry(1, None, None, &failure);
        } else {
            self.spent = self.spent.plus(self.current.usage);
            out.turn();
        }
        self.current = Current {
            id: id.to_owned(),
            usage: usage.into(),
            state,
            ..Current::default()
        };
        out.usage(self.spent.plus(self.current.usage));
    }

    /// A whole block (or more) of a message.
    pub fn assistant(&mut self, line: &MessageLine<'_>, out: &mut Output<'_>) {
        let Some(message) = &line.message else { return };
        if !line.error.is_empty() {
            // The text is the error's, and the result repeats it.
            self.error = line.error.to_string();
            return;
        }
        let own = line.parent_tool_use_id.is_empty();
        if own && &*message.model != "<synthetic>" {
            self.begin(&message.id, message.usage.unwrap_or_default(), State::Ended, out);
        }
        self.each_block(message.content, |messages, block| match &*block.kind {
            "text" if own => messages.whole_text(&block.text, out),
            "thinking" if own => messages.whole_thinking(&block.thinking, out),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => tool_start(block, out),
            kind if kind.ends_with("_tool_result") => messages.tool_end(block, out),
            _ => {}
        });
    }

    fn whole_text(&mut self, text: &str, out: &mut Output<'_>) {
        let streamed = std::mem::take(&mut self.current.streamed_text);
        out.text(text.get(streamed..).unwrap_or_default());
    }

    fn whole_thinking(&mut self, thinking: &str, out: &mut Output<'_>) {
        let streamed = std::mem::take(&mut self.current.streamed_thinking);
        out.thinking(thinking.get(streamed..).unwrap_or_default());
    }

    /// What tools gave back. The user's own text, also in the name of a subagent's caller, is not repeated.
    pub fn user(&mut self, line: &MessageLine<'_>, out: &mut Output<'_>) {
        let Some(message) = &line.message else { return };
        self.each_block(message.content, |messages, block| {
            if &*block.kind == "tool_result" {
                messages.tool_end(block, out);
            }
        });
    }

    fn tool_end(&mut self, block: &Block<'_>, out: &mut Output<'_>) {
        let id = &*block.tool_use_id;
        if !out.tool_is_open(id) {
            return;
        }
        let output = result_text(block.content);
        let output = error_text(&output);
        let outcome = if !block.is_error {
            ToolOutcome::Succeeded
        } else if self.denied.remove(id) || is_refusal(output) || self.is_withheld(output) {
            self.told.insert(id.to_owned());
            ToolOutcome::Denied
        } else {
            ToolOutcome::Failed
        };
        out.tool_end(id, outcome, Some(output));
    }

    /// The model asked for a tool that the CLI has, but that was not offered in this run. Older CLIs don't tell it from a
    /// tool that there never was.
    fn is_withheld(&self, error: &str) -> bool {
        let Some(rest) = error.strip_prefix("Error: No such tool available: ") else {
            return false;
        };
        let name = rest.split(['.', ' ']).next().unwrap_or_default();
        rest.contains(" exists but is not enabled ")
            || (tools::kind(name) != ToolKind::Other && !self.offered.contains(name))
    }

    /// The list at the end names every refused call; those whose results did not look like it are told now.
    pub fn denials(&mut self, denials: &[Denial], out: &mut Output<'_>) {
        for denial in denials {
            if self.told.insert(denial.tool_use_id.clone()) {
                out.denied(&denial.tool_name, tools::kind(&denial.tool_name), None);
            }
        }
    }

    /// Calls `each` for every block; a string is one block of text.
    fn each_block(&mut self, content: Option<&RawValue>, mut each: impl FnMut(&mut Self, &Block<'_>)) {
        let Some(content) = content else { return };
        if content.get().starts_with('"') {
            let mut reader = std::mem::take(&mut self.block_reader);
            if let Ok(text) = reader.text(content.get().as_bytes()) {
                let kind = Text(Cow::Borrowed("text"));
                each(
                    self,
                    &Block {
                        kind,
                        text,
                        ..Block::default()
                    },
                );
            }
            self.block_reader = reader;
            return;
        }
        let mut content_reader = std::mem::take(&mut self.content_reader);
        let mut block_reader = std::mem::take(&mut self.block_reader);
        if let Ok(blocks) = serde_json::from_str::<Vec<Block<'_>>>(content.get()) {
            blocks.iter().for_each(|block| each(self, block));
        } else if let Ok(blocks) = content_reader.read::<Vec<&RawValue>>(content.get().as_bytes()) {
            // One of them is not as it should be: the others are read all the same.
            for block in blocks {
                if let Ok(block) = block_reader.read::<Block<'_>>(block.get().as_bytes()) {
                    each(self, &block);
                }
            }
        }
        self.content_reader = content_reader;
        self.block_reader = block_reader;
    }
}

fn tool_start(block: &Block<'_>, out: &mut Output<'_>) {
    if &*block.name != tools::STRUCTURED_OUTPUT && !out.tool_is_open(&block.id) {
        out.tool_start(&block.id, &block.name, tools::kind(&block.name), block.input);
    }
}

/// What a tool gave back, as text: one string, or the text of its blocks.
fn result_text(content: Option<&RawValue>) -> Cow<'_, str> {
    let Some(content) = content else {
        return Cow::Borrowed("");
    };
    let mut reader = Reader::default();
    if content.get().starts_with('"') {
        return match serde_json::from_str::<Text<'_>>(content.get()) {
            Ok(text) => text.0,
            Err(_) => reader
                .read::<Text<'_>>(content.get().as_bytes())
                .map_or(Cow::Borrowed(""), |text| Cow::Owned(text.0.into_owned())),
        };
    }
    let Ok(blocks) = reader.read::<Vec<Block<'_>>>(content.get().as_bytes()) else {
        return Cow::Borrowed("");
    };
    let texts = blocks.iter().map(|block| &*block.text).filter(|text| !text.is_empty());
    Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
}

/// The CLI wraps errors of its own in a tag for the model.
fn error_text(output: &str) -> &str {
    let inner = output.strip_prefix("<tool_use_error>");
    inner
        .and_then(|inner| inner.strip_suffix("</tool_use_error>"))
        .unwrap_or(output)
}

/// Whether the error that a tool call ended with says that it was not permitted. The CLI has no other mark for it in
/// the stream.
fn is_refusal(error: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "Claude requested permissions to ",
        "Permission to use ",
        "Permission for this action ",
        "Tool permission request failed",
        "Dangerous rm operation detected",
        "PreToolUse:",
    ];
    let first_line = error.lines().next().unwrap_or_default();
    BEGINNINGS.iter().any(|beginning| error.starts_with(beginning))
        || first_line.contains(" was blocked. For security, Claude Code may only ")
        || first_line.ends_with(" denied by your permission settings.")
        || (first_line.starts_with("Cannot ") && first_line.ends_with(" while in plan mode."))
}
