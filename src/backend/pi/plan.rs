//! The command line of Pi: what each option of a request comes to. Pure; what is not a flag goes into the scratch
//! directory.

use super::rights::{self, Surface};
use crate::backend::{Launch, Plan, Site, Stdin, Stop, options};
use crate::error::Failure;
use crate::request::{Conversation, Effort, Persistence, Placement, PromptSyntax, Request};
use std::ffi::OsString;
use std::path::PathBuf;

/// The options that `--option` takes.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "provider",
        "the provider of the model, where `--model` does not name it",
    ),
    (
        "thinking",
        "Pi's own thinking level: off, minimal, low, medium, high, xhigh",
    ),
    ("skills", "`off`: no skills"),
    ("context-files", "`off`: no AGENTS.md and CLAUDE.md"),
];

const THINKING: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];

/// Longest prompt that fits one argument on every platform we know.
const ARGUMENT_LIMIT: usize = 128 * 1024 - 1;

/// Keeps Pi from taking a prompt for a command. Pi trims spaces off, so it must be something else that is not seen.
const INVISIBLE: char = '\u{200b}';

pub fn headless(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut plan = common(request, site, Surface::Headless)?;
    plan.launch.stdin = Stdin::Bytes(stdin_prompt(request).into_bytes());
    plan.launch.args.extend(request.raw_args.iter().cloned());
    Ok(plan)
}

pub fn interactive(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let mut plan = common(request, site, Surface::Terminal)?;
    plan.launch.stdin = Stdin::Inherited;
    plan.launch.args.extend(request.raw_args.iter().cloned());
    if request.prompt.len() > ARGUMENT_LIMIT {
        return Err(Failure::usage("this prompt is too long for Pi's terminal UI")
            .hint("leave out -i, or start without a prompt"));
    }
    if !request.prompt.trim().is_empty() {
        // Here a space is kept, and it is all that tells a prompt from a flag, a file and a command.
        let clashes = request.prompt.starts_with(['-', '@'])
            || (request.prompt_syntax == PromptSyntax::Literal && request.prompt.starts_with('/'));
        let prompt = if clashes {
            format!(" {}", request.prompt)
        } else {
            request.prompt.clone()
        };
        plan.launch.arg(prompt);
    }
    Ok(plan)
}

fn common(request: &Request, site: &Site, surface: Surface) -> Result<Plan, Failure> {
    options::check("pi", &request.options, OPTIONS)?;
    let mut launch = Launch::new(site, &request.cwd);
    let mut warnings = Vec::new();
    launch.stop = Stop::Terminate;
    if surface == Surface::Headless {
        launch.args(["--mode", "json"]);
    }
    model(request, &mut launch, &mut warnings)?;
    conversation(request, &mut launch)?;
    rights::limit(request, site, surface, &mut launch, &mut warnings)?;
    system(request, site, &mut launch);
    for attachment in &request.attachments {
        let mut argument = OsString::from("@");
        argument.push(&attachment.path);
        launch.arg(argument);
    }
    launch.env("PI_TELEMETRY", "0");
    Ok(Plan { launch, warnings })
}

fn model(request: &Request, launch: &mut Launch, warnings: &mut Vec<String>) -> Result<(), Failure> {
    if let Some(provider) = request.options.get("provider") {
        launch.args(["--provider", provider]);
    }
    if let Some(model) = &request.model {
        launch.args(["--model", model]);
    }
    let effort = request.effort.map(|effort| match effort {
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Xhigh | Effort::Max => "xhigh",
    });
    if request.effort == Some(Effort::Max) {
        warnings.push("Pi's highest thinking level is xhigh".to_owned());
    }
    let thinking = request.options.get("thinking").map(String::as_str);
    if let Some(level) = thinking.filter(|level| !THINKING.contains(level)) {
        return Err(Failure::usage(format!("Pi has no thinking level `{level}`"))
            .hint(format!("one of {}", THINKING.join(", "))));
    }
    if let Some(level) = thinking.or(effort) {
        launch.args(["--thinking", level]);
    }
    for (option, flag) in [("skills", "-ns"), ("context-files", "-nc")] {
        match request.options.get(option).map(String::as_str) {
            Some("off") => {
                launch.arg(flag);
            }
            None | Some("on") => {}
            Some(value) => {
                return Err(
                    Failure::usage(format!("`{value}` is no value of the option `{option}`")).hint("on or off"),
                );
            }
        }
    }
    Ok(())
}

fn conversation(request: &Request, launch: &mut Launch) -> Result<(), Failure> {
    let id = request
        .conversation
        .continuation()
        .map(|continuation| continuation.native_id.as_str());
    if let Some(id) = id.filter(|id| !is_session_id(id)) {
        return Err(Failure::usage(format!("`{id}` is no session id of Pi"))
            .hint("it looks like 01a1ec15-723e-782a-a787-b02431decc9c; see `agentctl sessions list`"));
    }
    match &request.conversation {
        Conversation::Fresh { .. } => {
            if request.persistence == Persistence::Ephemeral {
                launch.arg("--no-session");
            }
        }
        Conversation::Resume(continuation) => {
            request.must_be_stored("Pi")?;
            launch.args(["--session", &continuation.native_id]);
        }
        Conversation::Fork { of, .. } => {
            request.must_be_stored("Pi")?;
            launch.args(["--fork", &of.native_id]);
        }
    }
    Ok(())
}

/// Pi takes a path where it takes an id, and overwrites the file that it names: only plain ids get through.
fn is_session_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && id.bytes().all(plain) && !id.starts_with(['-', '.']) && !id.ends_with(".jsonl")
}

fn system(request: &Request, site: &Site, launch: &mut Launch) {
    let mut appended = Vec::new();
    if let Some(system) = request.system.as_ref().filter(|system| !system.text.is_empty()) {
        match system.placement {
            Placement::Append => appended.push(system.text.clone()),
            Placement::Replace => prompt_file("--system-prompt", site.scratch("system.md"), &system.text, launch),
        }
    }
    if !request.add_dirs.is_empty() {
        let list: Vec<String> = request
            .add_dirs
            .iter()
            .map(|dir| format!("- {}", dir.display()))
            .collect();
        appended.push(format!(
            "Besides the working directory you may use these directories:\n{}",
            list.join("\n")
        ));
    }
    if !appended.is_empty() {
        prompt_file(
            "--append-system-prompt",
            site.scratch("append.md"),
            &appended.join("\n\n"),
            launch,
        );
    }
}

fn prompt_file(flag: &str, path: PathBuf, text: &str, launch: &mut Launch) {
    launch.arg(flag).arg(path.as_path());
    launch.file(path, text);
}

/// The prompt as it goes to standard input. There Pi expands templates (off by `-np`), the commands of extensions (off
/// by `-ne`) and skills.
fn stdin_prompt(request: &Request) -> String {
    let trimmed = request
        .prompt
        .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let skill = trimmed.starts_with("/skill:") && request.prompt_syntax == PromptSyntax::Literal;
    if skill {
        format!("{INVISIBLE}{trimmed}")
    } else {
        request.prompt.clone()
    }
}

#[cfg(test)]
mod tests;
