//! Every way to a conversation leads to that conversation or says why not.

use super::{Fixture, at, key, record};
use agentctl::error::ErrorKind;
use agentctl::session::{Filter, Key, LockId, Record, Resolution, Store, Wait};
use proptest::prelude::*;
use std::path::Path;

/// Names are any text: from chat systems, from strangers.
const STRANGE_NAMES: &[&str] = &[
    "https://chat.example/c/42?thread=7#end",
    "🦀🧵",
    "two\nlines",
    "../../etc/passwd",
    "-rf",
    "",
    " ",
    "NUL\0inside",
    "\u{202e}reversed",
    "k3f9",
];

#[test]
fn any_text_is_a_name_and_is_looked_up_exactly() {
    let fixture = Fixture::new();
    let long = "x".repeat(10_000);
    let names: Vec<&str> = STRANGE_NAMES.iter().copied().chain([long.as_str()]).collect();
    for (number, name) in names.iter().enumerate() {
        fixture.put(number as i64, |record| record.name = Some((*name).to_owned()));
    }
    for name in names {
        let found = fixture.store.by_name(name).unwrap().unwrap();
        assert_eq!(found.name.as_deref(), Some(name));
        assert_eq!(
            fixture
                .store
                .by_name(&format!("{name} "))
                .unwrap()
                .filter(|_| !name.is_empty()),
            None
        );
    }
}

#[test]
fn a_conversation_is_found_by_key_prefix_name_and_native_id() {
    let fixture = Fixture::new();
    let wanted = fixture.put(0, |record| record.name = Some("a channel".to_owned()));
    for number in 0..50 {
        fixture.put(number, |_| {});
    }
    let prefix = &wanted.key.as_str()[..8];
    let upper = prefix.to_uppercase();
    for selector in [wanted.key.as_str(), prefix, &upper, "a channel", &wanted.native_id] {
        assert_eq!(fixture.store.find(selector).unwrap(), wanted, "{selector}");
    }
}

#[test]
fn an_ambiguous_prefix_lists_the_candidates() {
    let fixture = Fixture::new();
    for text in ["k3f9aaaaaaaa", "k3f9bbbbbbbb", "kkkkkkkkkkkk"] {
        fixture.put(0, |stored| *stored = record(key(text), 0));
    }
    for selector in ["k3f9", "k", "K3F"] {
        let failure = fixture.store.find(selector).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Usage, "{selector}");
        let hint = failure.hint.unwrap();
        assert!(hint.contains("k3f9aaaaaaaa") && hint.contains("k3f9bbbbbbbb"), "{hint}");
    }
    assert_eq!(fixture.store.find("k3f9a").unwrap().key, key("k3f9aaaaaaaa"));
}

#[test]
fn of_very_many_candidates_the_first_are_listed_and_the_rest_counted() {
    let fixture = Fixture::new();
    for letter in "abcdefghjkmnpqrstvwx".chars() {
        let key = key(&format!("k3f9{letter}aaaaaaa"));
        fixture.put(0, |stored| *stored = record(key, 0));
    }
    let failure = fixture.store.find("k").unwrap_err();
    assert!(failure.message.starts_with("20 sessions fit"), "{failure}");
    let hint = failure.hint.unwrap();
    assert!(hint.ends_with("\n  … and 10 more"), "{hint}");
    assert_eq!(hint.lines().count(), 12, "{hint}");
}

#[test]
fn one_that_cannot_be_read_makes_a_prefix_ambiguous_too() {
    let fixture = Fixture::new();
    for text in ["k3f9aaaaaaaa", "k3f9bbbbbbbb", "mmmmmmmmmmmm", "mmmmnnnnnnnn"] {
        let stored = fixture.put(0, |stored| *stored = record(key(text), 0));
        if text != "k3f9aaaaaaaa" {
            fixture.damage(&stored);
        }
    }
    for (selector, unreadable) in [("k3f9", "k3f9bbbbbbbb"), ("mmmm", "mmmmnnnnnnnn")] {
        let failure = fixture.store.find(selector).unwrap_err();
        assert!(failure.message.starts_with("2 sessions fit"), "{failure}");
        let hint = failure.hint.unwrap();
        assert!(hint.contains(&format!("{unreadable}  cannot be read")), "{hint}");
    }
}

#[test]
fn an_exact_name_wins_over_the_beginning_of_a_key() {
    let fixture = Fixture::new();
    fixture.put(0, |stored| *stored = record(key("k3f9aaaaaaaa"), 0));
    let named = fixture.put(0, |record| record.name = Some("k3f9".to_owned()));
    assert_eq!(fixture.store.find("k3f9").unwrap(), named);
}

