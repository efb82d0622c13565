//! The mock agent's own process: reads a prompt, plays what it says or a recording, remembers its sessions.
//!
//! This is the CLI side. It touches files and sleeps, which backends never do; nothing of `Mock` calls it.

use super::player;
use super::protocol::Line;
use super::script::{self, Step};
use crate::config::Environment;
use crate::error::ErrorKind;
use crate::event::Usage;
use crate::tool::ToolKind;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const NO_SESSION: &str = "no such session: ";
const DEFAULT_MODEL: &str = "mock-1";

#[derive(Debug, Default)]
pub(super) struct Options {
    session_id: String,
    pub(super) resume: Option<String>,
    fork: Option<String>,
    model: Option<String>,
    permission: String,
    allow_tools: Vec<String>,
    deny_tools: Vec<String>,
    ephemeral: bool,
    max_retries: Option<u32>,
    system_file: Option<PathBuf>,
    transcript: Option<PathBuf>,
    /// The part of the transcript that the process before this one played.
    pub(super) played: Option<usize>,
    pub(super) dialect: Option<String>,
    pub(super) pace: f64,
}

/// Runs the agent; the exit code of its process.
pub fn run(args: Vec<OsString>) -> u8 {
    match parse(args).and_then(|options| act(&options)) {
        Ok(code) => code,
        // Whoever read us went away: there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 1,
        Err(error) => {
            let _ = writeln!(io::stderr(), "mock: {error}");
            1
        }
    }
}

fn parse(args: Vec<OsString>) -> io::Result<Options> {
    let mut options = Options::default();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let arg = arg.to_string_lossy().into_owned();
        if arg == "--ephemeral" {
            options.ephemeral = true;
            continue;
        }
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name.to_owned(), OsString::from(value)),
            None => (arg.clone(), args.next().unwrap_or_default()),
        };
        let text = || value.to_string_lossy().into_owned();
        match name.as_str() {
            "--session-id" => options.session_id = text(),
            "--resume" => options.resume = Some(text()),
            "--fork" => options.fork = Some(text()),
            "--model" => options.model = Some(text()),
            "--permission" => options.permission = text(),
            "--allow-tool" => options.allow_tools.push(text()),
            "--deny-tool" => options.deny_tools.push(text()),
            "--max-retries" => options.max_retries = text().parse().ok(),
            "--system-file" => options.system_file = Some(value.into()),
            "--transcript" => options.transcript = Some(value.into()),
            "--played" => options.played = text().parse().ok(),
            "--dialect" => options.dialect = Some(text()),
            "--pace" => options.pace = text().parse().unwrap_or(0.0),
            _ => return Err(io::Error::other(format!("unknown option {arg}"))),
        }
    }
    Ok(options)
}

fn act(options: &Options) -> io::Result<u8> {
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt)?;
    if let Some(path) = &options.transcript {
        return player::play(path, options);
    }
    let memory = Memory::of(options);
    let Some(mut earlier) = memory.recall()? else {
        writeln!(
            io::stderr(),
            "{NO_SESSION}{}",
            options.resume.as_deref().unwrap_or_default()
        )?;
        return Ok(1);
    };
    earlier.push(prompt);
    memory.keep(&earlier)?;
    Turn {
        options,
        earlier: &earlier,
        out: io::stdout().lock(),
        tools: 0,
        words: 0,
    }
    .answer(&memory.session_id)
}

/// The prompts of one session.
struct Memory {
    session_id: String,
    /// Where the earlier prompts are, and where all of them go.
    from: Option<PathBuf>,
    to: Option<PathBuf>,
}

impl Memory {
    fn of(options: &Options) -> Self {
        let folder = Environment::of_process().state_dir().map(|state| state.join("mock"));
        let file = |id: &str| folder.as_ref().map(|folder| folder.join(format!("{id}.json")));
        let session_id = match (&options.fork, &options.resume) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => options.session_id.clone(),
        };
        Self {
            from: options.resume.as_deref().and_then(file),
            to: if options.ephemeral { None } else { file(&session_id) },
            session_id,
        }
    }

    /// The earlier prompts; `None` if the session is not there.
    fn recall(&self) -> io::Result<Option<Vec<String>>> {
        let Some(path) = &self.from else {
            return Ok(Some(Vec::new()));
        };
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).unwrap_or_default())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Remembering is a convenience: a state directory that cannot be written costs the memory, not the answer.
    fn keep(&self, prompts: &[String]) -> io::Result<()> {
        let Some(path) = &self.to else { return Ok(()) };
        let Some(folder) = path.parent() else { return Ok(()) };
        if let Err(error) = keep_in(folder, path, prompts) {
            writeln!(io::stderr(), "mock: not remembered: {error}")?;
        }
        Ok(())
    }
}

fn keep_in(folder: &Path, path: &Path, prompts: &[String]) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if !folder.is_dir() {
        builder.create(folder)?;
        make_private(folder, 0o700)?;
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    make_private(file.path(), 0o600)?;
    serde_json::to_writer(&mut file, prompts)?;
    file.persist(path)?;
    Ok(())
}

