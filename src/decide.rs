//! From what was typed and configured to what will be done: every usage error is found here, before anything is spawned.

pub mod tools;
mod unsupported;
mod values;

pub use values::{asked_by, located, mistakes};

use crate::backend::Backend;
use crate::cli::{ColorArg, CommonArgs, EffortArg, OutputFormat};
use crate::config::{Layers, Origin, Settings};
use crate::error::Failure;
use crate::request::{
    Attachment, AttachmentKind, Conversation, Effort, Patience, Permission, Persistence, Placement, PromptSyntax,
    Request, System,
};
use crate::{directory, locate, mcp};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use values::{asked, bounded};

/// What is decided about a run besides what the backend is asked: limits, output, bookkeeping.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    pub cli_path: Option<PathBuf>,
    pub timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    pub retry_for: Option<Duration>,
    pub identity: Option<String>,
    pub env: BTreeMap<String, String>,
    pub env_clear: bool,
    pub env_pass: Vec<String>,
    pub output_format: OutputFormat,
    pub color: ColorArg,
    pub progress: bool,
    pub verbosity: Verbosity,
    pub marker: Option<String>,
    pub media: bool,
    pub raw_events: bool,
    pub record: Option<PathBuf>,
    pub schema_retries: u32,
    pub keep_transcript: bool,
    pub or_new: bool,
    pub dry_run: bool,
    pub interactive: bool,
    pub strict: bool,
    /// What the user should know before the run.
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    Quiet,
    #[default]
    Normal,
    Verbose,
}

const DEFAULT_MAX_TURNS: u32 = 25;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const DEFAULT_RETRY_FOR: Duration = Duration::from_secs(5 * 60);
/// How long a run waits for another one of the same conversation.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(10 * 60);
const SYSTEM_LIMIT: usize = 4 * 1024 * 1024;
/// What Codex' `-s` takes. Who types that here means to limit the agent, and it would have full rights.
const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];

/// The defaults, for showing them: the code that decides has them by itself.
pub fn default_settings(backend: &str) -> Settings {
    let minutes = |duration: Duration| Some(format!("{}m", duration.as_secs() / 60));
    Settings {
        backend: Some(backend.to_owned()),
        permission: Some(Permission::default().name().to_owned()),
        max_turns: Some(DEFAULT_MAX_TURNS),
        timeout: minutes(DEFAULT_TIMEOUT),
        retry_for: minutes(DEFAULT_RETRY_FOR),
        wait: minutes(DEFAULT_WAIT),
        output_format: Some("text".to_owned()),
        color: Some("auto".to_owned()),
        ..Settings::default()
    }
}

/// The flags as the strongest layer of settings.
pub fn flag_settings(args: &CommonArgs) -> Result<Settings, Failure> {
    let list = |values: &Vec<String>| (!values.is_empty()).then(|| values.clone());
    let paths = |values: &Vec<PathBuf>| (!values.is_empty()).then(|| values.iter().map(|path| typed(path)).collect());
    let pairs = |values: &[String], flag: &str| -> Result<Option<BTreeMap<String, String>>, Failure> {
        let pairs: Result<BTreeMap<String, String>, Failure> =
            values.iter().map(|pair| split_pair(pair, flag)).collect();
        pairs.map(|pairs| (!pairs.is_empty()).then_some(pairs))
    };
    Ok(Settings {
        backend: args.backend.clone(),
        cli_path: args.cli_path.as_deref().map(|path| match locate::is_bare(path) {
            true => path.to_owned(),
            false => typed(path),
        }),
        model: args.model.clone(),
        effort: args.effort.map(|effort| effort_of(effort).name().to_owned()),
        permission: args.permission.clone(),
        allow_tools: list(&args.allow_tool),
        deny_tools: list(&args.deny_tool),
        add_dirs: paths(&args.add_dir),
        system: args.system.clone(),
        system_file: args.system_file.as_deref().map(typed),
        system_replace: args.system_replace.then_some(true),
        identity: args.identity.clone(),
        mcp_config: paths(&args.mcp_config),
        max_turns: args.max_turns,
        timeout: args.timeout.clone(),
        idle_timeout: args.idle_timeout.clone(),
        max_retries: args.max_retries,
        retry_for: args.retry_for.clone(),
        wait: if args.no_wait {
            Some("0".to_owned())
        } else {
            args.wait.clone()
        },
        keep_transcript: args.keep_transcript.then_some(true),
        env: pairs(&args.env, "--env")?,
        env_clear: args.env_clear.then_some(true),
        env_pass: list(&args.env_pass),
        options: pairs(&args.option, "--option")?,
        args: None,
        strict: args.strict.then_some(true),
        output_format: None,
        color: None,
        progress: args.no_progress.then_some(false),
    })
}

