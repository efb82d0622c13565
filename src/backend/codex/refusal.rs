//! Refusals that only stderr tells of: `ERROR codex_core::tools::router: error=…`.

use super::item;
use crate::backend::Output;
use crate::tool::ToolKind;

/// A call that the tool router turned down. Only stderr tells of it.
pub fn tell(error: &str, out: &mut Output<'_>) {
    if let Some(tool) = error.strip_prefix("unsupported call: ") {
        return match item::kind_of(tool) {
            ToolKind::Plan | ToolKind::Other => {
                out.warning(&format!("the agent called a tool that is not there: {tool}"))
            }
            kind => out.denied(tool, kind, Some("this tool is not offered")),
        };
    }
    if error.starts_with("request_user_input is unavailable") {
        return out.warning("the agent wanted to ask a question, and there is nobody to answer it");
    }
    if error.starts_with("patch rejected") {
        return out.denied(item::PATCH, ToolKind::Edit, Some(error));
    }
    if let Some((_, rejected)) = error.split_once("Rejected(\\\"") {
        let reason = rejected.split("\\\")").next().unwrap_or(rejected);
        return out.denied(item::SHELL, ToolKind::Bash, Some(reason));
    }
    if error.starts_with("approval policy is Never") {
        out.denied(item::SHELL, ToolKind::Bash, Some(error));
    }
}
