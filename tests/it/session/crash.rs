//! Nothing that dies, and no number of processes, makes the store lose or mix up a conversation.

use super::helper::{self, CONVERSATIONS, PUT_FOREVER_KEY};
use super::{Fixture, key};
use agentctl::error::ErrorKind;
use agentctl::session::{Filter, Resolution, Wait};
use std::collections::HashSet;
use std::process::Child;
use std::time::Duration;

#[test]
fn a_record_cut_at_any_byte_costs_itself_alone() {
    let fixture = Fixture::new();
    let good = fixture.put(1, |_| {});
    let cut = fixture.put(2, |record| {
        record.name = Some("cut \"here\" 🦀".to_owned());
        record.system = Some(agentctl::request::System {
            text: "be brief".to_owned(),
            placement: Default::default(),
        });
    });
    let file = fixture.record_files().into_iter().find(|path| {
        let stem = path.file_stem().unwrap();
        stem.to_str() == Some(cut.key.as_str())
    });
    let file = file.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let record = whole.strip_suffix(b"\n").unwrap();
    for length in 0..record.len() {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(fixture.store.get(&cut.key).unwrap_err().path, file, "cut at {length}");
        let listing = fixture.store.recent(&Filter::default(), 10);
        assert_eq!(listing.records, std::slice::from_ref(&good), "cut at {length}");
        assert_eq!(listing.damaged.len(), 1, "cut at {length}");
    }
    assert!(matches!(
        fixture.store.resolve(cut.key.as_str()),
        Resolution::Damaged(_)
    ));
    assert!(matches!(
        fixture.store.resolve("cut \"here\" 🦀"),
        Resolution::Damaged(_)
    ));
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(fixture.store.get(&cut.key).unwrap(), Some(cut));
}

#[test]
fn a_record_cut_while_it_is_written_again_is_the_one_before() {
    let fixture = Fixture::new();
    let before = fixture.put(1, |_| {});
    let file = fixture.record_files().remove(0);
    let shorter = std::fs::read(&file).unwrap().len();
    let mut after = before.clone();
    after.begin(super::at(2));
    fixture.store.put(&after).unwrap();
    let both = std::fs::read(&file).unwrap();
    assert!(both.len() > shorter, "the second is written behind the first");
    for length in shorter..both.len() - 1 {
        std::fs::write(&file, &both[..length]).unwrap();
        assert_eq!(
            fixture.store.get(&before.key),
            Ok(Some(before.clone())),
            "cut at {length}"
        );
        let listing = fixture.store.recent(&Filter::default(), 10);
        assert_eq!(
            (listing.records.len(), listing.damaged.len()),
            (1, 0),
            "cut at {length}"
        );
        // Whoever goes on begins a line of its own.
        fixture.store.put(&after).unwrap();
        assert_eq!(
            fixture.store.get(&before.key),
            Ok(Some(after.clone())),
            "cut at {length}"
        );
    }
}