/// A path of the command line means what it means to the shell there, wherever the agent works.
fn typed(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn split_pair(pair: &str, flag: &str) -> Result<(String, String), Failure> {
    match pair.split_once('=') {
        Some((key, value)) if !key.is_empty() && !pair.contains('\0') => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("{flag} wants NAME=VALUE, not `{pair}`"))),
    }
}

fn effort_of(effort: EffortArg) -> Effort {
    match effort {
        EffortArg::Minimal => Effort::Minimal,
        EffortArg::Low => Effort::Low,
        EffortArg::Medium => Effort::Medium,
        EffortArg::High => Effort::High,
        EffortArg::Xhigh => Effort::Xhigh,
        EffortArg::Max => Effort::Max,
    }
}

/// The level that the layers come to. A project may only lower what the layers under the flags say; a flag is the
/// user's own will, whatever the project says.
pub fn permission_of(layers: &Layers) -> Result<Permission, Failure> {
    let mut level = Permission::default();
    let mut ceiling = Permission::Full;
    for layer in &layers.0 {
        let Some(name) = &layer.settings.permission else {
            continue;
        };
        let origin = layer.origin_of("permission");
        let asked = values::permission(name).map_err(|failure| located(failure, Some(origin), "permission"))?;
        match layer.origin {
            Origin::Project(_) => ceiling = asked,
            Origin::Flag => return Ok(asked),
            _ => level = asked,
        }
    }
    Ok(level.min(ceiling))
}

/// What the prompt and the conversation are, gathered by the command.
pub struct Given {
    pub prompt: String,
    pub conversation: Conversation,
    /// Whether it was given a name, to be gone on with later.
    pub is_named: bool,
    pub cwd: PathBuf,
    /// Whether this is the first turn of the conversation: then the identity goes before the prompt.
    pub first_turn: bool,
}

/// One run, decided.
pub fn decide(
    args: &CommonArgs,
    layers: &Layers,
    given: Given,
    backend: &dyn Backend,
) -> Result<(Request, RunSettings), Failure> {
    let is_named = given.is_named;
    let mut request = request(args, layers, given)?;
    let strict = layers.strict().copied().unwrap_or(false);
    let mut warnings = unsupported::settle(&mut request, backend, strict)?;
    warnings.extend(tools::hold_to_level(&mut request, layers, backend)?);
    if is_named {
        warnings.extend(unsupported::name(backend, strict)?);
    }
    let settings = settings(args, layers, request.patience.retry_for, warnings)?;
    Ok((request, settings))
}

