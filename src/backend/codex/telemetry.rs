//! The log lines that Codex writes to stderr when asked: what its JSON events leave out.
//!
//! `exec --json` tells neither when a model call begins nor which command the sandbox refused, and its token counts are
//! those of the whole thread. Its telemetry events (documented by name, free of prompts and of tool input) tell all
//! three, and reach stderr under the filter `FILTER`. They only add to what the JSON says: without them everything
//! still decodes.

use crate::backend::codex::wire::TokenUsage;

/// The value for `RUST_LOG`: errors as ever, and the telemetry events.
pub const FILTER: &str = "error,codex_otel.trace_safe=info";

const TARGET: &str = " codex_otel.trace_safe: event.name=\"";
const ROUTER: &str = " ERROR codex_core::tools::router: error=";

/// One line of stderr.
#[derive(Debug, PartialEq)]
pub enum LogLine<'a> {
    /// The session is set up. Once for the thread, once more for each subagent.
    Started(Session<'a>),
    /// The model began to answer.
    Response { conversation: &'a str },
    /// The model answered, and what that took.
    Tokens { conversation: &'a str, tokens: Tokens },
    /// How many model calls the turn took in the end, retries left out.
    Calls { conversation: &'a str, calls: u64 },
    /// The model called a tool.
    ToolCalled { conversation: &'a str },
    /// The result of a tool call is ready for the model.
    ToolAnswered { conversation: &'a str },
    /// The sandbox stopped a command.
    SandboxDenied { tool: &'a str },
    /// A tool call ended before or instead of running.
    ToolError(&'a str),
    /// Another telemetry event; nothing that a person should read.
    Noise,
    /// What the CLI says to people.
    Other,
}

/// A session as it was set up.
#[derive(Debug, PartialEq, Eq)]
pub struct Session<'a> {
    pub conversation: &'a str,
    pub model: &'a str,
    pub sandbox: &'a str,
    pub mcp_servers: usize,
}

/// Token counts of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl From<Tokens> for TokenUsage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.input,
            cached_input_tokens: tokens.cached,
            cache_write_input_tokens: tokens.cache_write,
            output_tokens: tokens.output,
            reasoning_output_tokens: tokens.reasoning,
        }
    }
}

pub fn read(line: &str) -> LogLine<'_> {
    if let Some((_, error)) = line.split_once(ROUTER) {
        return LogLine::ToolError(error);
    }
    let Some((_, event)) = line.split_once(TARGET) else {
        return LogLine::Other;
    };
    let (name, fields) = event.split_once('"').unwrap_or((event, ""));
    let conversation = field(fields, "conversation.id");
    match name {
        "codex.conversation_starts" => LogLine::Started(Session {
            conversation,
            model: field(fields, "model"),
            sandbox: field(fields, "sandbox_policy"),
            mcp_servers: field(fields, "mcp_server_count").parse().unwrap_or(0),
        }),
        "codex.api_request"
            if field(fields, "endpoint") == "/responses" && field(fields, "http.response.status_code") == "200" =>
        {
            LogLine::Response { conversation }
        }
        "codex.sse_event"
            if field(fields, "event.kind") == "response.completed"
                && !field(fields, "input_token_count").is_empty() =>
        {
            LogLine::Tokens {
                conversation,
                tokens: Tokens {
                    input: number(fields, "input_token_count"),
                    cached: number(fields, "cached_token_count"),
                    cache_write: number(fields, "cache_write_token_count"),
                    output: number(fields, "output_token_count"),
                    reasoning: number(fields, "reasoning_token_count"),
                },
            }
        }
        "codex.turn_profile" => LogLine::Calls {
            conversation,
            calls: number(fields, "sampling_request_count").saturating_sub(number(fields, "sampling_retry_count")),
        },
        "codex.tool_call_received" => LogLine::ToolCalled { conversation },
        "codex.tool_result_ready" => LogLine::ToolAnswered { conversation },
        "codex.sandbox_outcome" if field(fields, "outcome") == "denied" => LogLine::SandboxDenied {
            tool: field(fields, "tool_name"),
        },
        _ => LogLine::Noise,
    }
}

/// The value of ` name=value` or ` name="value"`; empty if it is not there.
fn field<'a>(fields: &'a str, name: &str) -> &'a str {
    let mut rest = fields;
    while let Some(position) = rest.find(name) {
        let (before, after) = (&rest[..position], &rest[position + name.len()..]);
        if before.ends_with(' ')
            && let Some(value) = after.strip_prefix('=')
        {
            return match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default(),
                None => value.split(' ').next().unwrap_or_default(),
            };
        }
        rest = after;
    }
    ""
}

fn number(fields: &str, name: &str) -> u64 {
    field(fields, name).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let fields = r#" xmodel=a model=b slug=c quoted="d e" last=f"#;
        assert_eq!(field(fields, "model"), "b");
        assert_eq!(field(fields, "quoted"), "d e");
        assert_eq!(field(fields, "last"), "f");
        assert_eq!(field(fields, "absent"), "");
    }

    #[test]
    fn a_command_that_the_sandbox_stopped_is_told() {
        let line = r#"2026-11-18T02:37:28.285313Z  INFO codex_otel.trace_safe: event.name="codex.sandbox_outcome" tool_name=exec_command call_id=call_1 outcome=denied initial_duration_ms=117"#;
        assert_eq!(read(line), LogLine::SandboxDenied { tool: "exec_command" });
    }

    #[test]
    fn what_is_no_telemetry_is_for_people() {
        assert_eq!(read("Error: no such thing"), LogLine::Other);
        assert_eq!(
            read(r#"2026 INFO codex_otel.trace_safe: event.name="codex.turn_ttft" duration_ms=1"#),
            LogLine::Noise
        );
    }
}
