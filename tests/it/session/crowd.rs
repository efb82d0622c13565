//! Many processes of the program itself on few conversations, some of them killed at any moment.

use super::files_below;
use crate::desk::{Desk, Ended as _, RUN};
use agentctl::session::{Filter, Store};
use assert_cmd::assert::OutputAssertExt as _;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::time::Duration;

const PROCESSES: usize = 64;
const CONVERSATIONS: usize = 8;
const KILLED: usize = 16;

#[test]
fn sixty_four_runs_of_eight_conversations_take_turns_whoever_is_killed() {
    let desk = Desk::new();
    write_agent(&desk);
    let mut children: Vec<Child> = (0..PROCESSES).map(|number| start(&desk, number)).collect();
    let victims = kill_some(&mut children);
    let mut results = BTreeMap::new();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        if victims.contains(&number) {
            continue;
        }
        let ended = output.assert().append_context("number", number);
        results.insert(number, ended.success().json());
    }
    let store = Store::open(desk.path("state")).unwrap();
    let listing = store.all(&Filter::default());
    assert_eq!(listing.damaged, []);
    assert_eq!(listing.records.len(), CONVERSATIONS);
    assert_eq!(store.recent(&Filter::default(), usize::MAX).records, listing.records);
    for conversation in 0..CONVERSATIONS {
        check_conversation(&desk, &store, conversation, &victims, &results);
    }
    assert_eq!(files_below(&desk.path("state/names")).len(), CONVERSATIONS);
}

/// Kills some of them, one after another, while they all are at it.
fn kill_some(children: &mut [Child]) -> BTreeSet<usize> {
    let random = || usize::from(uuid::Uuid::new_v4().as_bytes()[0]);
    let mut victims = BTreeSet::new();
    while victims.len() < KILLED {
        let victim = random() % PROCESSES;
        if victims.insert(victim) {
            std::thread::sleep(Duration::from_millis(random() as u64 / 4));
            // One that has ended by itself cannot be killed any more; it is as good as killed at its end.
            let _ = children[victim].kill();
        }
    }
    victims
}

/// A run of an agent that notes when it begins and when it ends.
fn start(desk: &Desk, number: usize) -> Child {
    let conversation = number % CONVERSATIONS;
    let name = format!("channel {conversation}");
    let agent = desk.path("project/agent").display().to_string();
    let prompt = format!("[[delay:30ms]] {number}");
    let arguments = ["--cli-path", &agent, "--wait=5m", "--session", &name, &prompt];
    desk.agentctl(RUN)
        .args(arguments)
        .env("NUMBER", number.to_string())
        .env("LOG", desk.path(&format!("log-{conversation}")))
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The agent inside agentctl, with a note before and after.
fn write_agent(desk: &Desk) {
    let program = cargo_bin!("agentctl").display();
    let script = format!(
        "#!/bin/sh\necho $NUMBER begin >>\"$LOG\"\n'{program}' \"$@\"\nstatus=$?\necho $NUMBER end >>\"$LOG\"\nexit $status\n"
    );
    desk.script("agent", &script);
}

/// The agent's own memory is the chain: whoever was not killed is in it, in the order of the turns.
fn check_conversation(
    desk: &Desk,
    store: &Store,
    conversation: usize,
    victims: &BTreeSet<usize>,
    results: &BTreeMap<usize, Value>,
) {
    let log = std::fs::read_to_string(desk.path(&format!("log-{conversation}"))).unwrap();
    let turns = check_turns(&log, victims);
    let record = store.by_name(&format!("channel {conversation}")).unwrap().unwrap();
    let memory = desk.path(&format!("state/mock/{}.json", record.native_id));
    let prompts: Vec<String> = serde_json::from_slice(&std::fs::read(memory).unwrap()).unwrap();
    let chain: Vec<usize> = prompts
        .iter()
        .map(|prompt| prompt.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    let in_turn: Vec<usize> = turns.iter().copied().filter(|number| chain.contains(number)).collect();
    assert_eq!(chain, in_turn, "the order of the turns:\n{log}");
    let mut tokens = 0;
    let survivors = results
        .iter()
        .filter(|(number, _)| *number % CONVERSATIONS == conversation);
    for (number, result) in survivors.clone() {
        assert!(chain.contains(number), "{number} is missing in {chain:?}\n{log}");
        assert_eq!(result["session"], record.key.as_str(), "{number}");
        assert_eq!(result["sessionId"], record.native_id.as_str(), "{number}");
        tokens += result["usage"]["totalTokens"].as_u64().unwrap();
    }
    let (runs, survivors) = (record.runs as usize, survivors.count());
    assert!(
        (survivors..=turns.len()).contains(&runs),
        "{runs} runs of {survivors} survivors"
    );
    assert!(record.usage.total_tokens >= tokens, "{:?}", record.usage);
    assert_eq!(
        record.earlier_native_ids, [""; 0],
        "one conversation from the first to the last"
    );
}

/// Nobody else's lines come between a beginning and its end, and only the agent of a killed run has no end. Gives who
/// had a turn, in order.
fn check_turns(log: &str, victims: &BTreeSet<usize>) -> Vec<usize> {
    let mut inside = None;
    let mut turns = Vec::new();
    for line in log.lines() {
        let (number, what) = line.split_once(' ').unwrap();
        let number: usize = number.parse().unwrap();
        if what == "begin" {
            let before: Option<usize> = inside.replace(number);
            let killed = before.is_none_or(|before| victims.contains(&before));
            assert!(killed, "{before:?} was still in when {number} began:\n{log}");
            turns.push(number);
        } else {
            assert_eq!(inside.take(), Some(number), "\n{log}");
        }
    }
    turns
}
