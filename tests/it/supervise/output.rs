//! What goes in and comes out: nothing is lost, and memory stays bounded.

use super::fake::Fake;
use agentctl::backend::Stdin;
use agentctl::supervise::{Stream, Why};
use std::time::Duration;

#[test]
fn a_flood_on_stdout_arrives_whole() {
    let outcome = Fake::new(["flood 100000000", "say end"]).keep(1).run();
    assert_eq!(outcome.seen.bytes, 100_000_004);
    assert_eq!(outcome.ending.why, Why::Exited);
}

#[test]
fn a_flood_on_stderr_keeps_its_tail_and_blocks_nothing() {
    let outcome = Fake::new(["flood-err 5000000", "err the end", "say one"]).run();
    assert_eq!(outcome.said(), ["one"]);
    assert!(outcome.ending.stderr_tail.ends_with("the end"));
    assert!(outcome.ending.stderr_tail.len() <= 8 << 10);
}

#[test]
fn a_line_beyond_the_cap_is_dropped_and_counted_and_its_neighbours_survive() {
    let outcome = Fake::new(["say before", "line 5000000", "say after"])
        .limits(|limits| limits.line_cap = 1 << 20)
        .run();
    assert_eq!(outcome.said(), ["before", "after"]);
    assert_eq!(outcome.seen.dropped, [(Stream::Stdout, 5_000_001)]);
}

#[test]
fn a_long_line_below_the_cap_arrives_whole() {
    let outcome = Fake::new(["line 30000000", "say after"]).run();
    assert_eq!(outcome.seen.stdout[0].len(), 30_000_000);
    assert_eq!(outcome.seen.stdout[1], "after");
}

#[test]
fn bytes_that_are_no_text_arrive() {
    let outcome = Fake::new(["junk", "say after"]).run();
    assert_eq!(outcome.said().len(), 4);
    assert_eq!(outcome.said()[3], "after");
}

#[test]
fn a_huge_prompt_is_delivered_whole_and_closed() {
    let outcome = Fake::new(["cat"]).stdin(Stdin::Bytes(vec![b'p'; 10 << 20])).run();
    assert_eq!(outcome.said(), ["read 10485760 bytes"]);
}

#[test]
fn an_empty_prompt_is_closed_at_once() {
    assert_eq!(
        Fake::new(["cat"]).stdin(Stdin::Bytes(Vec::new())).run().said(),
        ["read 0 bytes"]
    );
    assert_eq!(Fake::new(["cat"]).stdin(Stdin::Closed).run().said(), ["read 0 bytes"]);
}

#[test]
fn a_cli_that_never_reads_its_prompt_is_ended_by_the_timeout_and_its_output_is_read_meanwhile() {
    let outcome = Fake::new(["flood 3000000", "say end", "sleep 1000"])
        .keep(0)
        .stdin(Stdin::Bytes(vec![b'p'; 10 << 20]))
        .timeout(1500)
        .run();
    assert_eq!(outcome.seen.bytes, 3_000_004);
    assert_eq!(outcome.ending.why, Why::Timeout);
}

#[test]
fn a_cli_that_exits_before_reading_its_prompt_does_no_harm() {
    let outcome = Fake::new(["say one", "exit 5"])
        .stdin(Stdin::Bytes(vec![b'p'; 10 << 20]))
        .run();
    assert_eq!((outcome.said(), outcome.ending.exit.code), (vec!["one"], Some(5)));
}

#[test]
fn a_held_input_stays_open_for_answers_until_it_is_closed() {
    let outcome = Fake::new(["say ask me", "echo"])
        .stdin(Stdin::Held(b"hello\n".to_vec()))
        .run();
    assert_eq!(
        outcome.said(),
        ["ask me", "heard hello", "heard an answer", "end of input"]
    );
    assert_eq!(outcome.ending.why, Why::Exited);
}

#[test]
fn a_held_input_that_is_never_closed_ends_with_the_run() {
    let outcome = Fake::new(["echo"]).stdin(Stdin::Held(Vec::new())).timeout(200).run();
    assert_eq!(outcome.ending.why, Why::Timeout);
    assert!(outcome.took < Duration::from_secs(20));
}