/// What the backend is asked for, whether it has it or not.
fn request(args: &CommonArgs, layers: &Layers, given: Given) -> Result<Request, Failure> {
    let cwd = given.cwd;
    let prompt = match (layers.identity(), given.first_turn) {
        (Some(identity), true) => format!("{identity}\n\n{}", given.prompt),
        _ => given.prompt,
    };
    let mut raw_args: Vec<std::ffi::OsString> = layers.args().into_iter().flatten().map(Into::into).collect();
    raw_args.extend(args.raw_args.iter().cloned());
    Ok(Request {
        prompt,
        model: layers.model().filter(|model| !model.is_empty()).cloned(),
        max_turns: Some(layers.max_turns().copied().unwrap_or(DEFAULT_MAX_TURNS)).filter(|turns| *turns > 0),
        permission: permission_of(layers)?,
        allow_tools: tools::rules(layers.allow_tools().into_iter().flatten().cloned())
            .map_err(|failure| asked(failure, layers, "allow_tools", "--allow-tool"))?,
        deny_tools: tools::rules(layers.all_denied_tools())
            .map_err(|failure| asked(failure, layers, "deny_tools", "--deny-tool"))?,
        system: system(layers, &cwd)?,
        add_dirs: add_dirs(layers, &cwd)?,
        attachments: args
            .attach
            .iter()
            .map(|path| attachment(typed(path)))
            .collect::<Result<_, _>>()?,
        effort: layers
            .effort()
            .map(|name| configured(layers, "effort", values::effort(name)))
            .transpose()?,
        schema: args.schema.as_deref().map(read_schema).transpose()?,
        mcp_servers: mcp_servers(layers, &cwd)?,
        conversation: given.conversation,
        persistence: match args.ephemeral {
            true => Persistence::Ephemeral,
            false => Persistence::Keep,
        },
        prompt_syntax: match args.expand {
            true => PromptSyntax::Expand,
            false => PromptSyntax::Literal,
        },
        patience: Patience {
            max_retries: layers.max_retries().copied(),
            retry_for: bounded(layers, "retry_for", layers.retry_for(), Some(DEFAULT_RETRY_FOR))?,
        },
        options: layers.merged_map(|settings| settings.options.as_ref()),
        raw_args,
        cwd,
    })
}

/// What we do ourselves.
fn settings(
    args: &CommonArgs,
    layers: &Layers,
    retry_for: Option<Duration>,
    warnings: Vec<String>,
) -> Result<RunSettings, Failure> {
    Ok(RunSettings {
        cli_path: layers.cli_path().cloned(),
        timeout: bounded(layers, "timeout", layers.timeout(), Some(DEFAULT_TIMEOUT))?,
        idle_timeout: bounded(layers, "idle_timeout", layers.idle_timeout(), None)?,
        retry_for,
        identity: layers.identity().cloned(),
        env: layers.merged_map(|settings| settings.env.as_ref()),
        env_clear: layers.env_clear().copied().unwrap_or(false),
        env_pass: layers.env_pass().cloned().unwrap_or_default(),
        output_format: output_format(args, layers)?,
        color: color(args, layers)?,
        progress: layers.progress().copied().unwrap_or(true),
        verbosity: match (args.quiet, args.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        },
        marker: args.marker.clone(),
        media: args.media,
        raw_events: args.raw_events,
        record: args.record.clone(),
        schema_retries: args.schema_retries.unwrap_or(1),
        keep_transcript: layers.keep_transcript().copied().unwrap_or(false),
        or_new: args.or_new,
        dry_run: args.dry_run,
        interactive: args.interactive,
        strict: layers.strict().copied().unwrap_or(false),
        warnings,
    })
}

/// The format that was asked for, before anything else can go wrong: errors are told in it.
pub fn output_format(args: &CommonArgs, layers: &Layers) -> Result<OutputFormat, Failure> {
    match (args.output_format, layers.output_format()) {
        (Some(format), _) => Ok(format),
        (None, Some(name)) => configured(layers, "output_format", values::output_format(name)),
        (None, None) => Ok(OutputFormat::Text),
    }
}

fn color(args: &CommonArgs, layers: &Layers) -> Result<ColorArg, Failure> {
    match (args.color, layers.color()) {
        (Some(color), _) => Ok(color),
        (None, Some(name)) => configured(layers, "color", values::color(name)),
        (None, None) => Ok(ColorArg::Auto),
    }
}

