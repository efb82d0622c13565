//! `agentctl run` and `agentctl resume`: from typed arguments to an exit code.

use super::conversation::{Absent, Branch, Reach, Search, Selected, Selector};
use super::{dry_run, full_rights};
use crate::cli::{CommonArgs, OutputFormat, ResumeArgs, RunArgs};
use crate::config::{Config, Environment, Layer, Layers, Origin};
use crate::decide::{self, Given, RunSettings, Verbosity};
use crate::engine::{self, Job};
use crate::error::Failure;
use crate::exit::Exit;
use crate::outcome;
use crate::prompt::Argument;
use crate::report::{
    self, Harmless, Json, Pace, Progress, Report, Sanitized, Spool, StreamJson, Surroundings, Text, failure_text,
};
use crate::request::{Conversation, Request};
use crate::session::{Store, TranscriptPolicy, Wait, nowhere};
use crate::supervise::SignalPolicy;
use crate::{backend::Backend, catalog::Catalog, directory, prompt};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What the two commands have in common.
struct Typed<'a> {
    common: &'a CommonArgs,
    prompt: Option<Argument<'a>>,
    selector: Selector,
    branch: Branch,
}

pub fn run(args: &RunArgs) -> u8 {
    report::choose_color(args.common.color.unwrap_or_default());
    let selector = match &args.session {
        // Mostly a variable that is not set: strangers must not meet in one conversation because of it.
        Some(name) if name.is_empty() => {
            let failure = Failure::usage("--session: the name is empty").hint("is a variable not set?");
            return complain(&args.common, failure);
        }
        Some(_) if args.common.ephemeral => {
            let failure = Failure::usage("a conversation with a name is kept, and --ephemeral keeps nothing")
                .hint("leave out --session or --ephemeral");
            return complain(&args.common, failure);
        }
        Some(name) => Selector::Named(name.clone()),
        None => Selector::New,
    };
    told(&Typed {
        common: &args.common,
        prompt: argument(args.prompt.as_deref(), &args.common),
        selector,
        branch: Branch::Continue,
    })
}

pub fn resume(args: &ResumeArgs) -> u8 {
    report::choose_color(args.common.color.unwrap_or_default());
    let branch = if args.fork { Branch::Fork } else { Branch::Continue };
    let reach = if args.any_dir {
        Reach::AnyDirectory
    } else {
        Reach::ThisDirectory
    };
    let (selector, prompt) = match (args.last, &args.session, &args.prompt) {
        (true, Some(word), None) if args.common.prompt_text.is_some() => {
            let failure = Failure::usage(format!(
                "with --last, `{word}` is a prompt, and --prompt is a second one"
            ))
            .hint("leave out one of them");
            return complain(&args.common, failure);
        }
        // With --last the only word is the prompt.
        (true, prompt, None) => (Selector::Last(reach), prompt.as_deref()),
        (true, Some(_), Some(extra)) => {
            return complain(
                &args.common,
                Failure::usage(format!("--last takes one prompt, and `{extra}` is a second one"))
                    .hint("quote the prompt"),
            );
        }
        (_, Some(session), prompt) => (Selector::Typed(session.clone()), prompt.as_deref()),
        (_, None, _) => {
            let failure =
                Failure::usage("which conversation?").hint("name one (see `agentctl sessions`), or use --last");
            return complain(&args.common, failure);
        }
    };
    told(&Typed {
        common: &args.common,
        prompt: argument(prompt, &args.common),
        selector,
        branch,
    })
}

/// The prompt of the command line, which has two places for it.
fn argument<'a>(word: Option<&'a str>, common: &'a CommonArgs) -> Option<Argument<'a>> {
    let text = common.prompt_text.as_deref().map(Argument::Text);
    text.or(word.map(Argument::Word))
}

/// Runs, and tells in the asked-for format what kept it from running.
fn told(typed: &Typed<'_>) -> u8 {
    match perform(typed) {
        Ok(exit) => exit,
        Err(failure) => complain(typed.common, failure),
    }
}

