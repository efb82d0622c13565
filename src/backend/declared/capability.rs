//! What a declared backend can do: what its declaration has arguments for.

use super::{Declaration, TEXT};
use crate::backend::{Capabilities, Feature, Support, registry};

pub fn of(declaration: &Declaration) -> Capabilities {
    Capabilities::computed(|feature| support(declaration, feature))
}

fn support(declaration: &Declaration, feature: Feature) -> Support {
    let declared = |template: &Option<Vec<String>>, with: &'static str, without: &'static str| match template {
        Some(_) => Support::native(with),
        None => Support::unsupported(without),
    };
    match feature {
        Feature::Model => declared(&declaration.model_args, "model_args", "no model_args are declared"),
        Feature::MaxTurns if declaration.max_turns_args.is_some() => Support::native("max_turns_args"),
        Feature::MaxTurns if declaration.dialect == TEXT => Support::emulated("a text answer is one turn"),
        Feature::MaxTurns => Support::emulated("agentctl counts model responses and stops the CLI"),
        Feature::ReadOnly => declared(
            &declaration.read_only_args,
            "read_only_args, as the declaration promises",
            "no read_only_args are declared",
        ),
        Feature::Edit => declared(
            &declaration.edit_args,
            "edit_args, as the declaration promises",
            "no edit_args are declared",
        ),
        Feature::Full => match declaration.full_args {
            Some(_) => Support::native("full_args"),
            None => Support::native("the rights that the CLI has by itself"),
        },
        Feature::AllowTool | Feature::DenyTool => Support::unsupported("a declared backend has no list of tools"),
        Feature::System => declared(&declaration.system_args, "system_args", "no system_args are declared"),
        Feature::SystemReplace => Support::unsupported("a declared backend can only append"),
        Feature::AddDir => declared(
            &declaration.add_dir_args,
            "add_dir_args",
            "no add_dir_args are declared",
        ),
        Feature::AttachImage | Feature::AttachFile => Support::unsupported("a declared backend takes no attachments"),
        Feature::Effort => Support::unsupported("a declared backend has no levels of effort; use args"),
        Feature::Schema => Support::emulated("by instruction"),
        Feature::Mcp => Support::unsupported("a declared backend has the MCP servers of its own configuration only"),
        Feature::Resume => declared(
            &declaration.session_args_resume,
            "session_args_resume",
            "no session_args_resume are declared",
        ),
        Feature::Fork => Support::unsupported("a declared backend cannot copy a conversation"),
        Feature::Ephemeral => declared(
            &declaration.ephemeral_args,
            "ephemeral_args",
            "no ephemeral_args are declared",
        ),
        Feature::Expand => Support::native("without it a literal_prefix, if one is declared, goes before the prompt"),
        Feature::MaxRetries => Support::unsupported("a declared backend retries as it likes"),
        Feature::Interactive => Support::unsupported("it was declared for headless runs only"),
        Feature::Streaming => Support::native("as its output comes"),
        Feature::Thinking | Feature::Cost => of_dialect(declaration, feature),
    }
}

/// What the stream can tell depends on its dialect.
fn of_dialect(declaration: &Declaration, feature: Feature) -> Support {
    match registry::find(&declaration.dialect) {
        Some(backend) if backend.capabilities().of(feature).is_supported() => {
            Support::native("where its output tells it")
        }
        _ => Support::unsupported("its dialect does not tell it"),
    }
}
