//! What Claude Code can do of what agentctl offers.

use crate::backend::{Capabilities, Feature, Support};

pub static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (
        Feature::Model,
        Support::native("--model; a resumed conversation keeps its own"),
    ),
    (Feature::MaxTurns, Support::native("--max-turns")),
    (
        Feature::ReadOnly,
        Support::native("only tools that read and search are offered; hooks and project settings are off"),
    ),
    (
        Feature::Edit,
        Support::native(
            "adds the editing tools, confined to the working directories; hooks and project settings are off",
        ),
    ),
    (
        Feature::Full,
        Support::native("--dangerously-skip-permissions; refused to root outside a sandbox"),
    ),
    (
        Feature::AllowTool,
        Support::native("--tools and --allowedTools; with a Bash pattern, commands that only read run as well"),
    ),
    (
        Feature::DenyTool,
        Support::native("--disallowedTools; project settings are off"),
    ),
    (Feature::System, Support::native("--append-system-prompt-file")),
    (Feature::SystemReplace, Support::native("--system-prompt-file")),
    (Feature::AddDir, Support::native("--add-dir")),
    (Feature::AttachImage, Support::native("by @path, in a block of its own")),
    (Feature::AttachFile, Support::native("by @path, in a block of its own")),
    (Feature::Effort, Support::native("--effort; `minimal` is `low`")),
    (Feature::Schema, Support::native("--json-schema")),
    (
        Feature::Mcp,
        Support::native("--mcp-config; below `full` only the servers of this run"),
    ),
    (
        Feature::Resume,
        Support::native("--resume, in the directory where it began"),
    ),
    (Feature::Fork, Support::native("--resume with --fork-session")),
    (Feature::Ephemeral, Support::native("--no-session-persistence")),
    (
        Feature::Expand,
        Support::native("by default the prompt is sent in a block that is not searched for /commands and @files"),
    ),
    (Feature::MaxRetries, Support::native("CLAUDE_CODE_MAX_RETRIES")),
    (Feature::Interactive, Support::native("the same flags without --print")),
    (Feature::Streaming, Support::native("--include-partial-messages")),
    (Feature::Thinking, Support::native("as far as the model shows it")),
    (Feature::Cost, Support::native("total_cost_usd")),
]);