/// A failure before the run: an error for people, and a result for programs.
fn complain(args: &CommonArgs, failure: Failure) -> u8 {
    let exit = failure.kind.exit().code();
    report::tell(&failure_text(&failure));
    let mut reporter: Box<dyn Report> = match args.output_format {
        Some(OutputFormat::Json) => Box::new(Json),
        Some(OutputFormat::StreamJson) => Box::new(StreamJson),
        Some(OutputFormat::Text) | None => return exit,
    };
    let (result, _) = outcome::refused(args.backend.as_deref().unwrap_or_default(), failure);
    let mut out = Vec::new();
    reporter.result(&result, &mut out);
    // The exit code tells more than an output that cannot be written.
    let _ = super::print(&out);
    exit
}

fn perform(typed: &Typed<'_>) -> Result<u8, Failure> {
    let args = typed.common;
    if args.marker.as_deref() == Some("") {
        return Err(Failure::usage("--marker: the text is empty").hint("is a variable not set?"));
    }
    if args.ephemeral && args.keep_transcript {
        let failure = Failure::usage("--keep-transcript keeps something, and --ephemeral keeps nothing");
        return Err(failure.hint("leave out one of them"));
    }
    let here = working_directory(args.cwd.as_deref())?;
    let environment = Environment::of_process();
    let config = Config::load(environment.clone(), &here)?;
    let catalog = Catalog::of(&config)?;
    let (layers, configured) = config.layers(args.profile.as_deref(), args.backend.as_deref())?;
    if let Some(name) = &args.backend {
        // A slip is no backend whose conversations are missing.
        catalog.find(name)?;
    }
    let flags = decide::flag_settings(args)?;
    let selected = select(typed, &environment, &here, &configured, &layers, &flags)?;
    let (backend, layers) = with_session(&config, &catalog, args, layers, &configured, &selected)?;
    let mut layers = layers;
    layers.push(Layer::new(flags, Origin::Flag));
    let cwd = own_directory(args, &selected, &here);
    let unread = args.output_format.is_some_and(|format| format != OutputFormat::Text);
    if args.interactive && unread && !args.dry_run {
        return Err(Failure::usage("--interactive has no output of its own").hint("leave --output-format out"));
    }
    let prompt = gathered(typed)?;
    let given = Given {
        prompt,
        conversation: selected.conversation.clone(),
        is_named: matches!(typed.selector, Selector::Named(_)),
        cwd: cwd.clone(),
        first_turn: matches!(selected.conversation, Conversation::Fresh { .. }),
    };
    let (request, mut settings) = decide::decide(args, &layers, given, backend)?;
    report::choose_color(settings.color);
    settings
        .warnings
        .splice(0..0, config.warnings.iter().chain(&selected.warnings).cloned());
    if selected.known && cwd != here {
        settings.warnings.push(format!(
            "the conversation goes on in its own directory, {}",
            cwd.display()
        ));
    }
    if settings.dry_run {
        return dry_run::print(backend, &request, &settings, &environment).map(Exit::code);
    }
    full_rights::note(backend, &request, &layers, &settings, &environment);
    let mcp_configs: Vec<PathBuf> = layers
        .mcp_config()
        .into_iter()
        .flatten()
        .map(|path| cwd.join(path))
        .collect();
    let transcript = if settings.keep_transcript {
        TranscriptPolicy::Keep
    } else {
        TranscriptPolicy::Off
    };
    let keeper = match args.ephemeral {
        true => None,
        false => selected.keeper(&request, settings.identity.as_deref(), &mcp_configs, transcript),
    };
    if settings.interactive {
        return super::interactive::run(backend, &request, &settings, &environment, keeper);
    }
    start(backend, request, &settings, &environment, keeper).map(Exit::code)
}

