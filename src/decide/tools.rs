//! Rules about tools: a list of allowed tools limits what the level has, and never adds to it.

use crate::backend::Backend;
use crate::config::{Layers, Origin};
use crate::error::Failure;
use crate::request::{Permission, Request};
use crate::tool::{ToolKind, ToolRule};

/// The rules that texts stand for.
pub fn rules(texts: impl IntoIterator<Item = String>) -> Result<Vec<ToolRule>, Failure> {
    let rule = |text: String| match text.trim().is_empty() {
        true => Err(Failure::usage("the tool has no name").hint("is a variable not set?")),
        false => Ok(ToolRule::from(text)),
    };
    texts.into_iter().map(rule).collect()
}

/// Holds the allowed tools to the level. A rule that was typed and asks for more is an error; others are left out, with
/// a warning.
pub fn hold_to_level(request: &mut Request, layers: &Layers, backend: &dyn Backend) -> Result<Option<String>, Failure> {
    let mut beyond = Vec::new();
    for rule in &request.allow_tools {
        if let Some(needed) = beyond_level(rule, request, backend)? {
            beyond.push((rule.clone(), needed));
        }
    }
    let Some((_, needed)) = beyond.first() else {
        return Ok(None);
    };
    let origin = layers.origin("allow_tools").cloned().unwrap_or(Origin::Flag);
    if origin == Origin::Flag {
        return Err(refusal(&beyond[0].0, request.permission, *needed));
    }
    let names: Vec<String> = beyond.iter().map(|(rule, _)| rule.to_string()).collect();
    let names = names.join(", ");
    let level = request.permission.name();
    request
        .allow_tools
        .retain(|rule| beyond.iter().all(|(left_out, _)| left_out != rule));
    if request.allow_tools.is_empty() {
        return Err(Failure::usage(format!(
            "no tool is left: {origin} allows {names} alone, and the level {level} does not have that"
        ))
        .hint(format!(
            "allow tools of the level with --allow-tool, or use `--permission {}`",
            needed.name()
        )));
    }
    Ok(Some(format!(
        "{names} of {origin} is left out: the level {level} does not have it"
    )))
}

/// That every allowed tool belongs to the level, also in a request that was made by a program.
pub fn check_level(request: &Request, backend: &dyn Backend) -> Result<(), Failure> {
    for rule in &request.allow_tools {
        if let Some(needed) = beyond_level(rule, request, backend)? {
            return Err(refusal(rule, request.permission, needed));
        }
    }
    Ok(())
}

/// The level that a rule needs, if the request's is too low for it.
fn beyond_level(rule: &ToolRule, request: &Request, backend: &dyn Backend) -> Result<Option<Permission>, Failure> {
    if request.permission == Permission::Full {
        return Ok(None);
    }
    let kind: ToolKind = match rule {
        ToolRule::Canonical(kind) => *kind,
        ToolRule::Native(text) => backend.tool_kind(text, request)?,
    };
    if request.permission.includes(kind) || backend.confines(kind) {
        return Ok(None);
    }
    Ok(Permission::ALL.iter().copied().find(|level| level.includes(kind)))
}

fn refusal(rule: &ToolRule, level: Permission, needed: Permission) -> Failure {
    Failure::usage(format!(
        "--allow-tool {rule}: the level {} does not have it, and a list of tools only limits a level",
        level.name()
    ))
    .hint(format!("leave it out, or use `--permission {}`", needed.name()))
}
