//! Reads what Gemini CLI writes: `stream-json` lines on stdout, the single document of `-o json`, and what it tells on
//! stderr alone (retries, and why it ended without a word).

use super::stderr::{Limits, Stderr};
use super::wire::{Document, Header, Init, Message, Notice, Outcome, Stats, Tokens, ToolResult, ToolUse};
use super::{failure, head, tools, tries::Tries};
use crate::backend::head::Head;
use crate::backend::wire::Reader;
use crate::backend::{ExitStatus, Output, Protocol, ToolOutcome};
use crate::error::{ErrorKind, Failure};
use crate::event::{StopReason, Usage};

/// The most of a document over several lines that is kept until it can be parsed.
const DOCUMENT_CAP: usize = 64 << 20;

#[derive(Debug, Default)]
pub struct Gemini {
    reader: Reader,
    stderr: Stderr,
    tries: Tries,
    response: Response,
    /// Lines of a document that began with `{` before any event was understood.
    document: Vec<u8>,
    stream_seen: bool,
    /// The last complaint of the stream, told before the `result` that only says "error".
    complaint: Option<Failure>,
    /// A failure whose kind only the exit code tells.
    unclear: Option<Failure>,
}

impl Gemini {
    /// A reader of a run with these limits: it must not go on if the CLI does not take them.
    pub fn new(limits: Limits) -> Self {
        Self {
            stderr: Stderr::new(limits),
            ..Self::default()
        }
    }
}

/// Reads one kind of line; `None`, and nothing has happened, if it does not have the shape.
type Event = fn(&mut Gemini, &mut Reader, &[u8], &mut Output<'_>) -> Option<()>;

/// Whether the model is in the middle of a response. The stream has no marker for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Response {
    #[default]
    Awaited,
    Begun,
}

impl Protocol for Gemini {
    fn stdout(&mut self, line: &[u8], out: &mut Output<'_>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if !self.document.is_empty() {
            return self.keep(line, out);
        }
        let mut reader = std::mem::take(&mut self.reader);
        self.line(&mut reader, line, out);
        self.reader = reader;
    }

    fn stderr(&mut self, line: &[u8], out: &mut Output<'_>) {
        self.stderr.line(line, out);
    }

    fn finish(&mut self, exit: ExitStatus, out: &mut Output<'_>) {
        if !self.document.is_empty() {
            self.read_document(out);
        }
        let code = exit.code.unwrap_or(0);
        if let Some(unclear) = self.unclear.take() {
            if self.stderr.no_such_model() {
                out.fail(failure::no_such_model(unclear));
            } else if code != 0 {
                out.fail(failure::refine(unclear, code));
            }
        } else if out.tally().failure.is_none() && !out.tally().completed {
            self.explain_silence(code, out);
        }
    }
}

impl Gemini {
    fn line(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) {
        // Nearly every line begins with its type. One that cannot be read as that type is looked at more closely.
        if let Some((kind, _)) = Head::of(line).and_then(|head| head.then(r#"{"type":"#)?.name())
            && let Some(event) = Self::event(kind)
            && event(self, reader, line, out).is_some()
        {
            self.stream_seen = true;
            return;
        }
        let Ok(header) = reader.read::<Header<'_>>(line) else {
            return if !self.stream_seen && line.first() == Some(&b'{') {
                self.keep(line, out);
            } else {
                out.garbage(line);
            };
        };
        let Some(event) = Self::event(&header.kind) else {
            return if header.kind.is_empty() && !self.stream_seen {
                self.single_line_document(line, out);
            } else {
                out.unknown();
            };
        };
        self.stream_seen = true;
        if event(self, reader, line, out).is_none() {
            out.garbage(line);
        }
    }

    /// What reads a line of this type.
    fn event(kind: &str) -> Option<Event> {
        match kind {
            "message" => Some(Self::message),
            "tool_use" => Some(Self::tool_use),
            "tool_result" => Some(Self::tool_result),
            "init" => Some(Self::init),
            "error" => Some(Self::notice),
            "result" => Some(Self::result),
            _ => None,
        }
    }

    fn init(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let init: Init<'_> = reader.read(line).ok()?;
        out.session(&init.session_id, Some(&*init.model).filter(|model| !model.is_empty()));
        Some(())
    }

    fn message(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let message: Message<'_> = match head::message(line) {
            Some(message) => message,
            None => reader.read(line).ok()?,
        };
        if &*message.role == "assistant" {
            self.begin_response(out);
            self.tries.piece(out.tally().answer.len(), &message.timestamp);
            out.text(&message.content);
        } else {
            self.end_response();
        }
        Some(())
    }

