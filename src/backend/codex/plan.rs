//! The command line of `codex exec`, and of Codex' own terminal UI.
//!
//! Rights are given on every run, the first and the later ones: a thread does not keep them. Every flag stands before
//! `resume`, which takes few of them itself.

use super::options::Options;
use super::tools::{self, Mcp, Offer, WebSearch};
use super::{mcp, skill, system, telemetry, toml};
use crate::backend::{Launch, Plan, Site, Stdin, Stop};
use crate::error::Failure;
use crate::request::{AttachmentKind, Conversation, Effort, Permission, Persistence, PromptSyntax, Request};
use std::path::Path;

/// What Codex takes as one prompt.
const PROMPT_LIMIT: usize = 1_048_576;

pub fn headless(request: &Request, site: &Site) -> Result<Plan, Failure> {
    let offer = tools::offer(request)?;
    let options = Options::new(&request.options, offer.level)?;
    let mut warnings = Vec::new();
    let mut launch = Launch::new(site, &request.cwd);
    launch.stop = Stop::Interrupt;
    launch.args(["exec", "--json", "--skip-git-repo-check", "--color", "never", "-C"]);
    launch.arg(&request.cwd);
    common(request, &options, &mut launch);
    config(&mut launch, "features.unbounded_connection_retries=false");
    rights(request, site, &offer, &options, Surface::Exec, &mut launch)?;
    match offer.mcp {
        Mcp::Offered => mcp::give(&request.mcp_servers, site, &mut launch)?,
        Mcp::Forbidden if request.mcp_servers.is_empty() => {}
        Mcp::Forbidden => {
            warnings.push("the servers of --mcp-config are left out: `mcp` is not among the allowed tools".to_owned())
        }
    }
    let said = system::give(request, site, &mut launch);
    warnings.extend(said.warning);
    attach(request, &mut launch)?;
    if let Some(schema) = &request.schema {
        let path = site.scratch("schema.json");
        launch.arg("--output-schema").arg(&path).file(path, schema.to_string());
    }
    if request.persistence == Persistence::Ephemeral {
        launch.arg("--ephemeral");
    }
    let mut prompt = said.preamble.unwrap_or_default();
    prompt.push_str(&request.prompt);
    name_files(request, &mut prompt);
    check_length(&prompt)?;
    literal(request, &mut launch);
    telemetry(site, &mut launch);
    launch.args(request.raw_args.iter().cloned());
    conversation(request, &mut launch)?;
    launch.arg("-");
    launch.stdin = Stdin::Bytes(prompt.into_bytes());
    Ok(Plan { launch, warnings })
}

pub fn interactive(request: &Request, site: &Site) -> Result<Plan, Failure> {
    if request.persistence == Persistence::Ephemeral {
        return Err(
            Failure::usage("Codex's terminal UI keeps its conversations, whatever it is told")
                .hint("leave out --ephemeral, or -i"),
        );
    }
    let offer = tools::offer(request)?;
    let options = Options::new(&request.options, offer.level)?;
    let mut warnings = Vec::new();
    let mut launch = Launch::new(site, &request.cwd);
    launch.stop = Stop::Interrupt;
    launch.args(["--no-daemon", "-C"]).arg(&request.cwd);
    common(request, &options, &mut launch);
    rights(request, site, &offer, &options, Surface::Terminal, &mut launch)?;
    if offer.level != Permission::Full {
        launch.args(["-a", "never"]);
        warnings.push("your own rules files of Codex still apply in its terminal UI".to_owned());
    }
    if offer.mcp == Mcp::Offered {
        mcp::give(&request.mcp_servers, site, &mut launch)?;
    }
    let said = system::give(request, site, &mut launch);
    warnings.extend(said.warning);
    attach(request, &mut launch)?;
    literal(request, &mut launch);
    launch.args(request.raw_args.iter().cloned());
    conversation(request, &mut launch)?;
    let mut prompt = said.preamble.unwrap_or_default();
    prompt.push_str(&request.prompt);
    if !prompt.is_empty() {
        name_files(request, &mut prompt);
        if prompt.len() > system::ARGUMENT_LIMIT || prompt.contains('\0') {
            return Err(Failure::usage("the prompt is too long for Codex' terminal UI").hint("type it there instead"));
        }
        launch.args(["--".to_owned(), prompt]);
    }
    launch.stdin = Stdin::Inherited;
    Ok(Plan { launch, warnings })
}

/// Which of Codex' two faces a command is for. They take different flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surface {
    Exec,
    Terminal,
}

fn config(launch: &mut Launch, setting: impl Into<String>) {
    launch.args(["-c".to_owned(), setting.into()]);
}

fn common(request: &Request, options: &Options<'_>, launch: &mut Launch) {
    if let Some(model) = &request.model {
        launch.args(["-m", model]);
    }
    if let Some(effort) = request.effort {
        config(
            launch,
            format!("model_reasoning_effort={}", toml::string(effort_name(effort))),
        );
    }
    options.give(launch);
    config(launch, "features.plugins=false");
    config(launch, "check_for_update_on_startup=false");
}

/// Codex has all of ours by the same names.
fn effort_name(effort: Effort) -> &'static str {
    effort.name()
}