#[test]
fn a_selector_that_is_a_name_here_and_a_native_id_there_is_ambiguous() {
    let fixture = Fixture::new();
    let one = fixture.put(0, |record| record.name = Some("both".to_owned()));
    let other = fixture.put(1, |record| record.refresh_native_id("both"));
    let Resolution::Ambiguous { candidates, .. } = fixture.store.resolve("both") else {
        panic!("one of two was chosen");
    };
    assert_eq!(candidates.len(), 2);
    assert!(candidates.contains(&one) && candidates.contains(&other));
}

#[test]
fn an_unknown_selector_suggests_what_is_near() {
    let fixture = Fixture::new();
    let named = fixture.put(0, |record| record.name = Some("release-notes".to_owned()));
    let failure = fixture.store.find("relase-notes").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::SessionNotFound);
    assert!(failure.hint.unwrap().contains(named.key.as_str()));
    let failure = fixture.store.find("zzzzzz\u{1b}[31m").unwrap_err();
    assert!(!failure.message.contains('\u{1b}'), "{failure}");
    assert!(failure.hint.unwrap().contains("sessions list"));
}

#[test]
fn an_earlier_native_id_still_leads_to_the_conversation() {
    let fixture = Fixture::new();
    let mut record = fixture.put(0, |record| record.refresh_native_id("first"));
    record.refresh_native_id("second");
    fixture.store.put(&record).unwrap();
    for id in ["first", "second"] {
        assert_eq!(fixture.store.by_native_id("mock", id).unwrap().as_ref(), Some(&record));
        assert_eq!(fixture.store.by_native_id("claude", id).unwrap(), None);
    }
}

#[test]
fn the_last_conversation_is_that_of_the_directory_or_of_all() {
    let fixture = Fixture::new();
    let here = fixture.put(1, |record| record.cwd = "/here".into());
    let there = fixture.put(2, |record| record.cwd = "/there".into());
    assert_eq!(fixture.store.last_in(Path::new("/here")), Some(here.clone()));
    assert_eq!(fixture.store.last_in(Path::new("/there")), Some(there.clone()));
    assert_eq!(fixture.store.last_in(Path::new("/elsewhere")), None);
    assert_eq!(fixture.store.last(), Some(there.clone()));
    fixture.store.put(&here).unwrap();
    assert_eq!(fixture.store.last(), Some(here.clone()));
    fixture.store.remove(here.key).unwrap();
    assert_eq!(fixture.store.last_in(Path::new("/here")), None);
    assert_eq!(fixture.store.last(), Some(there));
}

#[test]
fn the_last_conversation_is_the_one_used_last_although_the_clock_went_back() {
    let fixture = Fixture::new();
    let before = fixture.put(1000, |_| {});
    let after = fixture.put(500, |_| {});
    assert_eq!(fixture.store.last(), Some(after.clone()));
    assert_eq!(fixture.store.last_in(Path::new("/project")), Some(after.clone()));
    let policy = agentctl::session::Policy {
        older_than: Some(jiff::SignedDuration::from_secs(100)),
        ..Default::default()
    };
    let pruned = fixture
        .store
        .prune(&policy, agentctl::session::PruneMode::DryRun, at(700));
    assert_eq!(pruned.unwrap().removed, [after], "one from the future is not old");
    assert!(fixture.store.find(before.key.as_str()).is_ok());
}

#[test]
fn the_last_of_a_directory_falls_back_to_the_one_before_when_it_is_removed() {
    let fixture = Fixture::new();
    let older = fixture.put(1, |_| {});
    let newer = fixture.put(2, |_| {});
    fixture.store.remove(newer.key).unwrap();
    assert_eq!(fixture.store.last_in(Path::new("/project")), Some(older));
}

#[test]
fn lost_and_damaged_caches_are_made_again_from_the_records() {
    let fixture = Fixture::new();
    let older = fixture.put(1, |record| record.name = Some("older".to_owned()));
    let newer = fixture.put(2, |_| {});
    std::fs::remove_file(fixture.path().join("recent")).unwrap();
    std::fs::remove_dir_all(fixture.path().join("cwd")).unwrap();
    assert_eq!(fixture.store.last_in(Path::new("/project")), Some(newer.clone()));
    assert_eq!(
        fixture.store.recent(&Filter::default(), 9).records,
        [newer.clone(), older.clone()]
    );
    std::fs::write(fixture.path().join("recent"), [0xff, b'\n', 0, b'k'].repeat(5000)).unwrap();
    fixture.store.put(&newer).unwrap();
    assert_eq!(fixture.store.last(), Some(newer));
    for pointer in super::files_below(&fixture.path().join("names")) {
        std::fs::write(pointer, b"").unwrap();
    }
    assert_eq!(fixture.store.by_name("older").unwrap(), Some(older));
}