#[test]
fn behind_a_torn_line_one_that_cannot_be_understood_hides_those_before_it() {
    let fixture = Fixture::new();
    let record = fixture.put(1, |_| {});
    let file = fixture.record_files().remove(0);
    let whole = std::fs::read_to_string(&file).unwrap();
    // What came before may give more rights than the one that lost its level.
    let strange = whole.replace(r#""permission":"#, r#""permissionOfTomorrow":"#);
    assert_ne!(strange, whole);
    std::fs::write(&file, format!("{whole}{strange}{}", &whole[..whole.len() / 2])).unwrap();
    let damaged = fixture.store.get(&record.key).unwrap_err();
    assert!(damaged.why.contains("permission"), "{damaged:?}");
}

#[test]
fn a_record_that_is_written_often_does_not_grow_without_end() {
    let fixture = Fixture::new();
    let mut record = fixture.put(1, |_| {});
    let file = fixture.record_files().remove(0);
    let mut lengths = HashSet::new();
    for second in 2..40 {
        record.begin(super::at(second));
        fixture.store.put_unsynced(&record).unwrap().sync().unwrap();
        fixture.store.put(&record).unwrap();
        lengths.insert(std::fs::metadata(&file).unwrap().len());
        assert_eq!(fixture.store.get(&record.key), Ok(Some(record.clone())));
    }
    assert!(lengths.len() > 2, "it is added to");
    assert!(lengths.iter().all(|length| *length <= 4096), "{lengths:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_record_is_damage_and_is_not_waited_for() {
    let fixture = Fixture::new();
    let record = fixture.put(1, |_| {});
    let file = fixture.record_files().remove(0);
    std::fs::remove_file(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    assert_eq!(fixture.store.get(&record.key).unwrap_err().why, "it is not a file");
    assert_eq!(fixture.store.recent(&Filter::default(), 10).damaged.len(), 1);
    fixture.store.put(&record).unwrap();
    assert_eq!(fixture.store.get(&record.key), Ok(Some(record)));
}

#[test]
fn a_kill_in_the_middle_of_writing_leaves_the_old_record_or_the_new_one() {
    let fixture = Fixture::new();
    let mut sizes = HashSet::new();
    for round in 0..25 {
        let mut child = helper::start("put forever", fixture.path());
        helper::wait_until_ready(&mut child);
        std::thread::sleep(Duration::from_micros(1000 + 1700 * round));
        kill(&mut child);
        let Some(record) = fixture.store.get(&key(PUT_FOREVER_KEY)).unwrap() else {
            continue;
        };
        assert_eq!(record.options["size"], record.options["filling"].len().to_string());
        let by_native_id = fixture.store.by_native_id("mock", &record.native_id).unwrap();
        assert_eq!(by_native_id.unwrap().key, record.key);
        assert_eq!(fixture.store.last().unwrap().key, record.key);
        sizes.insert(record.options["size"].clone());
    }
    assert!(sizes.len() > 3, "the kills came too early to prove anything: {sizes:?}");
}

#[test]
fn a_record_is_in_the_order_of_use_and_under_its_name_before_it_is_there() {
    let fixture = Fixture::new();
    let older = fixture.put(1, |_| {});
    let sessions = fixture.path().join("sessions");
    let aside = fixture.path().join("aside");
    std::fs::rename(&sessions, &aside).unwrap();
    std::fs::write(&sessions, b"in the way").unwrap();
    let mut newer = super::record(key(PUT_FOREVER_KEY), 2);
    newer.name = Some("a name".to_owned());
    fixture.store.put(&newer).unwrap_err();
    std::fs::remove_file(&sessions).unwrap();
    std::fs::rename(&aside, &sessions).unwrap();
    assert_eq!(
        fixture.store.last(),
        Some(older.clone()),
        "what is not there is skipped"
    );
    let file = sessions.join("k3").join(format!("{PUT_FOREVER_KEY}.json"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, serde_json::to_vec(&newer).unwrap()).unwrap();
    assert_eq!(
        fixture.store.recent(&Filter::default(), 9).records,
        [newer.clone(), older]
    );
    assert_eq!(fixture.store.last_in(&newer.cwd), Some(newer.clone()));
    assert_eq!(fixture.store.by_name("a name").unwrap(), Some(newer));
}

#[test]
fn sixty_four_processes_on_eight_conversations_never_overlap_and_lose_nothing() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.path()).unwrap();
    let mut children: Vec<Child> = (0..64).map(|_| helper::start("converse", fixture.path())).collect();
    let mut killed = HashSet::new();
    for victim in (0..64).step_by(3) {
        std::thread::sleep(Duration::from_millis(u64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 4));
        killed.insert(children[victim].id().to_string());
        kill(&mut children[victim]);
    }
    for (number, child) in children.iter_mut().enumerate() {
        let status = child.wait().unwrap();
        assert!(
            status.success() || number % 3 == 0,
            "a helper that nobody killed failed"
        );
    }
    for conversation in 0..CONVERSATIONS {
        check_conversation(&fixture, conversation, &killed);
    }
    assert_eq!(fixture.store.all(&Filter::default()).damaged, []);
}

/// The log is what happened; the record must tell the same.
fn check_conversation(fixture: &Fixture, conversation: usize, killed: &HashSet<String>) {
    let log = std::fs::read_to_string(fixture.path().join(format!("log-{conversation}"))).unwrap_or_default();
    let mut inside: Option<&str> = None;
    let mut expected = Vec::new();
    for line in log.lines() {
        let (process, what) = line.split_once(' ').unwrap();
        match what {
            "begin" => {
                let before = inside.replace(process);
                assert!(
                    before.is_none_or(|before| killed.contains(before)),
                    "{before:?} was still in: {line}"
                );
            }
            "end" => assert_eq!(inside.take(), Some(process), "{line}"),
            put => {
                assert_eq!(inside, Some(process), "{line}");
                expected.push(put.strip_prefix("put ").unwrap().to_owned());
            }
        }
    }
    let name = helper::conversation_name(conversation);
    let Some(record) = fixture.store.by_name(&name).unwrap() else {
        assert_eq!(expected, [""; 0], "{name} was lost");
        return;
    };
    let chain: Vec<&String> = record.earlier_native_ids.iter().chain([&record.native_id]).collect();
    assert_eq!(record.runs as usize, chain.len());
    // A process killed between its put and its note is in the chain alone.
    let noted: Vec<&String> = chain.iter().filter(|id| expected.contains(id)).copied().collect();
    assert_eq!(noted, expected.iter().collect::<Vec<_>>(), "{name}");
    for id in chain {
        let process = id.split_once('-').unwrap().0;
        assert!(
            expected.contains(id) || killed.contains(process),
            "{id} came from nowhere"
        );
        assert_eq!(fixture.store.by_native_id("mock", id).unwrap().unwrap().key, record.key);
    }
}

#[test]
fn a_conversation_is_free_again_when_its_process_is_killed() {
    let fixture = Fixture::new();
    let mut child = helper::start("claim and sleep", fixture.path());
    helper::wait_until_ready(&mut child);
    let busy = fixture.store.claim_name("a name", Wait::No).unwrap_err();
    assert_eq!(busy.kind, ErrorKind::Busy);
    kill(&mut child);
    fixture
        .store
        .claim_name("a name", Wait::For(Duration::from_secs(60)))
        .unwrap();
}

#[test]
fn a_copy_of_the_descriptor_keeps_the_conversation_taken() {
    let fixture = Fixture::new();
    let claim = fixture.store.claim_name("a name", Wait::No).unwrap();
    let copy = claim.guard.file().unwrap().try_clone().unwrap();
    drop(claim);
    let busy = fixture.store.claim_name("a name", Wait::No).unwrap_err();
    assert_eq!(busy.kind, ErrorKind::Busy);
    drop(copy);
    fixture.store.claim_name("a name", Wait::No).unwrap();
}

/// Ends one helper by its id and reaps it.
fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