/// Private, and ours to use, whatever the umask is.
#[cfg(unix)]
fn make_private(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn make_private(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// One answer.
struct Turn<'a, W: Write> {
    options: &'a Options,
    earlier: &'a [String],
    out: W,
    tools: u32,
    words: u64,
}

impl<W: Write> Turn<'_, W> {
    fn answer(mut self, session_id: &str) -> io::Result<u8> {
        let prompt = self.earlier.last().map(String::as_str).unwrap_or_default();
        let model = self.options.model.as_deref().unwrap_or(DEFAULT_MODEL);
        self.line(Line {
            session_id: Some(session_id.into()),
            model: Some(model.into()),
            ..of("init")
        })?;
        self.line(of("turn"))?;
        let steps = script::parse(prompt);
        for step in &steps {
            if let Some(code) = self.step(step)? {
                return Ok(code);
            }
        }
        if !steps.iter().any(Step::answers) {
            self.say(prompt)?;
        }
        let usage = Usage {
            input_tokens: count_words(prompt),
            output_tokens: self.words,
            ..Usage::default()
        };
        self.line(Line {
            usage: Some(usage.totalled()),
            ..of("done")
        })?;
        Ok(0)
    }

    /// The exit code, if the step ends the run.
    fn step(&mut self, step: &Step) -> io::Result<Option<u8>> {
        match step {
            Step::Say(text) => self.say(text)?,
            Step::Think(text) => self.line(Line {
                text: Some(text.into()),
                ..of("thinking")
            })?,
            Step::Shell(command) => self.tool("shell", ToolKind::Bash, "command", command)?,
            Step::Write(path) => self.tool("write", ToolKind::Write, "path", path)?,
            Step::Read(path) => self.tool("read", ToolKind::Read, "path", path)?,
            Step::Delay(duration) => std::thread::sleep(*duration),
            Step::Retry(count) => {
                for attempt in 1..=(*count).min(self.options.max_retries.unwrap_or(u32::MAX)) {
                    self.line(Line {
                        attempt: Some(attempt),
                        text: Some("overloaded".into()),
                        ..of("retry")
                    })?;
                }
            }
            Step::Big(bytes) => {
                let piece = "0123456789abcdef".repeat(1024);
                let mut left = *bytes;
                while left > 0 {
                    let length = left.min(piece.len());
                    self.line(Line {
                        text: Some(Cow::Borrowed(&piece[..length])),
                        ..of("text")
                    })?;
                    left -= length;
                }
            }
            Step::Recall => {
                let all = self.earlier.join(" | ");
                self.say(&all)?;
            }
            Step::System => {
                let path = self.options.system_file.as_deref().unwrap_or(Path::new("/dev/null"));
                let text = std::fs::read_to_string(path)?;
                self.say(&text)?;
            }
            Step::Empty => {}
            Step::Error(kind) => {
                self.fail(kind)?;
                return Ok(Some(1));
            }
            Step::Exit(code) => return Ok(Some(u8::try_from(*code).unwrap_or(1))),
            Step::Hang => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            Step::Loop => loop {
                self.tool("shell", ToolKind::Bash, "command", "echo looping")?;
                self.line(of("turn"))?;
                std::thread::sleep(Duration::from_millis(5));
            },
        }
        Ok(None)
    }

    /// Fails as it was told to. A slip in the prompt must not pass for the failure that was meant.
    fn fail(&mut self, kind: &str) -> io::Result<()> {
        let (named, message) = match ErrorKind::named(kind) {
            Some(named) => (named, format!("mock failure: {kind}")),
            None => {
                let known = ErrorKind::names().join(", ");
                let message = format!("the mock agent knows no error `{kind}`; the kinds are {known}");
                (ErrorKind::InvalidRequest, message)
            }
        };
        self.line(Line {
            error: Some(named),
            text: Some(message.into()),
            ..of("error")
        })
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.words += count_words(text);
        for word in text.split_inclusive(' ') {
            self.line(Line {
                text: Some(word.into()),
                ..of("text")
            })?;
        }
        Ok(())
    }

    /// Pretends to use a tool, if it may.
    fn tool(&mut self, name: &str, kind: ToolKind, argument: &str, value: &str) -> io::Result<()> {
        self.tools += 1;
        let id = format!("tool-{}", self.tools);
        let input = serde_json::value::to_raw_value(&serde_json::json!({ argument: value }))?;
        self.line(Line {
            id: Some(id.as_str().into()),
            name: Some(name.into()),
            tool: Some(kind),
            input: Some(&input),
            ..of("toolStart")
        })?;
        let permitted = self.permits(name, kind);
        let text = if permitted { "(pretended)" } else { "not permitted" };
        self.line(Line {
            id: Some(id.as_str().into()),
            denied: Some(!permitted),
            text: Some(text.into()),
            ..of("toolEnd")
        })
    }

    fn permits(&self, name: &str, kind: ToolKind) -> bool {
        let listed = |rules: &[String]| rules.iter().any(|rule| rule == kind.name() || rule == name);
        let allowed = self.options.allow_tools.is_empty() || listed(&self.options.allow_tools);
        if !allowed || listed(&self.options.deny_tools) {
            return false;
        }
        match self.options.permission.as_str() {
            "read-only" => matches!(kind, ToolKind::Read | ToolKind::Search),
            "edit" => kind != ToolKind::Bash,
            _ => true,
        }
    }

    fn line(&mut self, line: Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

pub(super) fn of(kind: &'static str) -> Line<'static> {
    Line {
        kind: Cow::Borrowed(kind),
        ..Line::default()
    }
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}
