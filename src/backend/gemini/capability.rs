//! Gemini CLI's column of the capability matrix.

use crate::backend::{Capabilities, Feature, Support};

pub static CAPABILITIES: Capabilities = Capabilities::of_table(&[
    (Feature::Model, Support::native("--model")),
    (
        Feature::MaxTurns,
        Support::native("model.maxSessionTurns of a private settings overlay"),
    ),
    (
        Feature::ReadOnly,
        Support::native(
            "tools.core of the overlay offers reading and searching alone, an admin policy denies the rest",
        ),
    ),
    (
        Feature::Edit,
        Support::native("--approval-mode auto_edit; tools.core and an admin policy leave out commands and the network"),
    ),
    (Feature::Full, Support::native("--approval-mode yolo")),
    (
        Feature::AllowTool,
        Support::native("tools.core and policies; native form `run_shell_command(git status)`"),
    ),
    (Feature::DenyTool, Support::native("deny rules of a policy file")),
    (
        Feature::System,
        Support::native("a context file beside GEMINI.md in the overlay, part of the system instruction"),
    ),
    (Feature::SystemReplace, Support::native("GEMINI_SYSTEM_MD")),
    (Feature::AddDir, Support::native("--include-directories")),
    (Feature::AttachImage, Support::native("@file on a private copy")),
    (Feature::AttachFile, Support::native("@file on a private copy")),
    (
        Feature::Effort,
        Support::native("thinking settings of the model; needs --model with a gemini-2.5 or gemini-3 name"),
    ),
    (
        Feature::Schema,
        Support::emulated("by instruction; agentctl validates the answer"),
    ),
    (Feature::Mcp, Support::native("mcpServers of the overlay")),
    (Feature::Resume, Support::native("--resume, from the same directory")),
    (
        Feature::Fork,
        Support::native("--session-file with a copy of the conversation"),
    ),
    (
        Feature::Ephemeral,
        Support::emulated("sessions and reports go to the overlay, which is removed"),
    ),
    (Feature::Expand, Support::native("slash commands and @files")),
    (
        Feature::MaxRetries,
        Support::native("general.maxAttempts of the overlay; ten attempts at most"),
    ),
    (Feature::Interactive, Support::native("its own terminal interface")),
    (Feature::Streaming, Support::native("-o stream-json")),
    (
        Feature::Thinking,
        Support::unsupported("the CLI does not show thoughts in its stream"),
    ),
    (Feature::Cost, Support::unsupported("the CLI does not tell costs")),
]);