#[test]
fn a_deleted_journal_is_whole_again_after_the_next_put() {
    let fixture = Fixture::new();
    let older = fixture.put(1, |_| {});
    std::fs::remove_file(fixture.path().join("recent")).unwrap();
    let newer = fixture.put(2, |_| {});
    assert_eq!(fixture.store.recent(&Filter::default(), 9).records, [newer, older]);
}

#[test]
fn a_record_under_the_wrong_key_or_of_a_newer_agentctl_is_not_used() {
    let fixture = Fixture::new();
    let record = fixture.put(1, |_| {});
    let file = fixture.record_files().remove(0);
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replace("\"version\":1", "\"version\":2")).unwrap();
    assert!(fixture.store.get(&record.key).unwrap_err().why.contains("newer"));
    std::fs::write(&file, whole.replace(record.key.as_str(), "k3f9k3f9k3f9")).unwrap();
    assert!(fixture.store.get(&record.key).is_err());
    let without_rights = whole.replace("\"permission\":\"full\",", "");
    assert_ne!(whole, without_rights);
    std::fs::write(&file, without_rights).unwrap();
    assert!(
        fixture.store.get(&record.key).is_err(),
        "a record without rights must not get the default"
    );
}

#[test]
fn what_a_newer_agentctl_added_survives() {
    let fixture = Fixture::new();
    let record = fixture.put(1, |record| {
        record.unknown.insert("mood".to_owned(), "good".into());
    });
    let read = fixture.store.get(&record.key).unwrap().unwrap();
    fixture.store.put(&read).unwrap();
    assert_eq!(fixture.store.get(&record.key).unwrap().unwrap().unknown["mood"], "good");
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_no_text_survives() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let cwd = Path::new(std::ffi::OsStr::from_bytes(b"/caf\xe9"));
    let record = fixture.put(1, |record| record.cwd = cwd.to_owned());
    assert_eq!(fixture.store.last_in(cwd), Some(record));
}

#[test]
fn by_name_by_key_and_by_native_id_the_lock_is_the_same() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    let claim = store.claim_name("a name", Wait::No).unwrap();
    assert!(claim.record.is_none());
    let mut record = record(Key::fresh(), 0);
    record.name = Some("a name".to_owned());
    record.lock = claim.guard.id().clone();
    store.put(&record).unwrap();
    let busy = |failure: agentctl::error::Failure| assert_eq!(failure.kind, ErrorKind::Busy);
    busy(store.claim_name("a name", Wait::No).unwrap_err());
    busy(store.claim_key(record.key, Wait::No).unwrap_err());
    busy(store.claim_native_id("mock", &record.native_id, Wait::No).unwrap_err());
    busy(store.remove(record.key).unwrap_err());
    assert!(store.is_busy(&record));
    drop(claim);
    // Whoever gave up waiting may still get it, and gives it back at once.
    let is_free = || {
        !store.is_busy(&record) || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            false
        }
    };
    assert!((0..2000).any(|_| is_free()), "nobody has it");
    assert_eq!(store.claim_key(record.key, Wait::No).unwrap().1, record);
}

#[test]
fn a_conversation_named_later_keeps_its_lock() {
    let fixture = Fixture::new();
    let store = &fixture.store;
    let record = fixture.put(0, |record| record.name = Some("later".to_owned()));
    let by_key = store.claim_key(record.key, Wait::No).unwrap();
    assert_eq!(store.claim_name("later", Wait::No).unwrap_err().kind, ErrorKind::Busy);
    drop(by_key);
    let by_name = store.claim_name("later", Wait::No).unwrap();
    assert_eq!(by_name.guard.id(), &LockId::of_key(record.key));
    assert_eq!(store.claim_key(record.key, Wait::No).unwrap_err().kind, ErrorKind::Busy);
}

#[test]
fn a_native_id_that_nobody_knows_can_be_claimed_once() {
    let fixture = Fixture::new();
    let claim = fixture.store.claim_native_id("codex", "unseen", Wait::No).unwrap();
    assert!(claim.record.is_none());
    let again = fixture.store.claim_native_id("codex", "unseen", Wait::No).unwrap_err();
    assert_eq!(again.kind, ErrorKind::Busy);
}

