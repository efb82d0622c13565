//! The stand-in for a CLI: writes a stream as fast as it is taken, and exits.

use crate::streams;
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What this process is to play.
pub const ROLE: &str = "AGENTCTL_BENCH_ROLE";

/// Plays a role: `nothing`, `file PATH`, `repeat BACKEND BYTES`, `line BYTES`,
/// `growing ANSWER PIECE` or `clock`.
pub fn play(role: &str) {
    let words: Vec<&str> = role.split(' ').collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    // A reader that goes away is none of our business.
    let _ = match words.as_slice() {
        ["file", path] => File::open(path).and_then(|mut file| io::copy(&mut file, &mut stdout()).map(drop)),
        ["repeat", backend, _] => repeat(backend, number(2)),
        ["line", _] => line(number(1) as usize),
        ["growing", ..] => {
            let mut out = stdout();
            streams::growing_answer(number(1) as usize, number(2) as usize, |line| {
                let _ = out.write_all(line);
            });
            Ok(())
        }
        ["clock"] => clock(),
        _ => Ok(()),
    };
}

/// Standard output without std's buffer, so that the kernel can move a file's pages.
fn stdout() -> File {
    use std::os::fd::AsFd;
    let copy = io::stdout().as_fd().try_clone_to_owned();
    File::from(copy.expect("a standard output"))
}

fn repeat(backend: &str, bytes: u64) -> io::Result<()> {
    let recording = streams::recording(backend);
    let mut out = stdout();
    out.write_all(&recording.head)?;
    // Many at once, as a file would come.
    let at_once = (1 << 20) / recording.body.len() as u64 + 1;
    let many = recording.body.repeat(at_once as usize);
    for _ in 0..recording.repeats(bytes) / at_once {
        out.write_all(&many)?;
    }
    out.write_all(&recording.tail)
}

/// Claude's answer in one piece of so many bytes.
fn line(bytes: usize) -> io::Result<()> {
    let recording = streams::recording("claude");
    let mut out = stdout();
    out.write_all(&recording.head)?;
    out.write_all(br#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":""#)?;
    out.write_all(&vec![b'a'; bytes])?;
    out.write_all(b"\"}]}}\n")?;
    out.write_all(&recording.tail)
}

/// The time since the epoch, the same for all processes.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// An answer that tells when it was written, after everything before it has settled; then the end.
fn clock() -> io::Result<()> {
    let mut out = stdout();
    out.write_all(b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"d5c43934-51e6-45f7-b52e-75afe3cbe846\",\"model\":\"m\",\"tools\":[]}\n")?;
    std::thread::sleep(Duration::from_millis(40));
    let delta = format!(
        "{{\"type\":\"stream_event\",\"event\":{{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"at {} ns\"}}}}}}\n",
        now().as_nanos()
    );
    out.write_all(delta.as_bytes())?;
    std::thread::sleep(Duration::from_millis(10));
    let result = format!(
        "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"end {} ns\",\"session_id\":\"d5c43934-51e6-45f7-b52e-75afe3cbe846\"}}\n",
        now().as_nanos()
    );
    out.write_all(result.as_bytes())
}
