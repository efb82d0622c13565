//! The command line as it was typed: arguments become plain data, and the doc comments are the `--help`. Besides this,
//! only what is made from it (completions, man pages) and the names of its values know clap.

mod advice;
mod foreign;
mod help;

pub use advice::advise;

use crate::complete;
use crate::marker::DEFAULT_MARKER;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter};
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::str::FromStr;

/// One command in front of the coding-agent CLIs: Claude Code, Codex, Gemini CLI, OpenCode and Pi.
#[derive(Debug, Parser)]
#[command(
    name = "agentctl",
    version,
    max_term_width = 110,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = help::ROOT
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

// Scripts start runs by the thousand, and describing commands that were not typed would take most of a start.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Run an agent once, without asking anything
    #[command(after_help = help::RUN)]
    Run(Box<RunArgs>),
    /// Go on with a conversation
    #[command(after_help = help::RESUME)]
    Resume(Box<ResumeArgs>),
    /// Show and tidy the stored conversations
    #[command(after_help = help::SESSIONS)]
    Sessions(SessionsArgs),
    /// Check whether each CLI is usable here: path, version, flags, login
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Show which backends there are and what each can do
    #[command(after_help = help::BACKENDS)]
    Backends(BackendsArgs),
    /// Show where configuration comes from and what it comes to
    #[command(after_help = help::CONFIG)]
    Config(ConfigArgs),
    /// Print a completion script
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the man page, or write one for every command into a directory
    #[command(after_help = help::MAN)]
    Man {
        /// Where to write them; without it, the page of agentctl itself is printed
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Print the JSON Schema of an output
    #[command(after_help = help::SCHEMA)]
    Schema {
        /// Which output
        #[arg(value_enum, default_value_t = SchemaName::Result)]
        of: SchemaName,
    },
    /// Explain a command or a topic: exit-codes, environment, json, mock
    #[command(after_help = help::HELP)]
    Help {
        /// A command, or one of exit-codes, environment, json, mock
        #[arg(value_name = "COMMAND|TOPIC", add = ArgValueCandidates::new(complete::help_topics))]
        topic: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to ask; without it, or with `-`, standard input. Given both, piped input is appended after a blank line
    #[arg(value_name = "PROMPT", allow_hyphen_values = false)]
    pub prompt: Option<String>,
    /// Continue the conversation of this name, or start it
    #[arg(long, value_name = "NAME", help_heading = CONVERSATION, add = ArgValueCompleter::new(complete::session_names))]
    pub session: Option<String>,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// agentctl's key or a unique prefix of it, a name, or the CLI's own id (with --last: the prompt)
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
    pub session: Option<String>,
    /// What to ask; without it, or with `-`, standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// The last conversation of this directory
    #[arg(long, help_heading = CONVERSATION)]
    pub last: bool,
    /// With --last: of any directory
    #[arg(long, requires = "last", help_heading = CONVERSATION)]
    pub any_dir: bool,
    /// Start a new conversation with a copy of this one, which stays as it was
    #[arg(long, help_heading = CONVERSATION)]
    pub fork: bool,
    #[command(flatten)]
    pub common: CommonArgs,
}

const AGENT: &str = "Agent";
const RIGHTS: &str = "Rights";
const INPUT: &str = "Input";
/// What only agentctl itself could do, which is not there while the CLI's own user interface is.
const WITHOUT_A_USER: [&str; 10] = [
    "schema",
    "marker",
    "media",
    "raw_events",
    "record",
    "keep_transcript",
    "max_turns",
    "timeout",
    "idle_timeout",
    "retry_for",
];

const CONVERSATION: &str = "Conversation";
const LIMITS: &str = "Limits";
const PROCESS: &str = "Process";
const OUTPUT: &str = "Output";

// The one flag set of `run` and `resume`. As a doc comment this would take the place of what each of them is for.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Which agent to run [env: AGENT_BACKEND] [default: claude]
    #[arg(short, long, value_name = "NAME", help_heading = AGENT, add = ArgValueCandidates::new(complete::backends))]
    pub backend: Option<String>,
    /// The binary of the selected backend [env: BACKEND_CLI_PATH, or AGENTCTL_<NAME>_PATH for each]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath, help_heading = AGENT)]
    pub cli_path: Option<PathBuf>,
    /// The model, in the backend's own words [env: BACKEND_MODEL] [default: the backend's own]
    #[arg(short, long, value_name = "MODEL", help_heading = AGENT)]
    pub model: Option<String>,
    /// How hard the model should think, mapped to the nearest that the backend has [default: its own]
    #[arg(long, value_name = "LEVEL", value_enum, help_heading = AGENT)]
    pub effort: Option<EffortArg>,
    /// A set of values from the configuration file, as good as flags but for the level of rights that a project leaves [env: AGENTCTL_PROFILE, below the others]
    #[arg(long, value_name = "NAME", help_heading = AGENT, add = ArgValueCandidates::new(complete::profiles))]
    pub profile: Option<String>,
    /// A backend-specific option by name (repeatable); `agentctl backends NAME` lists them
    #[arg(long, value_name = "K=V", help_heading = AGENT, add = ArgValueCandidates::new(complete::options))]
    pub option: Vec<String>,
    /// MCP servers for this run only, as {"mcpServers":{…}}
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = AGENT)]
    pub mcp_config: Vec<PathBuf>,

    /// How much the agent may do at most: read-only, edit, full (ask is reserved) [env: AGENTCTL_PERMISSION] [default: full]
    #[arg(short = 'P', long, value_name = "LEVEL", help_heading = RIGHTS, add = ArgValueCandidates::new(complete::permissions))]
    pub permission: Option<String>,
    /// Limit the agent to this tool of its level (repeatable): bash, read, edit, write, search, fetch, mcp, or the
    /// backend's own name or pattern; it adds nothing to --permission [env: ALLOWED_TOOLS, comma-separated]
    #[arg(long, value_name = "TOOL", help_heading = RIGHTS, add = ArgValueCandidates::new(complete::tools))]
    pub allow_tool: Vec<String>,
    /// Take this tool away (repeatable); it wins over --allow-tool
    #[arg(long, value_name = "TOOL", help_heading = RIGHTS, add = ArgValueCandidates::new(complete::tools))]
    pub deny_tool: Vec<String>,
    /// A further directory that the agent may use (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = RIGHTS)]
    pub add_dir: Vec<PathBuf>,

    /// What to ask, also if it begins with `-`: the form for text that others wrote, as --prompt="$MESSAGE"
    #[arg(long = "prompt", value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["prompt", "prompt_file"], help_heading = INPUT)]
    pub prompt_text: Option<String>,
    /// Read the prompt from a file; `-` is standard input
    #[arg(short = 'f', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = INPUT)]
    pub prompt_file: Option<PathBuf>,
    /// Text appended to the backend's own system prompt
    #[arg(short, long, value_name = "TEXT", help_heading = INPUT)]
    pub system: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "system", help_heading = INPUT)]
    pub system_file: Option<PathBuf>,
    /// The system prompt takes the place of the backend's own
    #[arg(long, help_heading = INPUT)]
    pub system_replace: bool,
    /// Text put before the prompt on the first turn of a conversation only
    #[arg(long, value_name = "TEXT", help_heading = INPUT)]
    pub identity: Option<String>,
    /// An image or a file that goes with the prompt (repeatable)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = INPUT)]
    pub attach: Vec<PathBuf>,
    /// Let the CLI act on `/commands`, `@files` and `$skills` in the prompt
    #[arg(long, help_heading = INPUT)]
    pub expand: bool,

    /// Leave nothing to resume
    #[arg(long, help_heading = CONVERSATION)]
    pub ephemeral: bool,
    /// If the conversation is not there any more, start a new one
    #[arg(long, help_heading = CONVERSATION)]
    pub or_new: bool,
    /// How long to wait for another run of this conversation [default: 10m]
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, default_missing_value = "10m", help_heading = CONVERSATION)]
    pub wait: Option<String>,
    /// Fail at once (exit 75) if the conversation is busy
    #[arg(long, conflicts_with = "wait", help_heading = CONVERSATION)]
    pub no_wait: bool,
    /// Keep this prompt and its answer beside the session record
    #[arg(long, help_heading = CONVERSATION)]
    pub keep_transcript: bool,

    /// Stop after this many model responses; 0 is no limit [env: BACKEND_MAX_TURNS] [default: 25]
    #[arg(long, value_name = "N", value_parser = count::<u32>, allow_negative_numbers = true, help_heading = LIMITS)]
    pub max_turns: Option<u32>,
    /// Most time for the whole run, e.g. 90s, 10m; 0 is none [env: AGENTCTL_TIMEOUT] [default: 30m]
    #[arg(short, long, value_name = "DUR", allow_negative_numbers = true, help_heading = LIMITS)]
    pub timeout: Option<String>,
    /// Most time without any output; 0 is none [default: none]
    #[arg(long, value_name = "DUR", allow_negative_numbers = true, help_heading = LIMITS)]
    pub idle_timeout: Option<String>,
    /// Most retries that the CLI may make by itself when the API fails [default: the CLI's own]
    #[arg(long, value_name = "N", value_parser = count::<u32>, allow_negative_numbers = true, help_heading = LIMITS)]
    pub max_retries: Option<u32>,
    /// Most time that the CLI may spend retrying without progress; 0 is no bound [default: 5m]
    #[arg(long, value_name = "DUR", allow_negative_numbers = true, help_heading = LIMITS)]
    pub retry_for: Option<String>,

    /// Work in this directory; paths of other flags are relative to where you are all the same [default: this one; a conversation that goes on keeps its own]
    #[arg(short = 'C', long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = PROCESS)]
    pub cwd: Option<PathBuf>,
    /// Set a variable for the agent (repeatable)
    #[arg(short, long, value_name = "K=V", help_heading = PROCESS)]
    pub env: Vec<String>,
    /// With --env-clear: pass this variable on (repeatable)
    #[arg(long, value_name = "NAME", value_parser = variable, help_heading = PROCESS)]
    pub env_pass: Vec<String>,
    /// Start the agent with a minimal environment
    #[arg(long, help_heading = PROCESS)]
    pub env_clear: bool,
    /// The CLI's own terminal UI, with the same backend, model, permission and conversation
    #[arg(short, long, help_heading = PROCESS, conflicts_with_all = WITHOUT_A_USER)]
    pub interactive: bool,
    /// Print the exact command and spawn nothing
    #[arg(long, help_heading = PROCESS)]
    pub dry_run: bool,
    /// An option that the backend cannot honour is an error, not a warning
    #[arg(long, help_heading = PROCESS)]
    pub strict: bool,

    /// text, json (one result object) or stream-json (events, the last one the result) [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum, help_heading = OUTPUT)]
    pub output_format: Option<OutputFormat>,
    /// The final answer must be JSON that fits this JSON Schema; as text it is printed alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub schema: Option<PathBuf>,
    /// How often to ask again when the answer does not fit the schema [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>, allow_negative_numbers = true, requires = "schema", help_heading = OUTPUT)]
    pub schema_retries: Option<u32>,
    /// Look for this text in the answer [default when bare: ORCHESTRA_COMPLETE]
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = DEFAULT_MARKER, help_heading = OUTPUT)]
    pub marker: Option<String>,
    /// Take `MEDIA:` tokens out of the answer into `media`
    #[arg(long, help_heading = OUTPUT)]
    pub media: bool,
    /// With stream-json: also every line of the CLI as it came
    #[arg(long, help_heading = OUTPUT)]
    pub raw_events: bool,
    /// Keep the raw exchange in a file that `-b mock --option transcript=FILE` plays back
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = OUTPUT)]
    pub record: Option<PathBuf>,
    /// Show the command and each raw line on stderr, secrets masked
    #[arg(short, long, help_heading = OUTPUT)]
    pub verbose: bool,
    /// Nothing on stderr but errors
    #[arg(short, long, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub quiet: bool,
    /// Colour on stderr: auto, always, never [env: NO_COLOR, CLICOLOR_FORCE] [default: auto]
    #[arg(long, value_name = "WHEN", value_enum, help_heading = OUTPUT)]
    pub color: Option<ColorArg>,
    /// No spinner and no closing line
    #[arg(long, help_heading = OUTPUT)]
    pub no_progress: bool,

    /// Raw arguments for the CLI, as the last resort
    #[arg(last = true, value_name = "BACKEND_ARGS")]
    pub raw_args: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    #[default]
    Text,
    Json,
    StreamJson,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EffortArg {
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    Event,
    Result,
    // `sessions list --json`
    Sessions,
    // `sessions show --json`
    Session,
    // `sessions prune --json`
    Prune,
    Doctor,
    // `backends --json`
    Backends,
    // `backends NAME --json`
    Backend,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    #[command(flatten)]
    pub list: SessionsListArgs,
}

