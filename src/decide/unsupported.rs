//! What a request asks for and its backend cannot honour.

use crate::backend::{Backend, Feature};
use crate::error::Failure;
use crate::request::{
    Attachment, AttachmentKind, Conversation, Permission, Persistence, Placement, PromptSyntax, Request,
};

/// Takes out of the request what the backend cannot honour, with a warning for each; safety options, and every option
/// when `strict`, are errors instead.
pub(super) fn settle(request: &mut Request, backend: &dyn Backend, strict: bool) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    for feature in asked_for(request) {
        let support = backend.capabilities().of(feature);
        if support.is_supported() {
            continue;
        }
        let message = format!(
            "{} cannot honour {}: {}",
            backend.display_name(),
            feature.flag(),
            support.note
        );
        if feature.is_safety() {
            return Err(Failure::usage(message).hint(
                "nothing runs with more rights than asked for: choose another backend, or leave the option out",
            ));
        }
        if strict || matches!(feature, Feature::Resume | Feature::Fork) {
            return Err(Failure::usage(message).hint("`agentctl backends` shows what each backend can do"));
        }
        warnings.push(message);
        take_out(request, feature);
    }
    Ok(warnings)
}

/// The same for `--session`: a conversation that cannot go on has its name for nothing.
pub(super) fn name(backend: &dyn Backend, strict: bool) -> Result<Option<String>, Failure> {
    let support = backend.capabilities().of(Feature::Resume);
    if support.is_supported() {
        return Ok(None);
    }
    let message = format!("{} cannot honour --session: {}", backend.display_name(), support.note);
    match strict {
        true => Err(Failure::usage(message).hint("`agentctl backends` shows what each backend can do")),
        false => Ok(Some(message)),
    }
}

/// The features that a request makes use of.
fn asked_for(request: &Request) -> Vec<Feature> {
    let image = |attachment: &Attachment| matches!(attachment.kind, AttachmentKind::Image(_));
    let replaces = request
        .system
        .as_ref()
        .map(|system| system.placement == Placement::Replace);
    let wanted = [
        (Feature::Model, request.model.is_some()),
        (Feature::MaxTurns, request.max_turns.is_some()),
        (Feature::ReadOnly, request.permission == Permission::ReadOnly),
        (Feature::Edit, request.permission == Permission::Edit),
        (Feature::Full, request.permission == Permission::Full),
        (Feature::AllowTool, !request.allow_tools.is_empty()),
        (Feature::DenyTool, !request.deny_tools.is_empty()),
        (Feature::System, replaces == Some(false)),
        (Feature::SystemReplace, replaces == Some(true)),
        (Feature::AddDir, !request.add_dirs.is_empty()),
        (Feature::AttachImage, request.attachments.iter().any(image)),
        (
            Feature::AttachFile,
            request.attachments.iter().any(|attachment| !image(attachment)),
        ),
        (Feature::Effort, request.effort.is_some()),
        (Feature::Schema, request.schema.is_some()),
        (Feature::Mcp, !request.mcp_servers.is_empty()),
        (Feature::Resume, matches!(request.conversation, Conversation::Resume(_))),
        (Feature::Fork, matches!(request.conversation, Conversation::Fork { .. })),
        (Feature::Ephemeral, request.persistence == Persistence::Ephemeral),
        (Feature::Expand, request.prompt_syntax == PromptSyntax::Expand),
        (Feature::MaxRetries, request.patience.max_retries.is_some()),
    ];
    wanted
        .into_iter()
        .filter(|(_, wanted)| *wanted)
        .map(|(feature, _)| feature)
        .collect()
}

fn take_out(request: &mut Request, feature: Feature) {
    let image = |attachment: &Attachment| matches!(attachment.kind, AttachmentKind::Image(_));
    match feature {
        Feature::Model => request.model = None,
        Feature::MaxTurns => request.max_turns = None,
        Feature::System | Feature::SystemReplace => request.system = None,
        Feature::AddDir => request.add_dirs.clear(),
        Feature::AttachImage => request.attachments.retain(|attachment| !image(attachment)),
        Feature::AttachFile => request.attachments.retain(image),
        Feature::Effort => request.effort = None,
        Feature::Schema => request.schema = None,
        Feature::Mcp => request.mcp_servers.clear(),
        Feature::Ephemeral => request.persistence = Persistence::Keep,
        Feature::Expand => request.prompt_syntax = PromptSyntax::Literal,
        Feature::MaxRetries => request.patience.max_retries = None,
        // Errors before they come here, or nothing that a request holds.
        Feature::ReadOnly
        | Feature::Edit
        | Feature::Full
        | Feature::AllowTool
        | Feature::DenyTool
        | Feature::Resume
        | Feature::Fork
        | Feature::Interactive
        | Feature::Streaming
        | Feature::Thinking
        | Feature::Cost => {}
    }
}