#[test]
fn a_damaged_conversation_is_told_and_can_be_begun_anew_under_its_name() {
    let fixture = Fixture::new();
    let record = fixture.put(0, |record| record.name = Some("a name".to_owned()));
    fixture.damage(&record);
    let claim = fixture.store.claim_name("a name", Wait::No).unwrap();
    assert!(claim.record.is_none());
    assert_eq!(claim.damaged.unwrap().key, record.key);
    let anew = fixture.put(1, |record| record.name = Some("a name".to_owned()));
    assert_eq!(fixture.store.by_name("a name").unwrap(), Some(anew));
}

#[test]
fn those_that_are_wanted_are_found_however_old_and_no_more_are_read_than_it_takes() {
    let fixture = Fixture::new();
    let named = |name: &'static str| move |record: &mut Record| record.name = Some(name.to_owned());
    let unread = fixture.put(1, named("wanted"));
    fixture.damage(&unread);
    let old = fixture.put(2, named("wanted"));
    let news: Vec<_> = (3..9).map(|second| fixture.put(second, |_| {})).collect();
    let is_named = |record: &Record| record.name.is_some();
    let found = fixture.store.recent_such(is_named, 1);
    assert_eq!((found.records, found.damaged), (vec![old.clone()], vec![]));
    let found = fixture.store.recent_such(is_named, 9);
    assert_eq!((found.records, found.damaged.len()), (vec![old], 1));
    assert_eq!(fixture.store.recent_such(|_| true, 2).records[0], news[5]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever was stored, in whatever order, and whatever is asked: a found record is one that the selector means.
    #[test]
    fn a_lookup_never_gives_a_wrong_record(
        stored in proptest::collection::vec(("[ab]{0,2}", "[ab]{1,2}", "[cd]{0,2}", any::<bool>()), 1..10),
        selectors in proptest::collection::vec("[abcd]{0,2}|[a-z0-9]{1,3}|\\PC{0,12}", 1..20),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let mut keys: Vec<Key> = Vec::new();
        for (position, (name, native_id, later_id, remove)) in stored.into_iter().enumerate() {
            let mut record = record(Key::fresh(), position as i64);
            record.name = Some(name).filter(|name| !name.is_empty());
            record.native_id = native_id;
            store.put(&record).unwrap();
            record.refresh_native_id(&later_id);
            store.put(&record).unwrap();
            prop_assert_eq!(store.get(&record.key).unwrap(), Some(record.clone()));
            keys.push(record.key);
            if remove {
                store.remove(keys.remove(keys.len() / 2)).unwrap();
            }
        }
        for selector in selectors {
            let fits = |record: &Record| {
                keys.contains(&record.key)
                    && (record.name.as_deref() == Some(&selector)
                        || record.has_native_id(&selector)
                        || record.key.as_str().starts_with(&selector.to_lowercase().replace(['i', 'l'], "1").replace('o', "0")))
            };
            match store.resolve(&selector) {
                Resolution::Found(record) => prop_assert!(fits(&record), "{} gave {:?}", selector, record),
                Resolution::Ambiguous { candidates: records, .. } => {
                    prop_assert!(records.len() > 1);
                    prop_assert!(records.iter().all(fits), "{} gave {:?}", selector, records);
                }
                Resolution::Unknown { near } => prop_assert!(near.iter().all(|record| keys.contains(&record.key))),
                Resolution::Damaged(damaged) => prop_assert!(false, "{}", damaged),
            }
        }
        let listed = store.recent(&Filter::default(), usize::MAX).records;
        prop_assert_eq!(listed.len(), keys.len());
        prop_assert_eq!(listed, store.all(&Filter::default()).records);
    }

    #[test]
    fn any_record_reads_back_as_it_was(
        texts in proptest::collection::vec(any::<String>(), 8),
        cost in proptest::option::of(0.0..1e6f64),
        seconds in 0..4_000_000_000i64,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let mut record = record(Key::fresh(), 0);
        record.backend = texts[0].clone();
        record.refresh_native_id(&texts[1]);
        record.name = Some(texts[2].clone());
        record.model = Some(texts[3].clone());
        record.cwd = texts[4].clone().into();
        record.options.insert(texts[5].clone(), texts[6].clone());
        record.deny_tools.push(texts[7].clone().into());
        record.cost_usd = cost;
        record.used_at = at(seconds);
        store.put(&record).unwrap();
        prop_assert_eq!(store.get(&record.key).unwrap(), Some(record));
    }
}