/// The whole prompt. Only a terminal UI can do without one.
fn gathered(typed: &Typed<'_>) -> Result<String, Failure> {
    let args = typed.common;
    let prompt = match (args.interactive, args.prompt_file.as_deref()) {
        (true, None) => typed.prompt.map(Argument::text).unwrap_or_default().to_owned(),
        (_, file) => prompt::gather(typed.prompt, file)?,
    };
    if prompt.trim().is_empty() && !args.interactive {
        return Err(
            Failure::usage("there is no prompt").hint(match args.raw_args.is_empty() {
                true => "give one as an argument, with --prompt-file, or on standard input",
                false => "what follows `--` goes to the CLI as it is: put the prompt before it",
            }),
        );
    }
    Ok(prompt)
}

fn select(
    typed: &Typed<'_>,
    environment: &Environment,
    here: &Path,
    configured: &str,
    layers: &Layers,
    flags: &crate::config::Settings,
) -> Result<Selected, Failure> {
    let store = environment.state_dir().ok_or_else(nowhere).and_then(Store::open);
    let quiet = typed.common.quiet || !std::io::stderr().is_terminal();
    let wait = wait(flags, layers)?;
    let search = Search {
        store,
        selector: typed.selector.clone(),
        branch: typed.branch,
        // Who only looks neither waits nor leaves anything.
        wait: match typed.common.dry_run {
            true => Wait::Unheld,
            false => wait,
        },
        before_waiting: &|| {
            if !quiet {
                report::tell("waiting for another run of this conversation (--no-wait does not)\n");
            }
        },
        cwd: here,
        backend_flag: typed.common.backend.as_deref(),
        backend: configured,
        absent: match typed.common.or_new {
            true => Absent::Begin,
            false => Absent::Fail,
        },
    };
    if typed.common.ephemeral && typed.selector == Selector::New {
        return Ok(search.ephemeral());
    }
    search.run()
}

fn wait(flags: &crate::config::Settings, layers: &Layers) -> Result<Wait, Failure> {
    match flags.wait.as_ref().or(layers.wait()) {
        None => Ok(Wait::For(decide::DEFAULT_WAIT)),
        Some(text) => match crate::duration::parse(text) {
            Ok(Some(duration)) => Ok(Wait::For(duration)),
            Ok(None) => Ok(Wait::No),
            Err(why) => {
                let asked = match flags.wait {
                    Some(_) => "--wait".to_owned(),
                    None => decide::asked_by(layers, "wait", "--wait"),
                };
                Err(Failure::usage(format!("{asked}: {why}")))
            }
        },
    }
}

/// The backend that the conversation belongs to, and the layers with what it was started with.
fn with_session<'c>(
    config: &Config,
    catalog: &'c Catalog,
    args: &CommonArgs,
    layers: Layers,
    configured: &str,
    selected: &Selected,
) -> Result<(&'c dyn Backend, Layers), Failure> {
    let own = selected.record.as_ref().map(|record| record.backend.clone());
    let name = own.unwrap_or_else(|| configured.to_owned());
    let mut layers = match name == configured {
        true => layers,
        // Another backend's section applies.
        false => config.layers(args.profile.as_deref(), Some(&name))?.0,
    };
    if let Some(layer) = selected.layer() {
        // A profile that was typed is as good as flags, but for those that were typed too.
        let below = layers.0.len() - usize::from(args.profile.is_some());
        let profile = layers.0.get(below).filter(|_| args.backend.is_none());
        let other = profile.and_then(|profile| profile.settings.backend.as_ref());
        if let (Some(profile), Some(other)) = (&args.profile, other.filter(|other| **other != name)) {
            return Err(Failure::usage(format!(
                "the conversation is one of {name}, and the profile `{profile}` is for {other}"
            ))
            .hint("choose another profile, or start a new conversation"));
        }
        layers.0.insert(below, layer);
    }
    let found = catalog.find(&name);
    let backend = found.map_err(|failure| decide::located(failure, layers.origin("backend"), "backend"))?;
    Ok((backend, layers))
}

fn own_directory(args: &CommonArgs, selected: &Selected, here: &Path) -> PathBuf {
    match (&args.cwd, selected.cwd()) {
        (None, Some(own)) => own,
        _ => here.to_owned(),
    }
}

