//! Asking a CLI the questions of its checkup, side by side, each in a home of its own and with a cap.

use crate::backend::{Learned, Question, Reply, Topic};
use crate::supervise::{self, Probe, ProbeEnd, Scratch};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// The most that is kept of an answer.
const OUTPUT_CAP: usize = 1024 * 1024;

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Learned(Learned),
    /// It did not answer in time.
    Silent,
    /// It printed without end.
    Endless,
    /// It answered something that means nothing to us: the exit code and the beginning of what it said.
    Unclear {
        code: Option<i32>,
        said: String,
    },
    /// It could not be started.
    NotStarted(String),
}

/// Asks one question.
pub async fn ask(
    program: &Path,
    question: &Question,
    env: &BTreeMap<OsString, OsString>,
    scratch: &Scratch,
    cap: Duration,
) -> (Topic, Answer) {
    let answer = match prepare(question, scratch) {
        Err(error) => Answer::NotStarted(format!("no private home for it could be made: {error}")),
        Ok(()) => {
            let probe = Probe {
                program,
                args: &question.args,
                env: &private(env, question),
                cwd: &question.home,
                timeout: cap,
                output_cap: OUTPUT_CAP,
            };
            match supervise::probe(probe).await {
                Err(error) => Answer::NotStarted(error.failure().message),
                Ok(output) => match output.end {
                    ProbeEnd::TimedOut => Answer::Silent,
                    ProbeEnd::Capped => Answer::Endless,
                    ProbeEnd::Complete => understood(question, &output),
                },
            }
        }
    };
    (question.topic, answer)
}

fn understood(question: &Question, output: &supervise::ProbeOutput) -> Answer {
    let reply = Reply {
        stdout: &output.stdout,
        stderr: &output.stderr,
        code: output.exit.code,
    };
    match (question.read)(&reply) {
        Some(learned) => Answer::Learned(learned),
        None => Answer::Unclear {
            code: output.exit.code,
            said: beginning(&[&output.stderr, &output.stdout]),
        },
    }
}

/// The first line that says anything, shortened.
fn beginning(texts: &[&str]) -> String {
    let line = texts
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim)
        .find(|line| !line.is_empty());
    let printable = line
        .unwrap_or_default()
        .chars()
        .filter(|character| !character.is_control());
    printable.take(120).collect()
}

fn prepare(question: &Question, scratch: &Scratch) -> std::io::Result<()> {
    std::fs::create_dir_all(&question.home)?;
    scratch.fill(&question.files)
}

/// The environment with home and the conventional directories in the scratch directory.
fn private(env: &BTreeMap<OsString, OsString>, question: &Question) -> BTreeMap<OsString, OsString> {
    let mut env = env.clone();
    for name in [
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
    ] {
        env.remove(std::ffi::OsStr::new(name));
    }
    let home = question.home.clone().into_os_string();
    env.insert("HOME".into(), home.clone());
    env.insert("TMPDIR".into(), home.clone());
    if cfg!(windows) {
        for name in ["USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"] {
            env.insert(name.into(), home.clone());
        }
    }
    env.insert("NO_COLOR".into(), "1".into());
    for (name, value) in &question.env {
        match value {
            Some(value) => env.insert(name.clone(), value.clone()),
            None => env.remove(name),
        };
    }
    env
}
