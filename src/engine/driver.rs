//! Drives one process: lines to the protocol, what the protocol says to the stage, and the limits that a CLI does not
//! have itself.

use super::keeper::Keeper;
use super::recorder::Recorder;
use super::stage::Stage;
use crate::backend::{Command, Output, Protocol, Tally};
use crate::event::{Event, Resumed};
use crate::mask::Mask;
use crate::outcome::{self, Ended};
use crate::report::Spool;
use crate::request::Conversation;
use crate::supervise::{self, Stream};
use std::time::{Duration, Instant};

/// What agentctl itself puts an end to.
#[derive(Clone, Debug)]
pub(super) struct Rules<'a> {
    pub display_name: &'a str,
    pub conversation: &'a Conversation,
    /// For CLIs without a turn limit of their own.
    pub max_turns: Option<u32>,
    pub retry_for: Option<Duration>,
    /// Also for CLIs that count tries in another way.
    pub max_retries: Option<u32>,
    /// A conversation that is not there may begin anew.
    pub or_new: bool,
}

/// A stretch of retries without progress.
#[derive(Debug, Default)]
struct Retrying {
    /// How many there are.
    count: u32,
    since: Option<Instant>,
    /// How many were told in the whole run so far.
    told: u32,
    /// What the run had come to when the last of them began: tool calls, and all that the agent said and did.
    tool_calls: u32,
    answered: Option<u64>,
}

pub(super) struct RunDriver<'a, 's> {
    pub protocol: Box<dyn Protocol>,
    pub tally: Tally,
    pub stage: &'a mut Stage<'s>,
    pub rules: Rules<'a>,
    pub recorder: Option<Recorder>,
    /// Set with `--verbose`.
    pub mask: Option<&'a Mask>,
    pub raw_events: bool,
    commands: Vec<Command>,
    retrying: Retrying,
    /// Who stopped the run, if it was one of the rules.
    pub stopped: Option<Ended>,
}

impl<'a, 's> RunDriver<'a, 's> {
    pub fn new(protocol: Box<dyn Protocol>, stage: &'a mut Stage<'s>, rules: Rules<'a>) -> Self {
        Self {
            protocol,
            tally: Tally::default(),
            stage,
            rules,
            recorder: None,
            mask: None,
            raw_events: false,
            commands: Vec::new(),
            retrying: Retrying::default(),
            stopped: None,
        }
    }

    /// The process is gone: the protocol's last word.
    pub fn finish(&mut self, exit: crate::backend::ExitStatus) {
        let mut out = Output::new(&mut self.tally, self.stage, &mut self.commands);
        self.protocol.finish(exit, &mut out);
        self.stage.flush();
    }

    fn trace(&mut self, what: &str, line: &[u8]) {
        if let Some(mask) = self.mask {
            self.stage.trace(what, &mask.apply(&String::from_utf8_lossy(line)));
        }
    }

    fn apply_rules(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        if let Some(limit) = self.rules.max_turns
            && self.tally.turns > limit
            && !self.tally.completed
        {
            self.stop(Ended::TurnLimit);
        } else if self.is_another_conversation() {
            let asked = self.rules.conversation.continuation();
            let asked = asked
                .map(|continuation| continuation.native_id.as_str())
                .unwrap_or_default();
            self.tally.completed = false;
            self.tally.failure = Some(outcome::session_not_found(self.rules.display_name, asked));
            self.stop(Ended::ByProtocol);
        }
        if self.tally.retries > self.retrying.told || self.retrying.since.is_some() {
            // The clock is not asked for every line.
            self.watch_retries(Instant::now());
        }
    }

    /// A resume that silently began something new must not go on working in it.
    fn is_another_conversation(&self) -> bool {
        let reported = self.tally.session_id.as_deref();
        !self.rules.or_new
            && reported.is_some()
            && matches!(self.rules.conversation, Conversation::Resume(_))
            && outcome::resumed(self.rules.conversation, reported) == Resumed::Fresh
    }

