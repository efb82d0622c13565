//! The line that turns while the agent works. It knows the terminal and nothing of events.

use super::canvas::Canvas;
use super::voice::Voice;
use console::Term;
use indicatif::style::ProgressTracker;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const FRAMES: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ";
const TICK: Duration = Duration::from_millis(120);
const FRAMES_PER_SECOND: u8 = 20;
const FRAME_COLUMNS: usize = 2;
/// Some consoles wrap when their last column is written.
const MARGIN_COLUMNS: usize = 1;

pub struct Spinner {
    bar: ProgressBar,
    status: Arc<Mutex<String>>,
}

impl Spinner {
    /// A spinner that counts from `begun`, however often it comes and goes.
    pub fn since(begun: Instant, voice: Voice) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(Canvas::new(voice)), FRAMES_PER_SECOND);
        let bar = ProgressBar::with_draw_target(None, target).with_elapsed(begun.elapsed());
        let status = Arc::default();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {status}") {
            bar.set_style(style.with_key("status", line(&status)).tick_chars(FRAMES));
        }
        bar.enable_steady_tick(TICK);
        Self { bar, status }
    }

    pub fn say(&self, status: String) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
        self.bar.tick();
    }

    /// Makes room for something else to be written above it.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    pub fn clear(self) {
        self.bar.finish_and_clear();
    }
}

/// Time and status, cut to the window as it is at each drawing.
fn line(status: &Arc<Mutex<String>>) -> impl ProgressTracker + use<> {
    let status = Arc::clone(status);
    move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let status = status.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!("{} {status}", stopwatch(state.elapsed()));
        let (_, columns) = Term::stderr().size();
        let room = usize::from(columns).saturating_sub(FRAME_COLUMNS + MARGIN_COLUMNS);
        let _ = out.write_str(&console::truncate_str(&text, room, "…"));
    }
}

/// As a stopwatch shows it: 7s, 1m 07s, 1h 02m.
pub fn stopwatch(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_a_stopwatch_does() {
        let told = [0, 59, 67, 3720].map(|seconds| stopwatch(Duration::from_secs(seconds)));
        assert_eq!(told, ["0s", "59s", "1m 07s", "1h 02m"]);
    }
}
