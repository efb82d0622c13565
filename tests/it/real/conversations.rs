//! A conversation goes on: by key, by the CLI's own id, by name, from elsewhere, and after it was cut short.

use std::fs;

use serde_json::{Value, json};

use super::{Turn, ask, calls, refused, resume, run, steady_model, told, usage};
use crate::model::{Model, recall, shell, text};
use crate::world::{Cli, World, for_every_cli, real};

for_every_cli! {
    three_turns,
    a_named_conversation,
    a_conversation_that_was_killed,
    from_another_directory,
    unknown_session,
    a_conversation_that_agentctl_has_never_seen,
    a_fork_leaves_the_original_alone,
    ephemeral,
    a_look_that_leaves_nothing,
}

fn three_turns(cli: Cli) {
    let model = Model::start().then(text("noted")).then(recall());
    let world = World::new(&model);
    let first = ask(run(&world, cli).args(steady_model(cli)), "the first word is plum");
    first.is("resumed", "fresh");
    let second = ask(resume(&world, first.key()), "the second is pear");
    second.is("responseText", "the first word is plum | the second is pear");
    second.is("resumed", "resumed");
    second.is("session", first.key());
    // With its own id the conversation is found too.
    let third = ask(resume(&world, second.native_id()), "which ones?");
    third.is(
        "responseText",
        "the first word is plum | the second is pear | which ones?",
    );
    third.is("resumed", "resumed");
    third.is("session", first.key());
    third.check(calls(&model) == 3, "one request a turn");

    for turn in [&first, &second, &third] {
        turn.is("usage", usage(cli, 1));
    }
    let shown = world
        .agentctl(["sessions", "show", "--json", first.key()])
        .run()
        .exits(0);
    let view = shown.json();
    shown.check(view["usage"] == usage(cli, 3), "the sum of three turns is kept");
    shown.check(view["runs"] == 3, "three runs");
    shown.check(
        view["sessionId"] == third.result()["sessionId"],
        "the newest native id is kept",
    );
}

fn a_named_conversation(cli: Cli) {
    let model = Model::start().then(text("noted")).then(recall());
    let world = World::new(&model);
    let named = |prompt: &str| ask(run(&world, cli).args(["--session", "#général 🍑"]), prompt);
    let first = named("the word is plum");
    first.is("resumed", "fresh");
    let second = named("what was it?");
    second.is("responseText", "the word is plum | what was it?");
    let third = named("and now?");
    third.is("responseText", "the word is plum | what was it? | and now?");
    for turn in [&first, &second, &third] {
        turn.is("name", "#général 🍑");
        turn.is("session", first.key());
    }
    third.is("resumed", "resumed");
}

fn a_conversation_that_was_killed(cli: Cli) {
    let model = Model::start().then(shell("echo > started; sleep 300"));
    let world = World::new(&model);
    let running = run(&world, cli)
        .args(["--session", "work"])
        .stdin("the word is plum")
        .spawn();
    let started = || world.read("started").is_some();
    crate::wait::eventually("the tool is at work", super::LONG, started);
    running.signal(rustix::process::Signal::TERM);
    let first = Turn::of(running.wait().exits(143));
    first.check(first.result()["error"]["kind"] == "interrupted", "it says so");
    first.check(world.survivors().is_empty(), "nothing is left of it");

    model.push(recall());
    let second = ask(run(&world, cli).args(["--session", "work"]), "what was it?");
    second.is("resumed", "resumed");
    second.is("sessionId", first.native_id());
    let answer = second.answer();
    second.check(
        answer.contains("the word is plum") && answer.ends_with("what was it?"),
        "it remembers",
    );
    for (command, prompt, ending) in [
        (&["resume", "--last"][..], "and now?", "what was it? | and now?"),
        (
            &["resume", second.native_id()],
            "and then?",
            "what was it? | and now? | and then?",
        ),
    ] {
        let next = ask(told(&world, command), prompt);
        let answer = next.answer();
        next.check(
            answer.contains("the word is plum") && answer.ends_with(ending),
            "it still does",
        );
        next.is("session", first.key());
    }
    let shown = world.agentctl(["sessions", "show", "--json", "work"]).run().exits(0);
    shown.check(shown.json()["runs"] == 4, "the killed run counts");
}