    fn tool_use(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let tool: ToolUse<'_> = match head::tool_use(line) {
            Some(tool) => tool,
            None => reader.read(line).ok()?,
        };
        self.begin_response(out);
        self.tries.reset();
        out.tool_start(
            &tool.tool_id,
            &tool.tool_name,
            tools::kind(&tool.tool_name),
            tool.parameters,
        );
        Some(())
    }

    fn tool_result(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let result: ToolResult<'_> = match head::tool_result(line) {
            Some(result) => result,
            None => reader.read(line).ok()?,
        };
        self.end_response();
        let error = result.error.as_ref();
        let end = match (&*result.status, error) {
            (_, Some(error)) if is_refusal(&error.kind, &error.message) => ToolOutcome::Denied,
            ("success", _) => ToolOutcome::Succeeded,
            _ => ToolOutcome::Failed,
        };
        let output = match error {
            Some(error) if result.output.is_empty() => &*error.message,
            _ => &*result.output,
        };
        out.tool_end(&result.tool_id, end, Some(output).filter(|output| !output.is_empty()));
        Some(())
    }

    fn notice(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let notice: Notice<'_> = reader.read(line).ok()?;
        self.complaint = match (&*notice.severity, &*notice.message) {
            ("error", message) if message.starts_with("Maximum session turns") => Some(failure::turn_limit(message)),
            ("error", message) => Some(failure::from_broken_stream(message)),
            (_, message) if failure::is_loop(message) => Some(failure::looped(message)),
            (_, message) => {
                out.warning(message);
                return Some(());
            }
        };
        Some(())
    }

    fn result(&mut self, reader: &mut Reader, line: &[u8], out: &mut Output<'_>) -> Option<()> {
        let result: Outcome<'_> = reader.read(line).ok()?;
        self.drop_failed_tries(out);
        tell_stats(&result.stats, out);
        let succeeded = &*result.status == "success";
        let failure = match (&result.error, self.complaint.take()) {
            (Some(error), _) => Some(failure::from_error(error)),
            (None, Some(complaint)) => Some(complaint),
            (None, None) if !succeeded => Some(Failure::new(
                ErrorKind::Agent,
                "Gemini CLI reported an error without saying which",
            )),
            (None, None) if said_nothing(out, &result.stats) => Some(failure::context_overflow()),
            (None, None) => None,
        };
        match failure {
            Some(failure) => self.fail(failure, out),
            None => out.complete(),
        }
        out.finished();
        Some(())
    }

    fn fail(&mut self, failure: Failure, out: &mut Output<'_>) {
        match failure.kind {
            ErrorKind::TurnLimit => out.stop_reason(StopReason::TurnLimit),
            ErrorKind::Agent => self.unclear = Some(failure.clone()),
            _ => {}
        }
        out.fail(failure);
    }

    fn begin_response(&mut self, out: &mut Output<'_>) {
        if self.response == Response::Awaited {
            self.response = Response::Begun;
            self.tries.reset();
            out.turn();
        }
    }

    fn end_response(&mut self) {
        self.response = Response::Awaited;
    }

    fn drop_failed_tries(&mut self, out: &mut Output<'_>) {
        let start = self.tries.answer_start(&out.tally().answer);
        if start > 0 {
            let answer = out.tally().answer[start..].to_owned();
            out.answer(&answer);
            out.warning(
                "the model's stream broke off and Gemini CLI asked again: the events hold the text of every try",
            );
        }
    }

    /// Keeps a line of a document that is not complete yet.
    fn keep(&mut self, line: &[u8], out: &mut Output<'_>) {
        if self.document.len() + line.len() > DOCUMENT_CAP {
            out.garbage(line);
            return;
        }
        self.document.extend_from_slice(line);
        self.document.push(b'\n');
    }

    /// A JSON object without a type: the document of `-o json` on one line, or something new.
    fn single_line_document(&mut self, line: &[u8], out: &mut Output<'_>) {
        let mut reader = Reader::default();
        match reader.read::<Document<'_>>(line) {
            Ok(document) if document.response.is_some() || document.error.is_some() => {
                self.tell_document(&document, out);
                out.finished();
            }
            _ => out.unknown(),
        }
    }

    /// The lines that were kept: one document, or lines of an unfinished one among which the events stand.
    fn read_document(&mut self, out: &mut Output<'_>) {
        let kept = std::mem::take(&mut self.document);
        let mut reader = Reader::default();
        match reader.read::<Document<'_>>(&kept) {
            Ok(document) => self.tell_document(&document, out),
            Err(_) => {
                let mut lines = kept.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                if let Some(first) = lines.next() {
                    out.garbage(first);
                }
                self.stream_seen = true;
                for line in lines {
                    self.line(&mut reader, line, out);
                }
            }
        }
    }

    fn tell_document(&mut self, document: &Document<'_>, out: &mut Output<'_>) {
        out.session(&document.session_id, None);
        for (name, model) in &document.stats.models {
            let tokens = &model.tokens;
            out.model(name);
            out.turns(out.tally().turns.saturating_add(model.api.total_requests));
            let used = usage(tokens.prompt, tokens.cached, tokens.candidates, tokens.thoughts);
            out.add_spent(used, None);
        }
        let (stopped, warnings): (Vec<_>, Vec<_>) = document.warnings.iter().partition(|text| failure::is_loop(text));
        for warning in warnings {
            out.warning(warning);
        }
        if let Some(response) = &document.response {
            out.text(response);
        }
        let empty = document.response.as_ref().is_none_or(|response| response.is_empty());
        match &document.error {
            Some(error) if &*error.kind == "INVALID_STREAM" => {
                self.fail(failure::from_broken_stream(&error.message), out);
            }
            Some(error) => self.fail(failure::from_error(error), out),
            None if !stopped.is_empty() => self.fail(failure::looped(stopped[0]), out),
            None if empty && document.stats.models.is_empty() && document.stats.tools.total_calls == 0 => {
                self.fail(failure::context_overflow(), out);
            }
            None => out.complete(),
        }
    }

    /// Nothing on stdout told how it ended: the exit code and stderr do.
    fn explain_silence(&mut self, code: i32, out: &mut Output<'_>) {
        let document = self.stderr.take_document();
        let mut reader = Reader::default();
        if let Ok(document) = reader.read::<Document<'_>>(&document)
            && document.error.is_some()
        {
            self.tell_document(&document, out);
            if let Some(unclear) = self.unclear.take() {
                out.fail(failure::refine(unclear, code));
            }
        } else if let Some(failure) = failure::from_silence(code, &self.stderr.tail()) {
            self.fail(failure, out);
        }
    }
}

