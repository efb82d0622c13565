//! Plays a recording in the place of an agent. This is the CLI side, as `agent` is.

use super::agent::{Options, of};
use super::protocol::Line;
use super::recording::{self, Asked, Entry};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

/// Plays a part of a recording: its header names the decoder, its lines go out as they came, its exit code is ours.
pub(super) fn play(path: &Path, options: &Options) -> io::Result<u8> {
    let explain = |error: io::Error| io::Error::new(error.kind(), format!("cannot play {}: {error}", path.display()));
    let open = || std::fs::File::open(path).map(|file| BufReader::with_capacity(1 << 16, file));
    let mut file = open().map_err(explain)?;
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).map_err(explain)?;
    match (recording::header(&line), &options.dialect) {
        (Some(Entry::Recording { conversation, .. }), _) => {
            let part = match (options.played, conversation) {
                (None, Asked::Fresh) => 0,
                _ => part(&recording::parts(open().map_err(explain)?)?, options),
            };
            play_part(io::Cursor::new(&line).chain(file), part, out, options.pace)
        }
        (_, Some(dialect)) => {
            announce(dialect, None, &mut out)?;
            out.write_all(&line)?;
            io::copy(&mut file, &mut out)?;
            out.flush()?;
            Ok(0)
        }
        (_, None) => Err(explain(io::Error::other(
            "it is not a recording of agentctl; for the raw output of a CLI add --option dialect=NAME",
        ))),
    }
}

/// Which part to play: the one after the last that was played, else the first that fits what is asked for. There is
/// always something to play.
fn part(parts: &[Asked], options: &Options) -> usize {
    let last = parts.len().saturating_sub(1);
    match (options.played, &options.resume) {
        (Some(played), _) => played.saturating_add(1).min(last),
        (None, Some(_)) => 0,
        (None, None) => parts.iter().position(|asked| *asked == Asked::Fresh).unwrap_or(0),
    }
}

fn announce(backend: &str, part: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let line = Line {
        text: Some(backend.into()),
        part,
        ..of("play")
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

fn play_part(recording: impl BufRead, wanted: usize, mut out: impl Write, pace: f64) -> io::Result<u8> {
    let mut headers = 0;
    let mut clock = 0;
    let mut code = 0;
    for line in recording.split(b'\n') {
        let line = line?;
        if let Some(Entry::Recording { backend, .. }) = recording::header(&line) {
            headers += 1;
            match headers == wanted + 1 {
                true => announce(&backend, Some(wanted), &mut out)?,
                false if headers > wanted => break,
                false => {}
            }
        }
        if headers <= wanted {
            continue;
        }
        let Ok(entry) = serde_json::from_slice::<Entry<'_>>(&line) else {
            continue;
        };
        let at_ms = match &entry {
            Entry::Recording { .. } => continue,
            Entry::Stdin { at_ms, .. }
            | Entry::Stdout { at_ms, .. }
            | Entry::Stderr { at_ms, .. }
            | Entry::Exit { at_ms, .. } => *at_ms,
        };
        if pace > 0.0 && at_ms > clock {
            out.flush()?;
            std::thread::sleep(Duration::from_millis(at_ms - clock).mul_f64(pace.min(1000.0)));
        }
        clock = clock.max(at_ms);
        match entry {
            Entry::Stdout { line, .. } => {
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
            }
            Entry::Stderr { line: said, .. } => {
                // Two pipes keep no order: the decoder reads it here, in its place; people and messages there.
                out.write_all(&line)?;
                out.write_all(b"\n")?;
                io::stderr().write_all(said.as_bytes())?;
                io::stderr().write_all(b"\n")?;
            }
            Entry::Exit { code: told, signal, .. } => {
                let shell_code = told.or(signal.map(|signal| 128 + signal)).unwrap_or(0);
                code = u8::try_from(shell_code).unwrap_or(1);
            }
            Entry::Recording { .. } | Entry::Stdin { .. } => {}
        }
    }
    out.flush()?;
    Ok(code)
}
