//! The decoder of `pi --mode json`. Reads lines, says what happened; knows nothing of argv or processes.
//!
//! Pi exits 0 on API errors, ends every try with an `agent_end`, and repeats the text of a failed try: the truth is in
//! the last assistant message.

use super::failure;
use super::head::{self, Told};
use super::tools;
use super::wire::{
    Block, Compaction, ExtensionError, Header, Message, MessageLine, RetryStart, Session, ToolEnd, ToolStart, Update,
    blocks,
};
use crate::backend::wire::Reader;
use crate::backend::{ExitStatus, Output, Protocol, ToolOutcome};
use crate::error::Failure;
use crate::event::{StopReason, Usage};
use crate::tool::ToolKind;

/// Whether the tools on offer were limited by agentctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// What Pi offers by itself.
    Default,
    Limited,
}

pub struct PiProtocol {
    offered: Offered,
    reader: Reader,
    session_id: String,
    /// Something of the present assistant message was already told by deltas.
    streamed: Streamed,
    /// The next turn repeats one that was counted.
    retrying: bool,
    compaction: Compacting,
    /// The text of a tool that ended the run.
    terminated: Option<String>,
    /// The last assistant message ended well or was the last word.
    ending: Ending,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Streamed {
    #[default]
    Nothing,
    Something,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compacting {
    #[default]
    No,
    /// Because the request did not fit: the answer depends on it.
    ForAnswer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    #[default]
    Open,
    Answered,
}

impl PiProtocol {
    pub fn new(offered: Offered) -> Self {
        Self {
            offered,
            reader: Reader::default(),
            session_id: String::new(),
            streamed: Streamed::default(),
            retrying: false,
            compaction: Compacting::default(),
            terminated: None,
            ending: Ending::default(),
        }
    }

    fn line(&mut self, kind: &str, line: &[u8], out: &mut Output<'_>) {
        match kind {
            "message_update" => match self.reader.read::<Update<'_>>(line) {
                Ok(update) => Self::delta(&mut self.streamed, &update.event.kind, &update.event.delta, out),
                Err(_) => out.garbage(line),
            },
            "session" => match self.reader.read::<Session<'_>>(line) {
                Ok(session) => {
                    out.session(&session.id, None);
                    self.session_id = session.id.to_string();
                }
                Err(_) => out.garbage(line),
            },
            "turn_start" => {
                if !std::mem::take(&mut self.retrying) {
                    out.turn();
                }
            }
            "message_start" | "message_end" => self.message(kind, line, out),
            "tool_execution_start" => match self.reader.read::<ToolStart<'_>>(line) {
                Ok(tool) => {
                    let kind = tools::kind(&tool.tool_name);
                    out.tool_start(&tool.tool_call_id, &tool.tool_name, kind, tool.args);
                }
                Err(_) => out.garbage(line),
            },
            "tool_execution_end" => self.tool_end(line, out),
            "agent_end" => self.agent_end(out),
            "auto_retry_start" => self.retry(line, out),
            "compaction_start" | "compaction_end" => self.compaction(kind, line, out),
            "extension_error" => match self.reader.read::<ExtensionError<'_>>(line) {
                Ok(event) => out.warning(&format!("a Pi extension failed: {}", &*event.error)),
                Err(_) => out.garbage(line),
            },
            "agent_start"
            | "turn_end"
            | "tool_execution_update"
            | "auto_retry_end"
            | "queue_update"
            | "thinking_level_changed"
            | "session_info_changed"
            | "extension_ui_request"
            | "response" => {}
            _ => out.unknown(),
        }
    }

    fn delta(streamed: &mut Streamed, kind: &str, delta: &str, out: &mut Output<'_>) {
        match kind {
            "text_delta" => out.text(delta),
            "thinking_delta" => out.thinking(delta),
            _ => return,
        }
        *streamed = Streamed::Something;
    }

    fn message(&mut self, kind: &str, line: &[u8], out: &mut Output<'_>) {
        let Ok(MessageLine { message }) = self.reader.read::<MessageLine<'_>>(line) else {
            return out.garbage(line);
        };
        if &*message.role != "assistant" {
            return;
        }
        if kind == "message_start" {
            self.streamed = Streamed::Nothing;
            self.ending = Ending::Open;
            tell_model(&self.session_id, &message, out);
            return;
        }
        tell_model(&self.session_id, &message, out);
        tell_usage(&message, out);
        let streamed = std::mem::take(&mut self.streamed);
        let blocks = blocks(message.content);
        if streamed == Streamed::Nothing {
            for block in &blocks {
                out.thinking(&block.thinking);
                out.text(&block.text);
            }
        }
        match &*message.stop_reason {
            "toolUse" => self.ending = Ending::Open,
            "error" | "aborted" => {
                self.ending = Ending::Open;
                let message = match &*message.error_message {
                    "" if &*message.stop_reason == "aborted" => "Request was aborted",
                    "" => "Pi told no reason",
                    message => message,
                };
                out.fail(failure::from_api(message));
            }
            stop_reason => {
                self.ending = Ending::Answered;
                out.answer(&text_of(&blocks));
                if stop_reason == "length" {
                    out.stop_reason(StopReason::Length);
                }
                out.complete();
            }
        }
    }

    fn tool_end(&mut self, line: &[u8], out: &mut Output<'_>) {
        let Ok(tool) = self.reader.read::<ToolEnd<'_>>(line) else {
            return out.garbage(line);
        };
        let output = text_of(&blocks(tool.result.content));
        let outcome = if !tool.is_error {
            ToolOutcome::Succeeded
        } else if output.starts_with(tools::DENIED) || was_not_offered(self.offered, &tool.tool_name, &output) {
            ToolOutcome::Denied
        } else {
            ToolOutcome::Failed
        };
        out.tool_end(&tool.tool_call_id, outcome, Some(&output));
        self.terminated = tool.result.terminate.then_some(output);
    }

    fn agent_end(&mut self, out: &mut Output<'_>) {
        if let Some(text) = self.terminated.take() {
            out.answer(&text);
            out.complete();
            self.ending = Ending::Answered;
        }
        if self.ending == Ending::Answered {
            self.compaction = Compacting::No;
            out.finished();
        }
    }

    fn retry(&mut self, line: &[u8], out: &mut Output<'_>) {
        let Ok(retry) = self.reader.read::<RetryStart<'_>>(line) else {
            return out.garbage(line);
        };
        out.restart_answer();
        let failure = Failure {
            message: retry.error_message.to_string(),
            ..failure::from_api(&retry.error_message)
        };
        out.retry(retry.attempt, retry.max_attempts, retry.delay_ms, &failure);
        self.retrying = true;
    }

    fn compaction(&mut self, kind: &str, line: &[u8], out: &mut Output<'_>) {
        let Ok(event) = self.reader.read::<Compaction<'_>>(line) else {
            return out.garbage(line);
        };
        if !event.error_message.is_empty() {
            out.warning(&format!(
                "Pi could not shorten the conversation: {}",
                &*event.error_message
            ));
        }
        if kind == "compaction_start" {
            out.warning(&format!("Pi shortens the conversation ({})", &*event.reason));
            if &*event.reason == "overflow" {
                out.restart_answer();
                self.compaction = Compacting::ForAnswer;
                self.retrying = true;
            }
        }
    }
}

