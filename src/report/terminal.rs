//! Progress for a person at a terminal: a spinner with what the agent is doing, a line for each tool, a closing line
//! with what it took and how to go on. All of it on stderr. Not for `--quiet`.

use super::diagnostic::{failure_text, painted};
use super::progress::Progress;
use super::sanitize;
use super::spinner::{Spinner, stopwatch};
use super::spool::SpoolError;
use super::voice::Voice;
use crate::decide::Verbosity;
use crate::event::{Event, EventResult, Usage};
use crate::tool::ToolKind;
use owo_colors::{OwoColorize, Style};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// How the terminal is used.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub colored: bool,
    pub answer: AnswerPlace,
    pub verbosity: Verbosity,
}

/// Where the answer goes, seen from the spinner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPlace {
    /// Not here, or not before it is whole.
    Elsewhere,
    /// Into a pipe as it comes. Whoever reads it may well show it here (`| tee`), and where the cursor is then, nobody
    /// knows: once the agent talks there is no spinner any more.
    Piped,
    /// To the same terminal as it comes, so the spinner must keep out of its way.
    HereStreamed,
    /// To the same terminal once it is whole.
    HereAtTheEnd,
}

/// The longest argument of a tool that is shown.
const ARGUMENT_SHOWN: usize = 60;

const MINUTE: Duration = Duration::from_secs(60);

/// How long a display that is dropped in the middle waits until its line is cleared.
const LEAVING: Duration = Duration::from_millis(100);

pub struct Terminal {
    look: Look,
    voice: Voice,
    backend: String,
    /// There is none while the agent talks on the same terminal.
    spinner: Option<Spinner>,
    begun: Instant,
    /// The calls that are open, the newest last: their ids, and what is shown for each.
    tools: Vec<(String, String)>,
    turns: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    /// The answer's last line is not ended: something else must begin a line of its own.
    open_line: bool,
    /// The agent has talked.
    said: bool,
    /// There was a spinner when we were stopped.
    resting: bool,
}

impl Terminal {
    pub fn new(backend: &str, look: Look, voice: Voice) -> Self {
        let mut terminal = Self {
            look,
            voice,
            backend: backend.to_owned(),
            spinner: None,
            begun: Instant::now(),
            tools: Vec::new(),
            turns: 0,
            usage: Usage::default(),
            cost_usd: None,
            open_line: false,
            said: false,
            resting: false,
        };
        terminal.spin();
        terminal
    }

    /// Shows the spinner, on a line of its own.
    fn spin(&mut self) {
        self.end_line();
        if self.spinner.is_none() && !(self.said && self.look.answer == AnswerPlace::Piped) {
            self.spinner = Some(Spinner::since(self.begun, self.voice.clone()));
        }
        self.describe();
    }

    fn clear(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.clear();
        }
    }

    /// Ends the answer's last line, if it is open on this terminal.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.open_line) {
            self.voice.say("\n");
        }
    }

    /// What the spinner says.
    fn describe(&self) {
        let Some(spinner) = &self.spinner else { return };
        let mut message = self.backend.clone();
        if self.turns > 1 {
            let _ = write!(message, " · turn {}", self.turns);
        }
        if self.usage.total_tokens > 0 {
            let _ = write!(message, " · {} tokens", count(self.usage.total_tokens));
        }
        if let Some(cost) = self.cost_usd.and_then(dollars) {
            let _ = write!(message, " · {cost}");
        }
        // Of calls at the same time, the newest that is not done yet. It may be long, and a narrow window cuts the end.
        if let Some((_, tool)) = self.tools.last() {
            let _ = write!(message, " · {tool}");
        }
        spinner.say(message);
    }

    /// A line above the spinner.
    fn say(&mut self, line: &str, style: Style) {
        self.put(match self.look.colored {
            true => format!("{}\n", line.style(style)),
            false => format!("{line}\n"),
        });
    }

    /// The same for a line with a label.
    fn diagnostic(&mut self, line: &str) {
        self.put(match self.look.colored {
            true => format!("{}\n", painted(line)),
            false => format!("{line}\n"),
        });
    }

    fn put(&mut self, line: String) {
        self.end_line();
        let write = || self.voice.say(line);
        match &self.spinner {
            Some(spinner) => spinner.suspend(write),
            None => write(),
        }
    }

    fn tool_start(&mut self, id: &str, name: &str, kind: ToolKind, input: Option<&serde_json::value::RawValue>) {
        let argument = input.and_then(|input| argument(input.get()));
        let label = match (kind, argument) {
            (ToolKind::Other, Some(argument)) => format!("{name} {argument}"),
            (ToolKind::Other, None) => name.to_owned(),
            (kind, Some(argument)) => format!("{kind} {argument}"),
            (kind, None) => kind.name().to_owned(),
        };
        let label = sanitize::line(&label);
        self.tools.push((id.to_owned(), label));
        self.spin();
    }

    fn tool_end(&mut self, id: &str, name: &str, ok: bool, denied: bool) {
        let label = match self.tools.iter().rposition(|(open, _)| open == id) {
            Some(position) => self.tools.remove(position).1,
            None => sanitize::line(name),
        };
        self.describe();
        match (ok, denied) {
            (true, _) => self.say(&format!("✓ {label}"), Style::new().dimmed()),
            (false, true) => self.say(&format!("✗ {label} (refused)"), Style::new().red()),
            (false, false) => self.say(&format!("✗ {label}"), Style::new().dimmed()),
        }
        self.spin();
    }

    fn closing_line(&self, result: &EventResult) -> String {
        let mut parts = vec![self.backend.clone()];
        parts.extend(result.model.clone());
        parts.push(plural(u64::from(result.turns), "turn"));
        if result.usage.total_tokens > 0 {
            let noun = if result.usage.total_tokens == 1 {
                "token"
            } else {
                "tokens"
            };
            parts.push(format!("{} {noun}", count(result.usage.total_tokens)));
        }
        parts.extend(result.cost_usd.and_then(dollars));
        parts.push(match Duration::from_millis(result.duration_ms) {
            short if short < MINUTE => format!("{:.1}s", short.as_secs_f64()),
            long => stopwatch(long),
        });
        parts.extend(
            result
                .session
                .as_ref()
                .map(|key| format!("agentctl resume {}", short(key))),
        );
        sanitize::line(&parts.join(" · "))
    }
}

