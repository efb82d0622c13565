//! The ladder of states that a run climbs down, from running to gone.
//!
//! It decides what happens next and does nothing: inputs and the time go in, actions come out. No IO, no clock, so
//! every way a run can end is tested by stepping it.

use std::time::{Duration, Instant};

/// How long a run may take, and how patient each step of ending it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The whole run; `None` is no limit.
    pub timeout: Option<Duration>,
    /// The longest silence on both stdout and stderr.
    pub idle_timeout: Option<Duration>,
    /// Between asking the CLI to stop and killing it.
    pub grace: Duration,
    /// How long a CLI may stay after it has said all it will say.
    pub linger: Duration,
    /// How long the pipes are read after the CLI is gone, while something it left behind may hold them.
    pub drain: Duration,
    /// How long a killed tree may take to disappear before it is given up.
    pub kill_wait: Duration,
    /// The longest line of stdout that is kept.
    pub line_cap: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: None,
            idle_timeout: None,
            grace: Duration::from_secs(3),
            linger: Duration::from_secs(5),
            drain: Duration::from_millis(300),
            kill_wait: Duration::from_secs(2),
            line_cap: crate::lines::LINE_CAP,
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The CLI ended by itself.
    Exited,
    /// The CLI had said all it would say and did not go.
    Lingered,
    Timeout,
    IdleTimeout,
    /// We were sent this signal.
    Signal(i32),
    /// Nobody reads our output any more.
    OutputClosed,
    /// The driver asked for it.
    Stopped,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Bytes came on stdout or stderr.
    Output,
    /// The driver knows that nothing more will come.
    Finished,
    /// The driver wants the run to stop.
    Stop,
    Signal(i32),
    OutputClosed,
    /// The CLI's own process ended.
    LeaderExited,
    /// Both stdout and stderr are at their end.
    PipesClosed,
    /// No process of the run is left.
    TreeGone,
    /// Nothing but the time passed.
    Tick,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the CLI to stop, in the way it honours best.
    Ask,
    /// Kill every process of the run.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running {
        silent_since: Instant,
    },
    /// It has said all it will say.
    Finished {
        until: Instant,
    },
    /// It was asked to stop.
    Stopping {
        why: Why,
        kill_at: Instant,
    },
    /// The CLI is gone; what it left behind may still write.
    Draining {
        why: Why,
        until: Instant,
    },
    /// Everything was killed and is not gone yet.
    Killing {
        why: Why,
        until: Instant,
    },
    /// Everything is gone; the pipes still hold something.
    Emptying {
        why: Why,
        until: Instant,
    },
    Ended {
        why: Why,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipes {
    Open,
    Closed,
}

/// Where a run stands.
#[derive(Debug)]
pub struct Ladder {
    limits: Limits,
    state: State,
    pipes: Pipes,
    deadline: Option<Instant>,
}

impl Ladder {
    pub fn new(limits: Limits, now: Instant) -> Self {
        Self {
            deadline: limits.timeout.and_then(|timeout| now.checked_add(timeout)),
            limits,
            state: State::Running { silent_since: now },
            pipes: Pipes::Open,
        }
    }

    /// Why the run ended, once nothing of it is left.
    pub fn ended(&self) -> Option<Why> {
        match self.state {
            State::Ended { why } => Some(why),
            _ => None,
        }
    }

    /// When a `Tick` is due at the latest.
    pub fn wake_at(&self) -> Option<Instant> {
        match self.state {
            State::Running { silent_since } => [self.deadline, self.idle_deadline(silent_since)]
                .into_iter()
                .flatten()
                .min(),
            State::Finished { until } | State::Draining { until, .. } | State::Killing { until, .. } => Some(until),
            State::Emptying { until, .. } => Some(until),
            State::Stopping { kill_at, .. } => Some(kill_at),
            State::Ended { .. } => None,
        }
    }

    /// The time that we were suspended does not count.
    pub fn resumed_after(&mut self, pause: Duration) {
        if let Some(deadline) = &mut self.deadline {
            *deadline += pause;
        }
        match &mut self.state {
            State::Running { silent_since: instant }
            | State::Finished { until: instant }
            | State::Stopping { kill_at: instant, .. }
            | State::Draining { until: instant, .. }
            | State::Killing { until: instant, .. }
            | State::Emptying { until: instant, .. } => *instant += pause,
            State::Ended { .. } => {}
        }
    }

    /// One step. An input that means nothing in the present state changes nothing.
    pub fn step(&mut self, input: Input, now: Instant) -> Option<Action> {
        match input {
            Input::PipesClosed => self.pipes_closed(now),
            Input::TreeGone => self.tree_gone(now),
            Input::LeaderExited => self.leader_exited(now),
            Input::Output => {
                if let State::Running { silent_since } = &mut self.state {
                    *silent_since = now;
                }
                None
            }
            Input::Finished => {
                if let State::Running { .. } = self.state {
                    self.state = State::Finished {
                        until: now + self.limits.linger,
                    };
                }
                None
            }
            Input::Stop => self.ask(Why::Stopped, now),
            Input::OutputClosed => self.ask(Why::OutputClosed, now),
            Input::Signal(signal) => self.signal(signal, now),
            Input::Tick => self.tick(now),
        }
    }

    fn idle_deadline(&self, silent_since: Instant) -> Option<Instant> {
        self.limits.idle_timeout.and_then(|idle| silent_since.checked_add(idle))
    }

    fn ask(&mut self, why: Why, now: Instant) -> Option<Action> {
        match self.state {
            State::Running { .. } | State::Finished { .. } => {
                self.state = State::Stopping {
                    why,
                    kill_at: now + self.limits.grace,
                };
                Some(Action::Ask)
            }
            _ => None,
        }
    }

    /// The first signal asks; another one, while the CLI is being asked, kills. After the CLI is gone a signal has
    /// nothing to change but the patience.
    fn signal(&mut self, signal: i32, now: Instant) -> Option<Action> {
        match self.state {
            State::Stopping { why, .. } | State::Draining { why, .. } => self.kill(why, now),
            State::Emptying { why, .. } => {
                self.state = State::Ended { why };
                None
            }
            _ => self.ask(Why::Signal(signal), now),
        }
    }

    fn kill(&mut self, why: Why, now: Instant) -> Option<Action> {
        self.state = State::Killing {
            why,
            until: now + self.limits.kill_wait,
        };
        Some(Action::Kill)
    }

    fn leader_exited(&mut self, now: Instant) -> Option<Action> {
        let why = match self.state {
            State::Running { .. } | State::Finished { .. } => Why::Exited,
            State::Stopping { why, .. } => why,
            State::Draining { .. } | State::Killing { .. } | State::Emptying { .. } | State::Ended { .. } => {
                return None;
            }
        };
        match self.pipes {
            Pipes::Open => {
                self.state = State::Draining {
                    why,
                    until: now + self.limits.drain,
                };
                None
            }
            Pipes::Closed => self.kill(why, now),
        }
    }

    fn pipes_closed(&mut self, now: Instant) -> Option<Action> {
        self.pipes = Pipes::Closed;
        match self.state {
            State::Draining { why, .. } => self.kill(why, now),
            State::Emptying { why, .. } => {
                self.state = State::Ended { why };
                None
            }
            _ => None,
        }
    }

    fn tree_gone(&mut self, now: Instant) -> Option<Action> {
        let why = match self.state {
            State::Running { .. } | State::Finished { .. } => Why::Exited,
            State::Stopping { why, .. } | State::Draining { why, .. } | State::Killing { why, .. } => why,
            State::Emptying { .. } | State::Ended { .. } => return None,
        };
        self.state = match self.pipes {
            Pipes::Closed => State::Ended { why },
            Pipes::Open => State::Emptying {
                why,
                until: now + self.limits.kill_wait,
            },
        };
        None
    }

    fn tick(&mut self, now: Instant) -> Option<Action> {
        match self.state {
            State::Running { silent_since } => {
                if self.deadline.is_some_and(|deadline| now >= deadline) {
                    self.ask(Why::Timeout, now)
                } else if self.idle_deadline(silent_since).is_some_and(|deadline| now >= deadline) {
                    self.ask(Why::IdleTimeout, now)
                } else {
                    None
                }
            }
            State::Finished { until } if now >= until => self.ask(Why::Lingered, now),
            State::Stopping { why, kill_at } if now >= kill_at => self.kill(why, now),
            State::Draining { why, until } if now >= until => self.kill(why, now),
            State::Killing { until, .. } if now >= until => self.tree_gone(now),
            State::Emptying { why, until } if now >= until => {
                self.state = State::Ended { why };
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGINT: i32 = 2;

    struct Steps {
        ladder: Ladder,
        start: Instant,
    }

    fn limits() -> Limits {
        Limits {
            timeout: Some(Duration::from_secs(100)),
            idle_timeout: Some(Duration::from_secs(30)),
            ..Limits::default()
        }
    }

    impl Steps {
        fn new(limits: Limits) -> Self {
            let start = Instant::now();
            Self {
                ladder: Ladder::new(limits, start),
                start,
            }
        }

        fn at(&mut self, seconds: f64, input: Input) -> Option<Action> {
            self.ladder.step(input, self.start + Duration::from_secs_f64(seconds))
        }

        fn wakes_at(&self) -> Option<f64> {
            self.ladder.wake_at().map(|at| (at - self.start).as_secs_f64())
        }

        /// Everything disappears after the kill.
        fn disappear(&mut self, seconds: f64) {
            assert_eq!(self.at(seconds, Input::LeaderExited), None);
            assert_eq!(self.at(seconds, Input::TreeGone), None);
            assert_eq!(self.ladder.ended(), None);
            assert_eq!(self.at(seconds, Input::PipesClosed), None);
        }
    }

    #[test]
    fn a_cli_that_exits_is_swept_after_its_pipes_close() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::Output), None);
        assert_eq!(steps.at(2.0, Input::LeaderExited), None);
        assert_eq!(steps.at(2.0, Input::PipesClosed), Some(Action::Kill));
        assert_eq!(steps.ladder.ended(), None);
        assert_eq!(steps.at(2.1, Input::TreeGone), None);
        assert_eq!(steps.ladder.ended(), Some(Why::Exited));
        assert_eq!(steps.wakes_at(), None);
    }

    #[test]
    fn pipes_that_close_first_do_not_end_the_run() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::PipesClosed), None);
        assert_eq!(steps.ladder.ended(), None);
        assert_eq!(steps.at(2.0, Input::LeaderExited), Some(Action::Kill));
        assert_eq!(steps.at(2.0, Input::TreeGone), None);
        assert_eq!(steps.ladder.ended(), Some(Why::Exited));
    }

    #[test]
    fn a_grandchild_that_holds_the_pipe_is_killed_after_the_drain() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::LeaderExited), None);
        assert_eq!(steps.wakes_at(), Some(1.3));
        assert_eq!(steps.at(1.2, Input::Output), None);
        assert_eq!(steps.at(1.2, Input::Tick), None);
        assert_eq!(steps.at(1.3, Input::Tick), Some(Action::Kill));
        assert_eq!(steps.at(1.4, Input::TreeGone), None);
        assert_eq!(steps.at(1.4, Input::PipesClosed), None);
        assert_eq!(steps.ladder.ended(), Some(Why::Exited));
    }

    #[test]
    fn a_timeout_asks_then_kills_after_the_grace() {
        let mut steps = Steps::new(limits());
        steps.at(99.0, Input::Output);
        assert_eq!(steps.wakes_at(), Some(100.0));
        assert_eq!(steps.at(100.0, Input::Tick), Some(Action::Ask));
        assert_eq!(steps.at(102.9, Input::Tick), None);
        assert_eq!(steps.at(103.0, Input::Tick), Some(Action::Kill));
        steps.disappear(103.1);
        assert_eq!(steps.ladder.ended(), Some(Why::Timeout));
    }

    #[test]
    fn a_cli_that_obeys_is_not_killed_before_it_is_drained() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(5.0, Input::Stop), Some(Action::Ask));
        assert_eq!(steps.at(5.5, Input::LeaderExited), None);
        assert_eq!(steps.at(5.6, Input::PipesClosed), Some(Action::Kill));
        assert_eq!(steps.at(5.6, Input::TreeGone), None);
        assert_eq!(steps.ladder.ended(), Some(Why::Stopped));
    }

    #[test]
    fn silence_is_measured_from_the_last_output() {
        let mut steps = Steps::new(limits());
        steps.at(20.0, Input::Output);
        assert_eq!(steps.wakes_at(), Some(50.0));
        assert_eq!(steps.at(49.0, Input::Tick), None);
        assert_eq!(steps.at(50.0, Input::Tick), Some(Action::Ask));
        steps.at(53.0, Input::Tick);
        steps.disappear(53.0);
        assert_eq!(steps.ladder.ended(), Some(Why::IdleTimeout));
    }

    #[test]
    fn a_finished_cli_may_linger_for_a_grace_only() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::Finished), None);
        assert_eq!(steps.at(3.0, Input::Finished), None);
        assert_eq!(steps.wakes_at(), Some(6.0));
        assert_eq!(steps.at(6.0, Input::Tick), Some(Action::Ask));
        assert_eq!(steps.at(9.0, Input::Tick), Some(Action::Kill));
        steps.disappear(9.0);
        assert_eq!(steps.ladder.ended(), Some(Why::Lingered));
    }

    #[test]
    fn a_finished_cli_that_exits_ended_by_itself() {
        let mut steps = Steps::new(limits());
        steps.at(1.0, Input::Finished);
        steps.at(2.0, Input::LeaderExited);
        assert_eq!(steps.at(2.0, Input::PipesClosed), Some(Action::Kill));
        steps.at(2.0, Input::TreeGone);
        assert_eq!(steps.ladder.ended(), Some(Why::Exited));
    }

    #[test]
    fn the_first_signal_asks_and_the_second_kills_at_once() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::Signal(SIGINT)), Some(Action::Ask));
        assert_eq!(steps.at(1.1, Input::Signal(15)), Some(Action::Kill));
        assert_eq!(steps.at(1.2, Input::Signal(15)), None);
        steps.disappear(1.3);
        assert_eq!(steps.ladder.ended(), Some(Why::Signal(SIGINT)));
    }

    #[test]
    fn a_signal_during_a_stop_for_another_reason_kills_at_once() {
        let mut steps = Steps::new(limits());
        steps.at(1.0, Input::Stop);
        assert_eq!(steps.at(1.1, Input::Signal(SIGINT)), Some(Action::Kill));
        steps.disappear(1.3);
        assert_eq!(steps.ladder.ended(), Some(Why::Stopped));
    }

    #[test]
    fn a_closed_output_asks_and_keeps_its_reason() {
        let mut steps = Steps::new(limits());
        assert_eq!(steps.at(1.0, Input::OutputClosed), Some(Action::Ask));
        assert_eq!(steps.at(1.1, Input::OutputClosed), None);
        assert_eq!(steps.at(1.1, Input::Stop), None);
        steps.at(1.2, Input::LeaderExited);
        steps.at(1.2, Input::PipesClosed);
        steps.at(1.2, Input::TreeGone);
        assert_eq!(steps.ladder.ended(), Some(Why::OutputClosed));
    }

    #[test]
    fn a_tree_that_does_not_disappear_is_given_up() {
        let mut steps = Steps::new(limits());
        steps.at(1.0, Input::LeaderExited);
        assert_eq!(steps.at(1.3, Input::Tick), Some(Action::Kill));
        assert_eq!(steps.wakes_at(), Some(3.3));
        assert_eq!(steps.at(3.3, Input::Tick), None);
        assert_eq!(steps.at(5.3, Input::Tick), None);
        assert_eq!(steps.ladder.ended(), Some(Why::Exited));
    }

    #[test]
    fn time_spent_suspended_does_not_count() {
        let mut steps = Steps::new(limits());
        steps.ladder.resumed_after(Duration::from_secs(1000));
        assert_eq!(steps.wakes_at(), Some(1030.0));
        steps.at(1020.0, Input::Output);
        assert_eq!(steps.at(1049.0, Input::Tick), None);
        steps.at(1049.0, Input::Output);
        steps.at(1078.0, Input::Output);
        assert_eq!(steps.wakes_at(), Some(1100.0));
    }

    #[test]
    fn no_limits_means_no_timer() {
        let steps = Steps::new(Limits::default());
        assert_eq!(steps.wakes_at(), None);
    }

    #[test]
    fn whatever_happens_in_whatever_order_the_run_ends_once_nothing_is_left() {
        let inputs = [
            Input::Output,
            Input::Finished,
            Input::Stop,
            Input::Signal(SIGINT),
            Input::OutputClosed,
            Input::LeaderExited,
            Input::PipesClosed,
            Input::Tick,
        ];
        // Every sequence of four inputs, each followed by everything going away.
        for code in 0..inputs.len().pow(4) {
            let mut steps = Steps::new(limits());
            for position in 0..4 {
                let input = inputs[code / inputs.len().pow(position) % inputs.len()];
                steps.at(1.0 + f64::from(position), input);
            }
            steps.at(6.0, Input::LeaderExited);
            steps.at(6.0, Input::PipesClosed);
            steps.at(6.0, Input::TreeGone);
            assert!(steps.ladder.ended().is_some(), "{code}: {:?}", steps.ladder);
        }
    }

    #[test]
    fn a_cli_that_ignores_everything_ends_by_the_clock_alone() {
        for first in [
            Input::Stop,
            Input::Signal(SIGINT),
            Input::OutputClosed,
            Input::Finished,
            Input::Tick,
        ] {
            let mut steps = Steps::new(limits());
            steps.at(0.0, first);
            let mut killed = false;
            while let Some(next) = steps.wakes_at() {
                killed |= steps.at(next, Input::Tick) == Some(Action::Kill);
            }
            assert!(killed && steps.ladder.ended().is_some(), "{first:?}");
        }
    }
}
