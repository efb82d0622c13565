//! What goes, what stays, and what is cleared away with it.

use super::{Fixture, at, files_below};
use agentctl::session::{DamagedPolicy, Filter, Policy, PruneMode, Removal, Wait};
use jiff::SignedDuration;
use std::time::{Duration, SystemTime};

const DAY: i64 = 86_400;

#[test]
fn old_conversations_go_and_those_in_use_stay() {
    let fixture = Fixture::new();
    let old = fixture.put(0, |record| record.name = Some("old".to_owned()));
    let held = fixture.put(0, |_| {});
    let young = fixture.put(30 * DAY, |_| {});
    let guard = fixture.store.claim_key(held.key, Wait::No).unwrap();
    let policy = Policy {
        older_than: Some(SignedDuration::from_secs(7 * DAY)),
        ..Policy::default()
    };
    let now = at(31 * DAY);
    let dry = fixture.store.prune(&policy, PruneMode::DryRun, now).unwrap();
    assert_eq!(dry.removed.len(), 2);
    assert_eq!(fixture.record_files().len(), 3, "a dry run removes nothing");
    let report = fixture.store.prune(&policy, PruneMode::Remove, now).unwrap();
    assert_eq!(report.removed, [old]);
    assert_eq!(report.busy, [held.key]);
    assert_eq!(report.kept, 1);
    drop(guard);
    let left = fixture.store.recent(&Filter::default(), 9).records;
    assert_eq!(left, [young, held]);
    assert_eq!(fixture.store.by_name("old").unwrap(), None);
}

#[test]
fn only_the_last_used_are_kept() {
    let fixture = Fixture::new();
    let records: Vec<_> = (0..5).map(|seconds| fixture.put(seconds, |_| {})).collect();
    let policy = Policy {
        keep: Some(2),
        ..Policy::default()
    };
    let report = fixture.store.prune(&policy, PruneMode::Remove, at(9)).unwrap();
    assert_eq!(report.removed.len(), 3);
    let left = fixture.store.recent(&Filter::default(), 9).records;
    assert_eq!(left, [records[4].clone(), records[3].clone()]);
}

#[test]
fn damaged_records_go_only_when_that_is_asked_for() {
    let fixture = Fixture::new();
    let record = fixture.put(0, |_| {});
    fixture.damage(&record);
    let mut policy = Policy {
        keep: Some(0),
        ..Policy::default()
    };
    let report = fixture.store.prune(&policy, PruneMode::Remove, at(9)).unwrap();
    assert_eq!(report.damaged.len(), 1);
    assert_eq!(fixture.record_files().len(), 1);
    policy.damaged = DamagedPolicy::Remove;
    fixture.store.prune(&policy, PruneMode::Remove, at(9)).unwrap();
    assert_eq!(fixture.record_files().len(), 0);
}

#[test]
fn what_crashes_left_is_cleared_away_when_it_is_old() {
    let fixture = Fixture::new();
    let record = fixture.put(0, |record| record.name = Some("stays".to_owned()));
    let gone = fixture.put(0, |record| record.name = Some("gone".to_owned()));
    drop(fixture.store.claim_key(record.key, Wait::No).unwrap());
    for file in fixture.record_files() {
        if file.to_string_lossy().contains(gone.key.as_str()) {
            std::fs::remove_file(file).unwrap();
        }
    }
    let young = fixture.path().join("tmp/put-young");
    std::fs::write(&young, b"half").unwrap();
    std::fs::write(fixture.path().join("tmp/put-old"), b"half").unwrap();
    let an_age_ago = SystemTime::now() - Duration::from_secs(7200);
    for file in files_below(fixture.path()).into_iter().filter(|file| *file != young) {
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_modified(an_age_ago).unwrap();
    }
    fixture
        .store
        .prune(&Policy::default(), PruneMode::Remove, at(9))
        .unwrap();
    assert_eq!(files_below(&fixture.path().join("tmp")), [young]);
    assert_eq!(files_below(&fixture.path().join("names")).len(), 1);
    assert_eq!(files_below(&fixture.path().join("native")).len(), 1);
    #[cfg(unix)]
    assert_eq!(files_below(&fixture.path().join("locks")).len(), 0);
    assert_eq!(fixture.store.by_name("stays").unwrap().as_ref(), Some(&record));
    assert_eq!(fixture.store.last(), Some(record));
}

#[test]
fn a_removed_conversation_leaves_no_file_of_its_own() {
    let fixture = Fixture::new();
    let mut record = fixture.put(0, |record| record.name = Some("a name".to_owned()));
    record.refresh_native_id("another");
    fixture.store.put(&record).unwrap();
    let exchange = agentctl::session::Exchange {
        time: at(0),
        prompt: "question".to_owned(),
        answer: "answer".to_owned(),
        is_error: false,
    };
    fixture.store.keep_exchange(&record.key, &exchange).unwrap();
    fixture.store.keep_exchange(&record.key, &exchange).unwrap();
    let transcript = std::fs::read_to_string(fixture.store.transcript_path(&record.key)).unwrap();
    assert_eq!(transcript.lines().count(), 2);
    assert_eq!(fixture.store.remove(record.key).unwrap(), Removal::Removed);
    assert_eq!(fixture.store.remove(record.key).unwrap(), Removal::Absent);
    for folder in ["sessions", "names", "native", "transcripts", "tmp"] {
        assert_eq!(files_below(&fixture.path().join(folder)).len(), 0, "{folder}");
    }
}