impl Progress for Terminal {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { text } if matches!(self.look.answer, AnswerPlace::HereStreamed | AnswerPlace::Piped) => {
                // While the agent talks the line is its own; the spinner comes back with the next tool.
                self.clear();
                self.open_line = !text.ends_with('\n');
                self.said = true;
            }
            Event::ToolStart { id, name, kind, input } => self.tool_start(id, name, *kind, input.as_deref()),
            Event::ToolEnd {
                id, name, ok, denied, ..
            } => self.tool_end(id, name, *ok, *denied),
            Event::Usage { usage, cost_usd } => {
                (self.usage, self.cost_usd) = (*usage, *cost_usd);
                self.describe();
            }
            Event::Retry { attempt, reason, .. } => {
                let text = format!("retry {attempt}: {}", sanitize::line(reason));
                self.say(&text, Style::new().yellow());
            }
            Event::Warning { message } => {
                self.diagnostic(&format!("warning: {}", sanitize::line(message)));
            }
            _ => {}
        }
    }

    fn turns(&mut self, turns: u32) {
        if self.turns != turns {
            self.turns = turns;
            self.describe();
        }
    }

    fn shares_the_terminal(&self) -> bool {
        matches!(self.look.answer, AnswerPlace::HereStreamed | AnswerPlace::HereAtTheEnd)
    }

    fn trace(&mut self, what: &str, line: &str) {
        if self.look.verbosity == Verbosity::Verbose {
            let text = format!("{what} {}", sanitize::line(line));
            self.say(&text, Style::new().dimmed());
        }
    }

    fn make_room(&mut self) {
        self.clear();
    }

    fn suspending(&mut self) {
        self.resting = self.spinner.is_some();
        self.clear();
        self.voice.settle(LEAVING);
    }

    fn resumed(&mut self) {
        if std::mem::take(&mut self.resting) {
            self.spin();
        }
    }

    fn result(&mut self, result: &EventResult) {
        self.clear();
        if let Some(failure) = &result.error {
            let text = sanitize::text(failure_text(failure).trim_end(), sanitize::Harmless::Pictured);
            self.diagnostic(&text);
        }
        let text = self.closing_line(result);
        self.say(&text, Style::new().dimmed());
    }

    fn output_failed(&mut self, error: &SpoolError) {
        self.diagnostic(&format!("error: {error}"));
    }

    fn settle(&self, patience: Duration) {
        self.voice.settle(patience);
    }

    fn finish(&mut self, patience: Option<Duration>) {
        self.clear();
        self.voice.finish(patience);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.clear();
        self.voice.settle(LEAVING);
    }
}

/// The one value that tells most about a call: a command, a path, a pattern.
fn argument(input: &str) -> Option<String> {
    const TELLING: &[&str] = &[
        "command",
        "cmd",
        "file_path",
        "filePath",
        "path",
        "pattern",
        "query",
        "url",
        "description",
        "prompt",
    ];
    let input: serde_json::Map<String, serde_json::Value> = serde_json::from_str(input).ok()?;
    let told = TELLING
        .iter()
        .find_map(|key| input.get(*key))
        .or_else(|| input.values().next())?;
    let text = match told {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut short: String = text.chars().take(ARGUMENT_SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    Some(short)
}

/// Money that was spent; what rounds to nothing is not worth a word.
fn dollars(cost: f64) -> Option<String> {
    (cost >= 0.00005).then(|| format!("${cost:.4}"))
}

fn short(key: &str) -> &str {
    key.get(..8).unwrap_or(key)
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number as people say it: 950, 1.2k, 3.4M.
fn count(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_argument_is_shown_short() {
        assert_eq!(
            argument(r#"{"description":"d","command":"ls -l"}"#).as_deref(),
            Some("ls -l")
        );
        assert_eq!(argument(r#"{"x":["a"]}"#).as_deref(), Some("[\"a\"]"));
        assert!(
            argument(&format!(r#"{{"path":"{}"}}"#, "p".repeat(200)))
                .unwrap()
                .ends_with('…')
        );
        assert_eq!(argument("[]"), None);
    }

    #[test]
    fn numbers_are_said_as_people_say_them() {
        assert_eq!([count(950), count(1234), count(3_400_000)], ["950", "1.2k", "3.4M"]);
    }
}
