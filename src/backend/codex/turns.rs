//! Counts the model calls of a run. Codex tells them in three ways, none of which is always there.

use crate::backend::Output;

/// What was seen of the model calls.
///
/// Telemetry tells when the model begins to answer, and when the last tool result of a response is ready: then the next
/// call begins, a whole round trip earlier. Without telemetry (a WebSocket connection, another version) a call is taken
/// to begin when every tool item that was open has completed.
#[derive(Debug, Default)]
pub struct Turns {
    responses: u32,
    batches: u32,
    batch: Batch,
    items: u32,
    /// Tool items were open and all of them have completed.
    items_done: bool,
}

/// The tool calls of one response.
#[derive(Debug, Default)]
struct Batch {
    called: u32,
    answered: u32,
    /// The model has ended its response: no more calls will come.
    complete: bool,
}

impl Turns {
    /// The run began, and with it the first call.
    pub fn started(&mut self, out: &mut Output<'_>) {
        self.tell(out);
    }

    /// The model begins to answer.
    pub fn response(&mut self, out: &mut Output<'_>) {
        self.responses += 1;
        self.tell(out);
    }

    pub fn response_ended(&mut self, out: &mut Output<'_>) {
        self.batch.complete = true;
        self.close_batch(out);
    }

    pub fn tool_called(&mut self) {
        self.batch.called += 1;
    }

    pub fn tool_answered(&mut self, out: &mut Output<'_>) {
        self.batch.answered += 1;
        self.close_batch(out);
    }

    fn close_batch(&mut self, out: &mut Output<'_>) {
        let Batch {
            called,
            answered,
            complete,
        } = self.batch;
        if !complete || answered < called {
            return;
        }
        self.batch = Batch::default();
        if called > 0 {
            self.batches += 1;
            self.tell(out);
        }
    }

    /// A tool item completed; `open` are still running.
    pub fn item_completed(&mut self, open: usize) {
        self.items_done = open == 0;
    }

    /// An item came from the model.
    pub fn item_begun(&mut self, out: &mut Output<'_>) {
        if std::mem::take(&mut self.items_done) {
            self.items += 1;
            self.tell(out);
        }
    }

    fn tell(&self, out: &mut Output<'_>) {
        let seen = match self.responses {
            0 => self.items + 1,
            responses => responses.max(self.batches + 1),
        };
        while out.tally().turns < seen {
            out.turn();
        }
    }
}