/// What the agent may do, given so that neither the user's configuration nor the project's can widen it.
fn rights(
    request: &Request,
    site: &Site,
    offer: &Offer,
    options: &Options<'_>,
    surface: Surface,
    launch: &mut Launch,
) -> Result<(), Failure> {
    match offer.level {
        Permission::Full => {
            launch.arg("--dangerously-bypass-approvals-and-sandbox");
        }
        Permission::Edit => {
            launch.args(["-s", "workspace-write"]);
            for directory in &request.add_dirs {
                launch.arg("--add-dir").arg(directory);
            }
            // The user's own additions to this sandbox are rights that nobody asked for. Temporary files go into a
            // directory of this run.
            config(launch, "sandbox_workspace_write.network_access=false");
            config(launch, "sandbox_workspace_write.writable_roots=[]");
            config(launch, "sandbox_workspace_write.exclude_slash_tmp=true");
            config(launch, "sandbox_workspace_write.exclude_tmpdir_env_var=false");
            let temporary = site.scratch("tmp");
            launch.file(temporary.join(".keep"), "").env("TMPDIR", temporary);
        }
        Permission::ReadOnly => {
            launch.args(["-s", "read-only"]);
        }
    }
    if offer.level != Permission::Full {
        if surface == Surface::Exec {
            // A rule that allows a command lets it out of the sandbox.
            launch.arg("--ignore-rules");
        }
        if options.get("trust-project") != Some("yes") {
            config(launch, untrusted(&request.cwd)?);
        }
    }
    for feature in &offer.without {
        // Unlike `-c features.X=false`, this fails if there is no such feature any more.
        launch.args(["--disable", feature]);
    }
    let web_search = match offer.web_search {
        WebSearch::Disabled => Some("disabled"),
        WebSearch::AsConfigured => options.get("web-search"),
    };
    if let Some(web_search) = web_search {
        config(launch, format!("web_search={}", toml::string(web_search)));
    }
    Ok(())
}

/// A trusted project's `.codex` folder can start programs outside the sandbox (MCP servers, hooks): here no directory
/// from the working one upwards is trusted, whatever the user's configuration says.
fn untrusted(cwd: &Path) -> Result<String, Failure> {
    let mut entries = Vec::new();
    for directory in cwd.ancestors() {
        let Some(directory) = directory.to_str() else {
            return Err(Failure::usage(format!(
                "Codex cannot be confined in a directory whose name is not UTF-8: {}",
                cwd.display()
            )));
        };
        entries.push((directory, toml::table([("trust_level", toml::string("untrusted"))])));
    }
    Ok(format!("projects={}", toml::table(entries)))
}

fn attach(request: &Request, launch: &mut Launch) -> Result<(), Failure> {
    for attachment in &request.attachments {
        if matches!(attachment.kind, AttachmentKind::File) {
            continue;
        }
        let path = attachment.path.to_string_lossy();
        if path.contains(',') {
            return Err(
                Failure::usage(format!("Codex takes no image whose path has a comma: {path}"))
                    .hint("rename or copy the file"),
            );
        }
        let mut argument = std::ffi::OsString::from("--image=");
        argument.push(&attachment.path);
        launch.arg(argument);
    }
    Ok(())
}

/// Files are named in the prompt: Codex reads them itself.
fn name_files(request: &Request, prompt: &mut String) {
    for attachment in &request.attachments {
        if matches!(attachment.kind, AttachmentKind::File) {
            prompt.push_str(&format!("\n\nAttached file: {}", attachment.path.display()));
        }
    }
}

fn check_length(prompt: &str) -> Result<(), Failure> {
    let length = if prompt.len() > PROMPT_LIMIT {
        prompt.chars().count()
    } else {
        0
    };
    if length <= PROMPT_LIMIT {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the prompt has {length} characters, and Codex takes {PROMPT_LIMIT} at most"
    ))
    .hint("put the text into a file and let the agent read it"))
}

fn literal(request: &Request, launch: &mut Launch) {
    if request.prompt_syntax == PromptSyntax::Literal
        && let Some(setting) = skill::switched_off(&request.prompt)
    {
        config(launch, setting);
    }
}

/// Asks for the log lines that the protocol reads, and hides that from the agent's own commands.
fn telemetry(site: &Site, launch: &mut Launch) {
    launch.env("RUST_LOG", telemetry::FILTER);
    let own = site.env("RUST_LOG").unwrap_or_default();
    config(
        launch,
        format!("shell_environment_policy.set.RUST_LOG={}", toml::string(own)),
    );
}

fn conversation(request: &Request, launch: &mut Launch) -> Result<(), Failure> {
    let (verb, thread) = match &request.conversation {
        Conversation::Fresh { .. } => return Ok(()),
        Conversation::Resume(thread) => ("resume", thread),
        Conversation::Fork { of, .. } => ("fork", of),
    };
    // Anything else would be taken for a name, and quietly start a new thread if there is none.
    let id = thread.native_id.as_str();
    if id.len() != 36 || uuid::Uuid::try_parse(id).is_err() {
        return Err(
            Failure::usage(format!("`{id}` is no session id of Codex: those are UUIDs"))
                .hint("see `agentctl sessions list`"),
        );
    }
    // With --ephemeral it goes on all the same, and adds the turn to the user's thread.
    request.must_be_stored("Codex")?;
    launch.args([verb, id]);
    Ok(())
}
