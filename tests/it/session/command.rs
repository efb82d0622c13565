//! `agentctl sessions` over plain arguments: text for people, JSON for programs, warnings beside.

use super::{Fixture, at};
use agentctl::command::sessions::{
    Color, Format, ListArguments, Look, PruneArguments, RemoveArguments, SessionsCommand, ShowArguments, Streams, run,
};
use agentctl::error::{ErrorKind, Failure};
use agentctl::event::StopReason;
use agentctl::exit::Exit;
use agentctl::session::{DamagedPolicy, Outcome, PruneMode};
use serde_json::Value;
use std::time::Duration;

struct Ran {
    result: Result<Exit, Failure>,
    out: String,
    err: String,
}

fn run_at(fixture: &Fixture, seconds: i64, command: SessionsCommand) -> Ran {
    let look = Look {
        now: at(seconds),
        home: Some("/home/somebody".into()),
        color: Color::Plain,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams = Streams {
        out: &mut out,
        err: &mut err,
    };
    let result = run(fixture.path(), &command, &look, &mut streams);
    Ran {
        result,
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

fn list(format: Format) -> ListArguments {
    ListArguments {
        format,
        ..ListArguments::default()
    }
}

#[test]
fn the_list_is_a_table_with_the_newest_first() {
    let fixture = Fixture::new();
    fixture.put(0, |record| {
        *record = super::record(super::key("aaaabbbbcccc"), 0);
        record.name = Some("two\nlines \u{1b}[31m".to_owned());
        record.cwd = "/home/somebody/project".into();
        record.model = Some("big-model".to_owned());
        record.outcome = Some(Outcome {
            stop_reason: StopReason::Error,
            error: Some(ErrorKind::RateLimit),
        });
    });
    fixture.put(3600, |record| {
        *record = super::record(super::key("bbbbccccdddd"), 3600);
        record.cwd = "/home/somebody".into();
        record.outcome = Some(Outcome {
            stop_reason: StopReason::Completed,
            error: None,
        });
    });
    fixture.put(7170, |record| *record = super::record(super::key("ccccddddeeee"), 7170));
    let ran = run_at(&fixture, 7200, SessionsCommand::List(list(Format::Text)));
    let expected = "\
KEY       BACKEND  USED     RUNS  RESULT      MODEL      DIRECTORY  NAME
ccccdddd  mock     30s ago  1     unfinished  -          /project
bbbbcccc  mock     1h ago   1     ok          -          ~
aaaabbbb  mock     2h ago   1     rate_limit  big-model  ~/project  two\u{fffd}lines \u{fffd}[31m
";
    assert_eq!(ran.out, expected);
    assert_eq!(ran.err, "");
}

#[test]
fn the_list_in_json_is_one_array_with_a_session_a_line() {
    let fixture = Fixture::new();
    assert_eq!(
        run_at(&fixture, 0, SessionsCommand::List(list(Format::Json))).out,
        "[]\n"
    );
    let older = fixture.put(0, |record| record.name = Some("a name".to_owned()));
    let newer = fixture.put(1, |_| {});
    let ran = run_at(&fixture, 2, SessionsCommand::List(list(Format::Json)));
    let sessions: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["session"], newer.key.as_str());
    assert_eq!(sessions[1]["session"], older.key.as_str());
    assert_eq!(sessions[1]["sessionId"], older.native_id);
    assert_eq!(sessions[1]["permission"], "full");
    assert_eq!(ran.out.lines().count(), 4);
}

#[test]
fn filters_and_a_limit_narrow_the_list() {
    let fixture = Fixture::new();
    fixture.put(0, |record| record.backend = "claude".to_owned());
    fixture.put(1, |record| record.name = Some("ticket 42".to_owned()));
    fixture.put(2, |record| record.cwd = "/elsewhere".into());
    fixture.put(3, |_| {});
    let count = |change: fn(&mut ListArguments)| {
        let mut arguments = list(Format::Json);
        change(&mut arguments);
        let ran = run_at(&fixture, 9, SessionsCommand::List(arguments));
        serde_json::from_str::<Vec<Value>>(&ran.out).unwrap().len()
    };
    assert_eq!(count(|_| {}), 4);
    assert_eq!(count(|arguments| arguments.limit = Some(3)), 3);
    assert_eq!(count(|arguments| arguments.backend = Some("claude".to_owned())), 1);
    assert_eq!(count(|arguments| arguments.name = Some("ticket".to_owned())), 1);
    assert_eq!(count(|arguments| arguments.cwd = Some("/elsewhere".into())), 1);
    assert_eq!(
        count(|arguments| {
            arguments.cwd = Some("/project".into());
            arguments.limit = Some(2);
        }),
        2
    );
}

#[test]
fn a_damaged_entry_is_told_beside_the_list_and_can_be_removed() {
    let fixture = Fixture::new();
    let good = fixture.put(0, |_| {});
    let bad = fixture.put(1, |_| {});
    fixture.damage(&bad);
    let ran = run_at(&fixture, 9, SessionsCommand::List(list(Format::Json)));
    assert_eq!(ran.result.unwrap(), Exit::Success);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&ran.out).unwrap().len(), 1);
    assert!(
        ran.err.starts_with("warning: ") && ran.err.contains(bad.key.as_str()),
        "{}",
        ran.err
    );
    let sessions = vec!["nothing like it".to_owned(), bad.key.to_string(), good.key.to_string()];
    let ran = run_at(&fixture, 9, SessionsCommand::Remove(RemoveArguments { sessions }));
    assert_eq!(ran.result.unwrap(), Exit::NoSuchSession);
    assert_eq!(ran.out, format!("{}\n{}\n", bad.key, good.key));
    assert!(ran.err.contains("there is no session `nothing like it`"), "{}", ran.err);
    assert_eq!(fixture.record_files().len(), 0);
}

#[test]
fn show_tells_everything_and_how_to_go_on() {
    let fixture = Fixture::new();
    let record = fixture.put(0, |record| {
        record.name = Some("a name".to_owned());
        record.deny_tools.push("bash".to_owned().into());
        record.earlier_native_ids.push("earlier".to_owned());
    });
    let show = |format| {
        let session = "a name".to_owned();
        run_at(&fixture, 60, SessionsCommand::Show(ShowArguments { session, format }))
    };
    let text = show(Format::Text).out;
    for part in ["a name", "earlier", "bash", "full", "1m ago", "unfinished"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.contains(&format!("agentctl resume {} PROMPT", record.key)),
        "{text}"
    );
    let view: Value = serde_json::from_str(&show(Format::Json).out).unwrap();
    assert_eq!(view["denyTools"][0], "bash");
    assert_eq!(view["earlierSessionIds"][0], "earlier");
    assert_eq!(view["usedAt"], "2026-01-01T00:00:00Z");
}

#[test]
fn prune_wants_to_know_what_may_go() {
    let fixture = Fixture::new();
    fixture.put(0, |_| {});
    let prune = |older_than: Option<u64>, mode| {
        let arguments = PruneArguments {
            older_than: older_than.map(Duration::from_secs),
            keep: None,
            damaged: DamagedPolicy::Keep,
            mode,
            format: Format::Text,
        };
        run_at(&fixture, 100, SessionsCommand::Prune(arguments))
    };
    let failure = prune(None, PruneMode::Remove).result.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    assert!(
        prune(Some(99), PruneMode::DryRun)
            .out
            .ends_with("would remove 1, kept 0\n")
    );
    assert!(prune(Some(101), PruneMode::Remove).out.ends_with("removed 0, kept 1\n"));
    assert!(prune(Some(99), PruneMode::Remove).out.ends_with("removed 1, kept 0\n"));
    assert_eq!(fixture.record_files().len(), 0);
}

#[test]
fn path_is_told_whether_or_not_it_is_usable() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path(), b"a file").unwrap();
    let ran = run_at(&fixture, 0, SessionsCommand::Path);
    assert_eq!(ran.out, format!("{}\n", fixture.path().display()));
    assert!(
        run_at(&fixture, 0, SessionsCommand::List(list(Format::Text)))
            .result
            .is_err()
    );
}

#[test]
fn columns_line_up_whatever_is_written_in_them() {
    let fixture = Fixture::new();
    for (second, key, model, cwd) in [
        (0, "aaaabbbbcccc", "big-model", "/srv/project"),
        (1, "bbbbccccdddd", "大模型", "/srv/日本語"),
        (2, "ccccddddeeee", "e\u{301}te\u{301}", "/srv/x"),
    ] {
        fixture.put(second, |record| {
            *record = super::record(super::key(key), second);
            record.name = Some("NAME".to_owned());
            (record.model, record.cwd) = (Some(model.to_owned()), cwd.into());
        });
    }
    let out = run_at(&fixture, 10, SessionsCommand::List(list(Format::Text))).out;
    let columns: Vec<usize> = out
        .lines()
        .map(|line| line.split("NAME").next().unwrap())
        .map(console::measure_text_width)
        .collect();
    assert_eq!(columns, [columns[0]; 4], "{out}");
}