/// What a text came to, or where the text stands that comes to nothing.
fn configured<T>(layers: &Layers, key: &str, value: Result<T, Failure>) -> Result<T, Failure> {
    value.map_err(|failure| located(failure, layers.origin(key), key))
}

fn system(layers: &Layers, cwd: &Path) -> Result<Option<System>, Failure> {
    // The stronger of the two forms wins: a flag with a text beats a file of the configuration, and the other way round.
    let strongest = layers
        .0
        .iter()
        .rev()
        .find(|layer| layer.settings.system.is_some() || layer.settings.system_file.is_some());
    let Some(layer) = strongest else { return Ok(None) };
    let text = match (&layer.settings.system, &layer.settings.system_file) {
        (Some(text), _) if layer.origin == Origin::Flag && SANDBOXES.contains(&text.as_str()) => {
            return Err(
                Failure::usage(format!("-s is the system prompt here, and `{text}` is none"))
                    .hint("for what an agent may do: -P read-only, -P edit or -P full"),
            );
        }
        (Some(text), _) => text.clone(),
        (None, Some(path)) => read_text(&cwd.join(path), "the system prompt")?,
        (None, None) => return Ok(None),
    };
    if text.len() > SYSTEM_LIMIT {
        return Err(Failure::usage(format!(
            "the system prompt has {} bytes, more than {SYSTEM_LIMIT}",
            text.len()
        )));
    }
    let placement = match layers.system_replace() {
        Some(true) => Placement::Replace,
        _ => Placement::Append,
    };
    Ok((!text.is_empty()).then_some(System { text, placement }))
}

fn add_dirs(layers: &Layers, cwd: &Path) -> Result<Vec<PathBuf>, Failure> {
    let dirs = layers.add_dirs().into_iter().flatten();
    dirs.map(|dir| {
        let path = cwd.join(dir);
        directory::absolute(&path).map_err(|error| {
            let asked = asked_by(layers, "add_dirs", "--add-dir");
            Failure::usage(format!("{asked} {}: {error}", path.display()))
        })
    })
    .collect()
}

fn attachment(path: PathBuf) -> Result<Attachment, Failure> {
    let metadata = path
        .metadata()
        .map_err(|error| Failure::usage(format!("--attach {}: {error}", path.display())))?;
    if !metadata.is_file() {
        return Err(Failure::usage(format!("--attach {} is not a file", path.display())));
    }
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    let kind = match extension.as_deref() {
        Some("png") => AttachmentKind::Image("image/png"),
        Some("jpg" | "jpeg") => AttachmentKind::Image("image/jpeg"),
        Some("gif") => AttachmentKind::Image("image/gif"),
        Some("webp") => AttachmentKind::Image("image/webp"),
        _ => AttachmentKind::File,
    };
    Ok(Attachment { path, kind })
}

fn read_schema(path: &Path) -> Result<serde_json::Value, Failure> {
    let text = read_text(path, "the schema")?;
    let schema: serde_json::Value = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("--schema {}: {error}", path.display())).hint("it must be a JSON Schema")
    })?;
    crate::schema::check(&schema).map_err(|why| Failure::usage(format!("--schema {}: {why}", path.display())))?;
    Ok(schema)
}

fn mcp_servers(layers: &Layers, cwd: &Path) -> Result<Vec<crate::request::McpServer>, Failure> {
    let mut servers: Vec<crate::request::McpServer> = Vec::new();
    for path in layers.mcp_config().into_iter().flatten() {
        let path = cwd.join(path);
        for server in mcp::parse(&read_text(&path, "the MCP servers")?, &path)? {
            servers.retain(|other| other.name != server.name);
            servers.push(server);
        }
    }
    Ok(servers)
}

/// A text file that the user named.
pub fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read {what} from {}: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "{} is not UTF-8 text (at byte {})",
            path.display(),
            error.utf8_error().valid_up_to()
        ))
    })
}