    /// Stops a CLI that tries again too often, or for too long. Only a tool call makes retries forgotten; while the
    /// agent speaks, time does not count.
    fn watch_retries(&mut self, now: Instant) {
        let tally = &self.tally;
        let said = self.stage.progress_count;
        if tally.tool_calls > self.retrying.tool_calls || tally.completed {
            self.retrying = Retrying {
                told: self.retrying.told,
                tool_calls: tally.tool_calls,
                ..Retrying::default()
            };
        }
        if tally.retries > self.retrying.told {
            self.retrying.count += tally.retries - self.retrying.told;
            self.retrying.told = tally.retries;
            let silent = self.retrying.answered == Some(said);
            self.retrying.since = self.retrying.since.filter(|_| silent).or(Some(now));
            self.retrying.answered = Some(said);
        }
        let too_often = self.rules.max_retries.is_some_and(|most| self.retrying.count > most);
        let too_long = self.patience_ends().is_some_and(|end| now >= end);
        if (too_often || too_long) && self.stopped.is_none() {
            self.stop(Ended::RetryLimit);
        }
    }

    /// When the patience with retries is over, if they lead to nothing until then.
    fn patience_ends(&self) -> Option<Instant> {
        let silent = self.retrying.answered == Some(self.stage.progress_count);
        match (self.retrying.since, self.rules.retry_for) {
            (Some(since), Some(patience)) if silent => since.checked_add(patience),
            _ => None,
        }
    }

    fn stop(&mut self, ended: Ended) {
        self.stopped = Some(ended);
        self.commands.push(Command::Stop);
    }
}

impl supervise::Driver for RunDriver<'_, '_> {
    fn started(&mut self) {
        if let Some(keeper) = &self.stage.keeper {
            keeper.prepare();
        }
    }

    fn stdout(&mut self, line: &[u8]) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stdout(line);
        }
        self.trace("<", line);
        if self.raw_events {
            let raw = Event::Raw {
                line: String::from_utf8_lossy(line),
            };
            self.stage.report.event(&raw, &mut self.stage.out);
        }
        let mut out = Output::new(&mut self.tally, self.stage, &mut self.commands);
        self.protocol.stdout(line, &mut out);
        self.apply_rules();
    }

    fn stderr(&mut self, line: &[u8]) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stderr(line);
        }
        self.trace("!", line);
        let mut out = Output::new(&mut self.tally, self.stage, &mut self.commands);
        self.protocol.stderr(line, &mut out);
        self.apply_rules();
    }

    fn dropped(&mut self, stream: Stream, bytes: u64) {
        let stream = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let message = format!("a line of {bytes} bytes on {stream} was too long and was dropped");
        Output::new(&mut self.tally, self.stage, &mut self.commands).warning(&message);
    }

    fn batch_end(&mut self) {
        self.stage.progress.turns(self.tally.turns);
        self.stage.flush();
    }

    fn suspending(&mut self) {
        self.stage.progress.suspending();
    }

    fn resumed(&mut self) {
        self.stage.progress.resumed();
    }

    fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    fn wake_at(&self) -> Option<Instant> {
        let out_of_patience = self.stopped.is_none().then(|| self.patience_ends()).flatten();
        let sync = self.stage.keeper.as_ref().and_then(Keeper::sync_at);
        let watch = self.stage.spool.as_ref().and_then(Spool::watch_at);
        [out_of_patience, sync, watch].into_iter().flatten().min()
    }

    fn tick(&mut self, now: Instant) {
        if let Some(keeper) = &mut self.stage.keeper {
            keeper.sync(now);
        }
        if let Some(spool) = &mut self.stage.spool {
            spool.watch(now);
        }
        self.watch_retries(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Discard, Silent};

    struct Mute;

    impl Protocol for Mute {
        fn stdout(&mut self, _line: &[u8], _out: &mut Output<'_>) {}
    }

    #[test]
    fn each_dropped_line_is_told_and_not_all_are_kept_for_the_result() {
        let mut told = 0;
        let mut count = |event: &Event<'_>| told += u32::from(matches!(event, Event::Warning { .. }));
        let (mut report, mut progress) = (Discard, Silent);
        let mut stage = Stage {
            callback: Some(&mut count),
            ..Stage::new(&mut report, &mut progress, None, None)
        };
        let rules = Rules {
            display_name: "Mute",
            conversation: &Conversation::Fresh { id: uuid::Uuid::nil() },
            max_turns: None,
            retry_for: None,
            max_retries: None,
            or_new: false,
        };
        let mut driver = RunDriver::new(Box::new(Mute), &mut stage, rules);
        for bytes in 0..1000 {
            supervise::Driver::dropped(&mut driver, Stream::Stdout, bytes);
        }
        let kept = driver.tally.warnings.len();
        assert!((1..=100).contains(&kept), "{kept}");
        assert_eq!(told, 1000);
    }
}
