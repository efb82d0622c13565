//! What the spool promises, with readers that take what the test lets them.

use super::super::standard::Known;
use super::*;
use std::sync::mpsc;

/// A reader that takes one write at a time, when it is told to.
struct Slow {
    allowed: mpsc::Receiver<()>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // When the test has dropped its end, everything may pass.
        let _ = self.allowed.recv();
        self.taken.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn slow() -> (Slow, mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
    let (allow, allowed) = mpsc::channel();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let slow = Slow {
        allowed,
        taken: Arc::clone(&taken),
    };
    (slow, allow, taken)
}

struct Failing(io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn everything_arrives_in_order_through_memory_and_file_while_the_reader_stalls() {
    let (writer, allow, taken) = slow();
    let mut spool = Spool::to(Known(writer, Reader::Unknown));
    let mut expected = Vec::new();
    for index in 0..40_000u32 {
        let line = format!("{index} {}\n", "x".repeat(200));
        expected.extend_from_slice(line.as_bytes());
        spool.push(&mut line.as_bytes().to_vec());
    }
    let memory = spool.shared.lock().memory.capacity();
    assert!(memory <= 4 * MEMORY, "{memory}");
    assert!(spool.shared.lock().spill.is_some(), "the rest is in the file");
    // Let it catch up a little, then push behind what is in the file.
    allow.send(()).unwrap();
    spool.push(&mut b"last\n".to_vec());
    expected.extend_from_slice(b"last\n");
    drop(allow);
    spool.finish(None).unwrap();
    assert!(*taken.lock().unwrap() == expected);
}

#[test]
fn finishing_gives_up_on_a_stalled_reader() {
    let (writer, _allow, _taken) = slow();
    let mut spool = Spool::to(Known(writer, Reader::Unknown));
    spool.push(&mut b"x".to_vec());
    assert!(matches!(
        spool.finish(Some(Duration::from_millis(20))),
        Err(SpoolError::Stalled)
    ));
}

#[test]
fn a_reader_that_stalls_is_waited_for_once_until_it_takes_something() {
    let (writer, allow, _taken) = slow();
    let mut spool = Spool::to(Known(writer, Reader::Unknown));
    spool.push(&mut b"x".to_vec());
    spool.settle(Duration::from_millis(20));
    let start = Instant::now();
    spool.settle(Duration::from_secs(60));
    assert!(start.elapsed() < Duration::from_secs(30));
    allow.send(()).unwrap();
    spool.drain(None);
    spool.push(&mut b"y".to_vec());
    spool.settle(Duration::from_millis(20));
    assert!(spool.shared.lock().stalled, "it was waited for again");
}

#[test]
fn a_closed_reader_is_told_and_what_follows_is_dropped() {
    let mut spool = Spool::to(Known(Failing(io::ErrorKind::BrokenPipe), Reader::Unknown));
    let closed = spool.closed();
    spool.push(&mut b"x".to_vec());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(closed.wait());
    spool.push(&mut b"y".to_vec());
    assert!(spool.shared.lock().memory.is_empty());
    assert!(matches!(spool.finish(None), Err(SpoolError::Closed)));
}

#[test]
fn any_other_failure_is_reported_at_the_end() {
    let mut spool = Spool::to(Known(Failing(io::ErrorKind::StorageFull), Reader::Unknown));
    spool.push(&mut b"x".to_vec());
    match spool.finish(None) {
        Err(SpoolError::Write(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_small_last_word_to_a_ready_reader_needs_no_thread() {
    let (writer, allow, taken) = slow();
    drop(allow);
    let mut spool = Spool::to(Known(writer, Reader::Ready));
    spool.push_last(&mut b"the answer".to_vec());
    assert_eq!(*taken.lock().unwrap(), b"the answer");
    assert_eq!(spool.watch_at(), None);
    spool.finish(None).unwrap();
}

#[test]
fn what_is_said_after_the_last_word_is_written_too() {
    let (writer, allow, taken) = slow();
    drop(allow);
    let mut spool = Spool::to(Known(writer, Reader::Ready));
    for word in [&b"one "[..], b"two ", b"three"] {
        spool.push_last(&mut word.to_vec());
    }
    spool.push(&mut b" four".to_vec());
    // It would wait for ever for what nobody carries.
    spool.finish(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(*taken.lock().unwrap(), b"one two three four");
}

#[test]
fn a_last_word_that_could_wait_is_left_to_the_thread() {
    let small = b"x".to_vec();
    let large = vec![b'x'; SMALL + 1];
    for (reader, word) in [(Reader::Unknown, small.clone()), (Reader::Ready, large)] {
        let (writer, allow, taken) = slow();
        let mut spool = Spool::to(Known(writer, reader));
        spool.push_last(&mut word.clone());
        assert!(taken.lock().unwrap().is_empty(), "nobody was allowed to take it");
        drop(allow);
        spool.finish(None).unwrap();
        assert_eq!(*taken.lock().unwrap(), word);
    }
}

#[test]
fn a_last_word_that_cannot_be_written_is_an_error_at_the_end() {
    for (kind, gone) in [(io::ErrorKind::BrokenPipe, true), (io::ErrorKind::StorageFull, false)] {
        let mut spool = Spool::to(Known(Failing(kind), Reader::Ready));
        spool.push_last(&mut b"x".to_vec());
        assert_eq!(spool.reader_is_gone(), gone);
        assert_eq!(matches!(spool.finish(None), Err(SpoolError::Closed)), gone);
    }
}

#[test]
fn the_reader_is_watched_once_a_run_lasts() {
    let mut spool = Spool::to(Known(io::sink(), Reader::Gone));
    let due = spool.watch_at().unwrap();
    spool.watch(due - LOOK_AFTER / 2);
    assert_eq!(spool.watch_at(), Some(due), "it is too early");
    spool.watch(due);
    assert_eq!(spool.watch_at(), None);
    let closed = spool.closed();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(closed.wait());
}

#[test]
fn a_spool_without_output_finishes_at_once() {
    Spool::to(Known(io::sink(), Reader::Unknown)).finish(None).unwrap();
}

/// A reader that takes so many bytes of each piece at once, and notes from which thread it was given them.
struct Sipping(usize, Arc<Mutex<Vec<(u8, bool)>>>, std::thread::ThreadId);

impl Sipping {
    fn note(&self, bytes: &[u8]) {
        let ours = std::thread::current().id() == self.2;
        self.1.lock().unwrap().extend(bytes.iter().map(|byte| (*byte, ours)));
    }
}

impl Write for Sipping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.note(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outlet for Sipping {
    fn write_now(&mut self, bytes: &[u8]) -> usize {
        let count = self.0.min(bytes.len());
        self.note(&bytes[..count]);
        count
    }
}

#[test]
fn what_is_taken_at_once_needs_no_thread_and_what_is_not_comes_after_it() {
    let taken = Arc::default();
    let mut spool = Spool::to(Sipping(3, Arc::clone(&taken), std::thread::current().id()));
    for word in [&b"abc"[..], b"de", b"fghi", b"j"] {
        spool.push(&mut word.to_vec());
    }
    spool.finish(None).unwrap();
    let taken = taken.lock().unwrap();
    assert_eq!(taken.iter().map(|(byte, _)| *byte).collect::<Vec<_>>(), b"abcdefghij");
    let by_us = taken.iter().take_while(|(_, ours)| *ours).count();
    assert_eq!(by_us, b"abcdefgh".len(), "{taken:?}");
    assert!(taken[by_us..].iter().all(|(_, ours)| !ours), "{taken:?}");
}

#[test]
fn a_large_piece_is_left_to_the_thread() {
    let taken = Arc::default();
    let mut spool = Spool::to(Sipping(usize::MAX, Arc::clone(&taken), std::thread::current().id()));
    spool.push(&mut vec![b'x'; SMALL + 1]);
    spool.finish(None).unwrap();
    assert!(taken.lock().unwrap().iter().all(|(_, ours)| !ours));
}
