//! Where events go on their way out: to the reporter, the session store, the marker, the progress display and a
//! library caller's callback.

use super::keeper::Keeper;
use crate::backend::Sink;
use crate::event::{Event, EventResult};
use crate::marker::Marker;
use crate::report::{Progress, Report, Spool};
use crate::supervise::Parting;
use std::borrow::Cow;
use std::time::Duration;

/// A library caller's streaming callback.
pub type OnEvent<'a> = dyn FnMut(&Event<'_>) + 'a;

pub(super) struct Stage<'a> {
    pub report: &'a mut dyn Report,
    /// Bytes for stdout that were not handed on yet.
    pub out: Vec<u8>,
    /// Where they go.
    pub spool: Option<Spool>,
    pub progress: &'a mut dyn Progress,
    pub keeper: Option<Keeper>,
    pub marker: Option<Marker>,
    pub callback: Option<&'a mut OnEvent<'a>>,
    /// The guard of the last process, which ends while the session is brought to the disk.
    pub parting: Option<Parting>,
    /// Warnings that are not of one process but of the run; its result has them too.
    pub warnings: Vec<String>,
    /// What is told on stderr once the answer is out.
    pub last_warnings: Vec<String>,
    /// How many texts, thoughts and tool calls there were: the agent gets on.
    pub progress_count: u64,
}

/// How long a progress line waits for the answer that comes before it on the same terminal, and the answer for a line that
/// was told before it.
const SHARED_PATIENCE: Duration = Duration::from_millis(100);

/// How long the last words on stderr wait for the end of the answer: both may be one file.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// The most that is gathered before it is handed on.
const AT_ONCE: usize = 256 << 10;

impl<'a> Stage<'a> {
    /// For a run that nobody else looks into.
    pub fn new(
        report: &'a mut dyn Report,
        progress: &'a mut dyn Progress,
        spool: Option<Spool>,
        keeper: Option<Keeper>,
    ) -> Self {
        Self {
            report,
            out: Vec::new(),
            spool,
            progress,
            keeper,
            marker: None,
            callback: None,
            parting: None,
            warnings: Vec::new(),
            last_warnings: Vec::new(),
            progress_count: 0,
        }
    }
}

impl Stage<'_> {
    /// Hands on what was reported.
    pub fn flush(&mut self) {
        self.hand_on(Spool::push);
    }

    /// Hands on the last of what was reported.
    pub fn flush_last(&mut self) {
        self.hand_on(Spool::push_last);
    }

    fn hand_on(&mut self, push: fn(&mut Spool, &mut Vec<u8>)) {
        if let (Some(spool), false) = (&mut self.spool, self.out.is_empty()) {
            // Both may go to one terminal or one file.
            self.progress.settle(SHARED_PATIENCE);
            push(spool, &mut self.out);
        }
        self.out.clear();
    }

    /// On a terminal that the answer shares with the progress display: waits a moment until the answer so far is there.
    pub fn settle(&mut self) {
        self.flush();
        if let (Some(spool), true) = (&self.spool, self.progress.shares_the_terminal()) {
            spool.settle(SHARED_PATIENCE);
        }
    }

    /// Shows a raw line, after the answer so far if that is on the same terminal.
    pub fn trace(&mut self, what: &str, line: &str) {
        if self.progress.shares_the_terminal() {
            self.settle();
        }
        self.progress.trace(what, line);
    }

    /// Tells how the run ended, after the answer if both go to the same place.
    pub fn conclude(&mut self, result: &EventResult) {
        self.settle();
        let has_more_to_say = result.error.is_some() || !self.last_warnings.is_empty();
        if let (Some(spool), true) = (&self.spool, has_more_to_say) {
            spool.drain(Some(LAST_PATIENCE));
        }
        for message in self.last_warnings.drain(..) {
            self.progress.event(&Event::Warning {
                message: Cow::Owned(message),
            });
        }
        self.progress.result(result);
    }

    /// Lets the progress display say something. On a terminal that it shares with the answer, the answer so far comes
    /// first.
    fn show(&mut self, event: &Event<'_>) {
        if self.progress.shares_the_terminal() && !matches!(event, Event::Text { .. }) {
            self.settle();
        }
        self.progress.event(event);
    }

    pub fn warn(&mut self, message: String) {
        self.event(&Event::Warning {
            message: Cow::Owned(message),
        });
    }

    /// A warning that the result of no process has.
    pub fn warn_of_run(&mut self, message: String) {
        self.warnings.push(message.clone());
        self.warn(message);
    }

    /// A warning when nothing else will come but the result. A display on the answer's terminal knows whether its line is
    /// open; everybody else is told when the answer has its end.
    pub fn warn_last(&mut self, message: String) {
        if self.progress.shares_the_terminal() {
            return self.warn(message);
        }
        self.hand_out(&Event::Warning {
            message: Cow::Borrowed(&message),
        });
        self.last_warnings.push(message);
    }

    fn emit(&mut self, event: &Event<'_>) {
        self.show(event);
        self.hand_out(event);
    }

    fn hand_out(&mut self, event: &Event<'_>) {
        self.report.event(event, &mut self.out);
        // A line of the CLI can be many events; what is done is not kept until the last.
        if self.out.len() > AT_ONCE {
            self.flush();
        }
        if let Some(callback) = &mut self.callback {
            callback(event);
        }
    }
}

impl Sink for Stage<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Session { session_id, model, .. } => {
                let warning = self.keeper.as_mut().and_then(|keeper| keeper.begin(session_id));
                let key = self.keeper.as_ref().and_then(Keeper::key);
                self.emit(&Event::Session {
                    session_id: Cow::Borrowed(session_id),
                    session: key.map(Cow::Owned),
                    model: model.as_deref().map(Cow::Borrowed),
                });
                if let Some(message) = warning {
                    self.warn_of_run(message);
                }
            }
            Event::Text { text } => {
                self.progress_count += 1;
                if let Some(marker) = &mut self.marker {
                    marker.feed(text);
                }
                self.emit(event);
            }
            Event::Thinking { .. } | Event::ToolStart { .. } | Event::ToolEnd { .. } => {
                self.progress_count += 1;
                self.emit(event);
            }
            _ => self.emit(event),
        }
    }
}