#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// List conversations, the last used first
    #[command(after_help = help::SESSIONS_LIST)]
    List(SessionsListArgs),
    /// Show a conversation, with the command that goes on with it
    #[command(after_help = help::SESSIONS_SHOW)]
    Show {
        /// By key, unique beginning of a key, native id or name
        #[arg(add = ArgValueCompleter::new(complete::sessions))]
        session: String,
        /// JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Forget conversations
    #[command(after_help = help::SESSIONS_RM)]
    Rm {
        /// By key, unique beginning of a key, native id or name
        #[arg(required = true, value_name = "SESSION", add = ArgValueCompleter::new(complete::sessions))]
        sessions: Vec<String>,
    },
    /// Forget old conversations
    #[command(after_help = help::SESSIONS_PRUNE)]
    Prune {
        /// Not used for this long, e.g. 30d; with 0 all that are not in use
        #[arg(long, value_name = "DUR")]
        older_than: Option<String>,
        /// All but this many of the most recently used
        #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
        keep: Option<usize>,
        /// Those whose record cannot be read
        #[arg(long)]
        damaged: bool,
        /// Say what would go, and keep it
        #[arg(long)]
        dry_run: bool,
        /// JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Print where conversations are stored
    #[command(after_help = help::SESSIONS_PATH)]
    Path,
}

#[derive(Debug, Default, Args)]
pub struct SessionsListArgs {
    /// One JSON array instead of a table
    #[arg(long)]
    pub json: bool,
    /// Only those of this backend [default: of every one]
    #[arg(short, long, value_name = "NAME", add = ArgValueCandidates::new(complete::backends))]
    pub backend: Option<String>,
    /// Only those with this in their name
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::session_names))]
    pub name: Option<String>,
    /// Only those of this directory [default: of every one]
    #[arg(short = 'C', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    /// At most this many [default: all]
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    pub limit: Option<usize>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The backends to check [default: all; usable if at least the default backend is]
    #[arg(value_name = "BACKEND", add = ArgValueCandidates::new(complete::backends))]
    pub backends: Vec<String>,
    /// Also ask each for one tiny answer
    #[arg(long)]
    pub live: bool,
    /// JSON for programs
    #[arg(long)]
    pub json: bool,
    /// Most time for each check
    #[arg(long, value_name = "DUR", default_value = "5s")]
    pub cap: String,
}