fn from_another_directory(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let first = ask(run(&world, cli), "the word is plum");
    let elsewhere = world.project().with_file_name("elsewhere");
    fs::create_dir(&elsewhere).expect("another directory");
    model.push(shell("pwd"));
    model.push(recall());
    let second = ask(resume(&world, first.key()).cwd(&elsewhere), "where are we?");
    second.is("resumed", "resumed");
    second.is("responseText", "the word is plum | where are we?");
    second.warns("the conversation goes on in its own directory");
    let project = world.project().to_string_lossy().into_owned();
    let output = second.told("tool_end")[0]["output"].to_string();
    second.check(output.contains(&project), "it works where it began");
}

fn unknown_session(cli: Cli) {
    let model = Model::start().then(text("a new beginning"));
    let world = World::new(&model);
    let id = match cli {
        Cli::OpenCode => "ses_4dcf21a83ffeJ2zUQ6pVYkB0Lw",
        _ => "0199a213-81c0-7800-8aa1-bbab2a035a53",
    };
    let resume = |more: &[&str]| told(&world, &["resume", "-b", cli.name(), id]).args(more);
    let lost = refused(resume(&[]), "go on", 7, "session_not_found");
    lost.check(lost.outcome.stderr().contains("hint: "), "it says what to do");
    lost.check(
        !lost.answer().contains("a new beginning"),
        "a fresh answer is not passed off as a resumed one",
    );
    let listed = world.agentctl(["sessions", "list", "--json"]).run().exits(0);
    listed.check(listed.json() == json!([]), "nothing is kept of it");

    let fresh = ask(resume(&["--or-new"]), "go on");
    fresh.is("resumed", "fresh");
    fresh.is("responseText", "a new beginning");
    fresh.check(fresh.native_id() != id, "it has an id of its own");
    model.push(recall());
    let again = ask(super::resume(&world, fresh.key()), "go on again");
    again.is("responseText", "go on | go on again");
}

fn a_conversation_that_agentctl_has_never_seen(cli: Cli) {
    let model = Model::start()
        .then(text("noted"))
        .then(text("noted too"))
        .then(recall());
    let world = World::new(&model);
    let first = ask(run(&world, cli).args(steady_model(cli)), "the word is plum");
    ask(resume(&world, first.key()), "and pear");
    // Another state directory is to agentctl what a conversation of the CLI's own is: it knows nothing of it.
    let elsewhere = world.home().join("another-state").to_string_lossy().into_owned();
    let anew = |command: &[&str]| told(&world, command).env("AGENTCTL_STATE_DIR", &elsewhere);
    let id = first.native_id();
    let resumed = ask(
        anew(&["resume", "-b", cli.name(), id]).args(steady_model(cli)),
        "which?",
    );
    resumed.is("resumed", "resumed");
    resumed.is("sessionId", id);
    resumed.is("responseText", "the word is plum | and pear | which?");
    resumed.is("usage", usage(cli, 1));
    let again = ask(anew(&["resume", resumed.key()]), "and now?");
    again.is("responseText", "the word is plum | and pear | which? | and now?");
    again.is("session", resumed.key());
    again.is("usage", usage(cli, 1));
}

fn a_fork_leaves_the_original_alone(cli: Cli) {
    let model = Model::start().then(text("noted")).then(recall());
    let world = World::new(&model);
    let first = ask(run(&world, cli).args(steady_model(cli)), "the word is plum");
    let fork = ask(resume(&world, first.key()).arg("--fork"), "and pear");
    fork.is("responseText", "the word is plum | and pear");
    fork.is("resumed", "forked");
    fork.is("usage", usage(cli, 1));
    fork.check(fork.key() != first.key(), "it has a key of its own");
    fork.check(fork.native_id() != first.native_id(), "it has an id of its own");

    let original = ask(resume(&world, first.key()), "and apple");
    original.is("responseText", "the word is plum | and apple");
    original.is("sessionId", first.native_id());
    let further = ask(resume(&world, fork.key()), "and cherry");
    further.is("responseText", "the word is plum | and pear | and cherry");
    let show = |key: &str| world.agentctl(["sessions", "show", "--json", key]).run().exits(0);
    let shown = show(fork.key());
    shown.check(
        shown.json()["parent"] == first.key(),
        "the fork knows where it comes from",
    );
    for key in [fork.key(), first.key()] {
        let shown = show(key);
        shown.check(
            shown.json()["usage"] == usage(cli, 2),
            "each has the sum of its own turns",
        );
    }
}