impl Protocol for PiProtocol {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        match head::scan(line) {
            Some(Told::Update { delta: None, .. }) => {}
            Some(Told::Update {
                kind,
                delta: Some(delta),
            }) => match self.reader.text(delta) {
                Ok(delta) => Self::delta(&mut self.streamed, kind, &delta, out),
                Err(_) => out.garbage(line),
            },
            Some(Told::Line(kind)) => self.line(kind, line, out),
            None if line.trim_ascii().is_empty() => {}
            None => match self.reader.read::<Header<'_>>(line) {
                Ok(header) => {
                    let kind = header.kind.to_string();
                    self.line(&kind, line, out);
                }
                Err(_) => out.garbage(line),
            },
        }
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.starts_with("No API key found") || line.starts_with("Authentication failed for") {
            out.fail(failure::no_key(line));
        } else if line.starts_with("No models available") {
            out.fail(failure::no_key(
                "no model available: Pi has no login and no provider's key",
            ));
        } else if line.starts_with("No session found matching") || line.starts_with("Stored session working directory")
        {
            out.fail(failure::no_session(line));
        } else if line.starts_with("Session found in different project") {
            // A question follows, and Pi would read the prompt as its answer.
            out.abort(failure::no_session(line));
        } else if let Some(error) = line
            .strip_prefix("Error: ")
            .filter(|error| error.starts_with("Unknown provider"))
        {
            out.fail(failure::no_provider(error));
        } else if let Some(warning) = line.strip_prefix("Warning: ") {
            out.warning(warning);
        } else if line.starts_with("Extension error (") {
            out.warning(line);
        }
    }

    fn finish(&mut self, _exit: ExitStatus, out: &mut Output<'_>) {
        if self.compaction == Compacting::ForAnswer && self.ending == Ending::Open {
            let message = out.tally().failure.as_ref().map(|failure| failure.message.clone());
            out.fail(failure::overflow(message.as_deref()));
        }
    }
}

fn tell_model(session_id: &str, message: &Message<'_>, out: &mut Output<'_>) {
    if message.model.is_empty() {
        return;
    }
    // The form that `--model` takes.
    let model = match &*message.provider {
        "" => message.model.to_string(),
        provider => format!("{provider}/{}", &*message.model),
    };
    out.session(session_id, Some(&model));
    out.model(&model);
}

fn tell_usage(message: &Message<'_>, out: &mut Output<'_>) {
    let told = message.usage;
    let usage = Usage {
        input_tokens: told.input,
        cache_read_tokens: told.cache_read,
        cache_write_tokens: told.cache_write,
        output_tokens: told.output,
        ..Usage::default()
    };
    // Zero is what Pi says of a model whose price it does not know.
    let cost = Some(told.cost.total).filter(|cost| *cost > 0.0);
    out.add_spent(usage, cost);
}

/// The text blocks, a line each, as Pi itself prints them.
fn text_of(blocks: &[Block<'_>]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| &*block.kind == "text")
        .map(|block| &*block.text)
        .collect();
    texts.join("\n")
}

/// Whether this is Pi's answer to a call of a tool that it has, but that we did not let it offer.
fn was_not_offered(offered: Offered, name: &str, output: &str) -> bool {
    let known = match offered {
        Offered::Default => tools::DEFAULT.contains(&name),
        Offered::Limited => tools::kind(name) != ToolKind::Other,
    };
    known && output.strip_prefix("Tool ").and_then(|rest| rest.strip_prefix(name)) == Some(" not found")
}

#[cfg(test)]
mod tests;