#[derive(Debug, Args)]
pub struct BackendsArgs {
    /// Only this one, with notes and its own options
    #[arg(add = ArgValueCandidates::new(complete::backends))]
    pub name: Option<String>,
    /// JSON for programs
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: Option<ConfigAction>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum ConfigAction {
    /// Print where the configuration files are
    #[command(after_help = help::CONFIG_PATH)]
    Path,
    /// Print every setting with its origin
    #[command(after_help = help::CONFIG_SHOW)]
    Show {
        /// As a profile would have it
        #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::profiles))]
        profile: Option<String>,
        /// JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Write a commented configuration file, unless there is one
    #[command(after_help = help::CONFIG_INIT)]
    Init,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that will load the script
    #[arg(value_enum)]
    pub shell: ShellArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Elvish,
}

/// A number of turns or the like. Rust's own words for what is wrong with one are about digits in strings.
fn count<Number: FromStr>(typed: &str) -> Result<Number, &'static str> {
    let is_number = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    typed.parse().map_err(|_| match is_number {
        true => "it is too large",
        false => "it has to be a whole number, e.g. 25",
    })
}

/// The colour that was asked for on a command line that may be wrong otherwise.
pub fn typed_color(args: &[OsString]) -> Option<ColorArg> {
    let words = args.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    let words: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let joined = words.iter().find_map(|word| word.strip_prefix("--color="));
    let apart = || words.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1]);
    ColorArg::from_str(joined.or_else(apart)?, false).ok()
}

/// The name of a variable.
fn variable(typed: &str) -> Result<String, &'static str> {
    match typed.contains('=') {
        true => Err("it has to be a name alone; --env NAME=VALUE sets a variable"),
        false => Ok(typed.to_owned()),
    }
}

/// What was typed, or why it cannot be understood; help and version are such errors too.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    // Freeing a thousand small pieces takes time, and the process ends soon.
    let mut command = ManuallyDrop::new(Cli::command());
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The whole command line with every command described: for completions, man pages and tests.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}
