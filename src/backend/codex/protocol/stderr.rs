//! The half of the protocol that reads stderr: telemetry, refusals, and what Codex says to people.

use super::{STDERR_LINES, State, carry_usage};
use crate::backend::Output;
use crate::backend::codex::telemetry::{self, LogLine, Session};
use crate::backend::codex::wire::TokenUsage;
use crate::backend::codex::{failure, item, refusal};
use crate::error::{ErrorKind, Failure};
use crate::event::Usage;
use crate::request::Permission;

impl State {
    pub(super) fn log(&mut self, line: &str, out: &mut Output<'_>) {
        match telemetry::read(line) {
            LogLine::Started(session) => self.session_set_up(&session, out),
            LogLine::Response { conversation } if self.is_own(conversation) => self.turns.response(out),
            LogLine::ToolCalled { conversation } if self.is_own(conversation) => self.turns.tool_called(),
            LogLine::ToolAnswered { conversation } if self.is_own(conversation) => self.turns.tool_answered(out),
            LogLine::Tokens { conversation, tokens } => {
                let usage = Usage::from(TokenUsage::from(tokens));
                self.count(conversation, usage, out);
            }
            LogLine::Calls { conversation, calls } if self.is_own(conversation) && calls > 0 => {
                out.turns(u32::try_from(calls).unwrap_or(u32::MAX));
            }
            LogLine::SandboxDenied { tool } => {
                out.denied(tool, item::kind_of(tool), Some("the sandbox stopped it"));
            }
            LogLine::ToolError(error) => refusal::tell(error, out),
            LogLine::Other => self.keep_stderr(line),
            LogLine::Response { .. }
            | LogLine::ToolCalled { .. }
            | LogLine::ToolAnswered { .. }
            | LogLine::Calls { .. }
            | LogLine::Noise => {}
        }
    }

    /// What is really in force. Rights that are wider than asked for (a managed configuration, a future default) end
    /// the run before the model has answered.
    fn session_set_up(&mut self, session: &Session<'_>, out: &mut Output<'_>) {
        if self.conversation.is_none() {
            self.conversation = Some(session.conversation.to_owned());
            if !session.model.is_empty() {
                out.model(session.model);
            }
            self.check_servers(session.mcp_servers, out);
        }
        let fits = match self.level {
            Permission::Full => true,
            Permission::Edit => matches!(session.sandbox, "" | "read-only" | "workspace-write"),
            Permission::ReadOnly => matches!(session.sandbox, "" | "read-only"),
        };
        if !fits {
            let (sandbox, level) = (session.sandbox, self.level.name());
            self.forbid(
                &format!("Codex runs with the sandbox `{sandbox}`, which is more than `{level}` allows"),
                "a managed configuration of Codex or an argument after `--` widens it",
                out,
            );
        }
    }

    /// The user's own MCP servers are there whatever we say, and no sandbox holds them.
    fn check_servers(&mut self, there: usize, out: &mut Output<'_>) {
        match self.mcp_servers {
            None if there > 0 => self.forbid(
                &format!("MCP is not among the allowed tools, but Codex' own config.toml has MCP servers ({there})"),
                "set `enabled = false` for them, or allow `mcp`",
                out,
            ),
            Some(given) if there > given && self.level != Permission::Full => out.warning(&format!(
                "no sandbox holds the MCP servers of Codex' own config.toml ({})",
                there - given
            )),
            _ => {}
        }
    }

    pub(super) fn forbid(&mut self, message: &str, hint: &str, out: &mut Output<'_>) {
        self.settled = true;
        out.abort(Failure::new(ErrorKind::PermissionDenied, message).hint(hint));
    }

    fn is_own(&self, conversation: &str) -> bool {
        self.conversation.as_deref().is_none_or(|own| own == conversation)
    }

    fn count(&mut self, conversation: &str, usage: Usage, out: &mut Output<'_>) {
        if self.is_own(conversation) {
            self.turns.response_ended(out);
            self.logged = self.logged.plus(usage);
            if let Some(before) = self.used_before {
                carry_usage(before.plus(self.logged), out);
            }
        } else {
            self.logged_by_subagents = self.logged_by_subagents.plus(usage);
        }
        out.usage(self.logged.plus(self.logged_by_subagents));
    }

    fn keep_stderr(&mut self, line: &str) {
        if line.is_empty() || line == "Reading additional input from stdin..." {
            return;
        }
        if self.startup.is_none() {
            self.startup = failure::of_startup(line);
        }
        if self.stderr.len() == STDERR_LINES {
            self.stderr.pop_front();
        }
        self.stderr.push_back(line.chars().take(1000).collect());
    }
}