/// The directory to work in: absolute, without symbolic links, and there.
fn working_directory(flag: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = flag.unwrap_or(Path::new("."));
    directory::absolute(path).map_err(|error| match flag {
        Some(_) => Failure::usage(format!("--cwd {}: {error}", path.display())),
        None => Failure::usage(format!("the current directory cannot be worked in: {error}"))
            .hint("it may be gone: change to another, or name one with --cwd"),
    })
}

fn start(
    backend: &dyn Backend,
    request: Request,
    settings: &RunSettings,
    environment: &Environment,
    keeper: Option<engine::Keeper>,
) -> Result<Exit, Failure> {
    let pace = match settings.media || request.schema.is_some() {
        true => Pace::AtTheEnd,
        false => Pace::Streamed,
    };
    let mut progress = progress(backend, settings, pace);
    let surroundings = match progress.shares_the_terminal() {
        true => Surroundings::Progress,
        false => Surroundings::Alone,
    };
    let mut reporter = reporter(settings, pace, surroundings);
    let spool = Spool::stdout();
    let closed = spool.closed();
    let finished = engine::run(Job {
        backend,
        request,
        settings,
        environment,
        keeper,
        report: reporter.as_mut(),
        progress: progress.as_mut(),
        output: Some((spool, closed)),
        callback: None,
        signals: SignalPolicy::Handle,
    });
    Ok(finished.exit)
}

/// The asked-for format; on a terminal without anything that the terminal would obey.
fn reporter(settings: &RunSettings, pace: Pace, surroundings: Surroundings) -> Box<dyn Report> {
    match (settings.output_format, std::io::stdout().is_terminal()) {
        (OutputFormat::Text, false) => Box::new(Text::new(pace, surroundings)),
        (OutputFormat::Text, true) => Box::new(Sanitized::new(Text::new(pace, surroundings), Harmless::Pictured)),
        (OutputFormat::Json, false) => Box::new(Json),
        (OutputFormat::Json, true) => Box::new(Sanitized::new(Json, Harmless::Escaped)),
        (OutputFormat::StreamJson, false) => Box::new(StreamJson),
        (OutputFormat::StreamJson, true) => Box::new(Sanitized::new(StreamJson, Harmless::Escaped)),
    }
}

fn progress(backend: &dyn Backend, settings: &RunSettings, pace: Pace) -> Box<dyn Progress> {
    let stderr = std::io::stderr();
    let answer = match (std::io::stdout().is_terminal(), settings.output_format, pace) {
        (false, OutputFormat::Text, Pace::Streamed) if stdout_is_a_pipe() => Some(report::AnswerPlace::Piped),
        (false, ..) => Some(report::AnswerPlace::Elsewhere),
        (true, OutputFormat::Text, Pace::Streamed) => Some(report::AnswerPlace::HereStreamed),
        (true, OutputFormat::Text | OutputFormat::Json, _) => Some(report::AnswerPlace::HereAtTheEnd),
        // The events tell what there is to tell, line by line.
        (true, OutputFormat::StreamJson, _) => None,
    };
    let voice = report::Voice::stderr();
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let wanted = settings.progress && settings.verbosity != Verbosity::Quiet;
    let (Some(answer), true, true, false) = (answer, wanted, stderr.is_terminal(), dumb) else {
        let audience = match stderr.is_terminal() {
            true => report::Audience::Terminal,
            false => report::Audience::Program,
        };
        let ink = match report::is_colored() {
            true => report::Ink::Colored,
            false => report::Ink::Black,
        };
        return Box::new(report::Plain::new(voice, settings.verbosity, audience, ink));
    };
    let look = report::Look {
        colored: report::is_colored(),
        answer,
        verbosity: settings.verbosity,
    };
    Box::new(report::Terminal::new(backend.name(), look, voice))
}

#[cfg(unix)]
fn stdout_is_a_pipe() -> bool {
    use rustix::fs::{FileType, fstat};
    fstat(std::io::stdout()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

#[cfg(not(unix))]
fn stdout_is_a_pipe() -> bool {
    false
}
