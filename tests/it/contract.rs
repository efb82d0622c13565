//! Every recording of every backend decodes into the right events and the right result.
//!
//! Walks the registry and `tests/fixtures/<backend>/<case>`; what each case decodes to is the snapshot beside it. A new
//! backend or case needs nothing here. `AGENTCTL_FIXTURE=<text>` limits the walk to cases whose path contains it.

use agentctl::backend::{self, Backend, Command, ExitStatus, Output, Protocol, Tally};
use agentctl::event::Event;
use agentctl::outcome::{self, Ended, Facts};
use agentctl::request::{Continuation, Conversation, Request};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One recorded run.
pub struct Fixture {
    pub path: PathBuf,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit: ExitStatus,
    pub request: Request,
}

pub fn fixtures(backend: &dyn Backend) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(backend.name());
    let mut cases: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("exit").is_file())
        .collect();
    cases.sort();
    cases.into_iter().map(load).collect()
}

fn load(path: PathBuf) -> Fixture {
    let read = |name: &str| std::fs::read(path.join(name)).unwrap_or_default();
    let text = |name: &str| String::from_utf8(read(name)).unwrap().trim().to_owned();
    let exit = text("exit");
    let exit = match exit.strip_prefix("signal ") {
        Some(signal) => ExitStatus {
            code: None,
            signal: Some(signal.parse().unwrap()),
        },
        None => ExitStatus {
            code: Some(exit.parse().unwrap()),
            signal: None,
        },
    };
    let mut request = Request::new("hello", "/home/user/project");
    let resume = text("resume");
    if !resume.is_empty() {
        let carried = text("carried.json");
        request.conversation = Conversation::Resume(Continuation {
            native_id: resume,
            carried: if carried.is_empty() {
                Default::default()
            } else {
                serde_json::from_str(&carried).unwrap()
            },
        });
    }
    Fixture {
        stdout: read("stdout"),
        stderr: read("stderr"),
        exit,
        request,
        path,
    }
}

/// Feeds a recording to a protocol, stderr first: what it tells is known by the time the stream ends.
pub fn replay(protocol: &mut dyn Protocol, fixture: &Fixture) -> (Vec<String>, Tally, Vec<Command>) {
    let mut events = Vec::new();
    let mut sink = |event: &Event<'_>| events.push(serde_json::to_string(event).unwrap());
    let mut tally = Tally::default();
    let mut commands = Vec::new();
    {
        let mut out = Output::new(&mut tally, &mut sink, &mut commands);
        for line in lines(&fixture.stderr) {
            protocol.stderr(line, &mut out);
        }
        for line in lines(&fixture.stdout) {
            protocol.stdout(line, &mut out);
        }
        protocol.finish(fixture.exit, &mut out);
    }
    (events, tally, commands)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn decode(backend: &dyn Backend, fixture: &Fixture) -> String {
    let (events, tally, commands) = replay(backend.protocol(&fixture.request).as_mut(), fixture);
    let ended = if commands.contains(&Command::Stop) {
        Ended::ByProtocol
    } else {
        Ended::ByItself
    };
    let carry = tally.carry.clone();
    let (result, exit) = outcome::settle(Facts {
        backend: backend.name(),
        display_name: backend.display_name(),
        conversation: &fixture.request.conversation,
        persistence: fixture.request.persistence,
        tally,
        ended,
        exit: fixture.exit,
        stderr_tail: &String::from_utf8_lossy(&fixture.stderr),
        max_turns: fixture.request.max_turns,
        duration_ms: 0,
    });
    let mut text = String::new();
    for event in events {
        writeln!(text, "{}", abridge(&event)).unwrap();
    }
    for command in commands.iter().filter(|command| !matches!(command, Command::Write(_))) {
        writeln!(text, "command: {command:?}").unwrap();
    }
    if !carry.is_empty() {
        writeln!(text, "carry: {carry:?}").unwrap();
    }
    writeln!(text, "exit: {} ({exit:?})", exit.code()).unwrap();
    let mut result = serde_json::to_value(result).unwrap();
    if let Some(answer) = result["responseText"].as_str() {
        result["responseText"] = abridge(answer).into();
    }
    writeln!(text, "{}", serde_json::to_string_pretty(&result).unwrap()).unwrap();
    text
}

/// A long text by its two ends and its length, so that a snapshot can be read by a person.
fn abridge(text: &str) -> String {
    let count = text.chars().count();
    if count <= 600 {
        return text.to_owned();
    }
    let head: String = text.chars().take(300).collect();
    let tail: String = text.chars().skip(count - 100).collect();
    format!("{head} …{count} characters… {tail}")
}

#[test]
fn every_recording_decodes_into_its_reviewed_events_and_result() {
    let only = std::env::var("AGENTCTL_FIXTURE").unwrap_or_default();
    for backend in backend::BACKENDS.iter().filter(|backend| backend.name() != "mock") {
        let cases = fixtures(*backend);
        assert!(!cases.is_empty(), "{} has no fixtures", backend.name());
        for fixture in cases.iter().filter(|case| case.path.to_string_lossy().contains(&only)) {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(&fixture.path);
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!("decoded", decode(*backend, fixture)));
        }
    }
}