/// Whether a tool did not run because it may not, rather than because it failed.
fn is_refusal(kind: &str, message: &str) -> bool {
    match kind {
        "policy_violation" => true,
        // `Tool "NAME" not found…`. A tool that the CLI does not have was not refused: the model made it up.
        "tool_not_registered" => message.split('"').nth(1).is_some_and(tools::is_built_in),
        "unhandled_exception" => message.contains("requires user confirmation"),
        "invalid_tool_params" => message.starts_with("Path not in workspace"),
        _ => false,
    }
}

/// A success in which no model was asked and nothing was said.
fn said_nothing(out: &Output<'_>, stats: &Stats) -> bool {
    let tally = out.tally();
    tally.answer.is_empty() && tally.turns == 0 && stats.models.is_empty()
}

fn tell_stats(stats: &Stats, out: &mut Output<'_>) {
    let tokens = &stats.tokens;
    let thoughts = tokens
        .total_tokens
        .saturating_sub(tokens.input_tokens)
        .saturating_sub(tokens.output_tokens);
    out.usage(usage(
        tokens.input_tokens,
        tokens.cached,
        tokens.output_tokens,
        thoughts,
    ));
    // `init` repeats what was asked for; for an alias the model that answered says more.
    let is_alias = out
        .tally()
        .model
        .as_deref()
        .is_none_or(|model| !model.contains("gemini-") && !model.contains('/'));
    let busiest = stats
        .models
        .iter()
        .max_by_key(|(_, tokens): &(_, &Tokens)| tokens.total_tokens);
    if let (true, Some((name, _))) = (is_alias, busiest) {
        out.model(name);
    }
}

fn usage(input: u64, cached: u64, output: u64, thoughts: u64) -> Usage {
    Usage {
        input_tokens: input.saturating_sub(cached),
        cache_read_tokens: cached,
        output_tokens: output.saturating_add(thoughts),
        reasoning_tokens: thoughts,
        ..Usage::default()
    }
}