fn ephemeral(cli: Cli) {
    let model = Model::start().then(text("noted"));
    let world = World::new(&model);
    let first = ask(run(&world, cli).arg("--ephemeral"), "the word is quetschenpflaume");
    first.is("responseText", "noted");
    first.is("session", Value::Null);
    first.has_no_warnings();
    let traces = traces(&world, "quetschenpflaume");
    first.check(traces.is_empty(), &format!("the home holds nothing of it: {traces:?}"));
    let listed = world.agentctl(["sessions", "list", "--json"]).run().exits(0);
    listed.check(listed.json() == json!([]), "agentctl keeps nothing either");
    if !first.native_id().is_empty() {
        let again = told(&world, &["resume", "-b", cli.name(), first.native_id()]);
        refused(again, "what was it?", 7, "session_not_found");
    }
}

/// Asking in a conversation without a trace: done, or refused before anything is asked.
fn a_look_that_leaves_nothing(cli: Cli) {
    let model = Model::start().then(text("noted")).then(recall());
    let world = World::new(&model);
    let first = ask(run(&world, cli), "the word is plum");
    let look = resume(&world, first.key()).arg("--ephemeral");
    match cli {
        Cli::Claude => {
            let look = ask(look, "what was it, quetschenpflaume?");
            look.is("responseText", "the word is plum | what was it, quetschenpflaume?");
            let traces = traces(&world, "quetschenpflaume");
            look.check(traces.is_empty(), &format!("the home holds nothing of it: {traces:?}"));
        }
        _ => {
            let refused = refused(look, "what was it?", 2, "usage");
            refused.check(calls(&model) == 1, "the model is not asked");
        }
    }
    let second = ask(resume(&world, first.key()), "and now?");
    second.is("responseText", "the word is plum | and now?");
    second.is("sessionId", first.native_id());
}

/// The files of the home that hold this word.
fn traces(world: &World<'_>, word: &str) -> Vec<String> {
    let mut folders = vec![world.home()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => {
                    let bytes = fs::read(&path).unwrap_or_default();
                    if agentctl::bytes::find_word(&bytes, word.as_bytes()).is_some() {
                        found.push(path.to_string_lossy().into_owned());
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn below_full_rights_a_project_does_not_choose_where_pi_keeps_a_conversation() {
    if !real::is_on(Cli::Pi) {
        return;
    }
    let model = Model::start();
    let world = World::new(&model);
    let outside = world.project().with_file_name("outside");
    world.write(".pi/settings.json", json!({"sessionDir": outside}).to_string());
    let ended = |arguments: &[&str], own: &str, code: i32| {
        model.push(text("done"));
        let run = run(&world, Cli::Pi).args(arguments);
        run.env("PI_CODING_AGENT_SESSION_DIR", own)
            .stdin("go")
            .run()
            .exits(code);
        outside.exists()
    };
    for level in ["read-only", "edit"] {
        assert!(!ended(&["-P", level], "", 2), "{level}");
    }
    assert!(model.all_requests().is_empty(), "nothing was started");
    assert!(!ended(&["-P", "read-only", "--ephemeral"], "", 0));
    let own = world.project().with_file_name("own");
    assert!(!ended(&["-P", "read-only"], &own.to_string_lossy(), 0));
    assert!(own.exists());
    assert!(ended(&["-P", "full"], "", 0), "otherwise there is nothing to refuse");
}
