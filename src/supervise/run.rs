//! One headless run: every input (stdout, stderr, exit, timers, signals, stdin, a closed output) enters one loop, and
//! the ladder decides what follows.

use super::driver::{Driver, Stream};
use super::error::{SpawnError, SpawnStep};
use super::feed::Feed;
use super::ladder::{Action, Input, Ladder, Limits, Why};
use super::scratch::Scratch;
use super::signals::{self, Signals};
use super::spawn::{Spawn, TreeEvent};
use super::tail::Tail;
use super::tree::Tree;
use super::{environment, output_closed::OutputClosed};
use crate::backend::{Command, ExitStatus, Launch};
use crate::lines::{Frame, Framer};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};

/// How much of stderr is kept for messages.
const STDERR_TAIL: usize = 8 << 10;
/// A line of stderr is for people: a longer one is noise.
const STDERR_LINE_CAP: usize = 1 << 20;

/// Whether the signals of our process belong to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalPolicy {
    /// SIGINT, SIGTERM and SIGHUP end the run, SIGTSTP suspends it. For the command; one run at a time. Afterwards one
    /// late signal is held back, for a result that is being written.
    Handle,
    /// The caller looks after its own signals.
    Leave,
}

/// What a run needs.
pub struct Run<'a> {
    pub launch: &'a Launch,
    /// The environment before the changes of `launch.env`.
    pub env: &'a BTreeMap<OsString, OsString>,
    pub limits: &'a Limits,
    pub signals: SignalPolicy,
    /// A lock file that must stay locked until the tree is gone, even if we are killed.
    pub keep_open: Option<&'a File>,
    /// `launch.files` are made in it, and it is removed even if we are killed. It keeps the run's guard afterwards,
    /// for as long as it lives itself.
    pub scratch: Option<&'a mut Scratch>,
    /// Ends the run when nobody reads our output any more.
    pub output_closed: Option<&'a OutputClosed>,
}

/// How a run ended. No process of it is left, as far as the platform can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub why: Why,
    pub exit: ExitStatus,
    /// The last lines of stderr.
    pub stderr_tail: String,
}

struct Reader<P> {
    pipe: Option<P>,
    framer: Framer,
    stream: Stream,
}

impl<P: AsyncRead + Unpin> Reader<P> {
    fn new(pipe: P, cap: usize, stream: Stream) -> Self {
        Self {
            pipe: Some(pipe),
            framer: Framer::new(cap),
            stream,
        }
    }

    /// Reads once; the end of the stream and an error are the same. Cancelling it loses nothing.
    async fn read(&mut self) -> usize {
        match &mut self.pipe {
            Some(pipe) => pipe.read(self.framer.space()).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Hands over what a read brought, or at the end of the stream what is left.
    fn hand_over(&mut self, count: usize, driver: &mut dyn Driver, tail: &mut Tail) {
        self.framer.filled(count);
        driver.received(self.stream, count);
        loop {
            let frame = match count {
                0 => self.framer.last_frame(),
                _ => self.framer.next_frame(),
            };
            match (frame, self.stream) {
                (Some(Frame::Line(line)), Stream::Stdout) => driver.stdout(line),
                (Some(Frame::Line(line)), Stream::Stderr) => {
                    tail.push(line);
                    driver.stderr(line);
                }
                (Some(Frame::Dropped(bytes)), stream) => driver.dropped(stream, bytes),
                (None, _) => break,
            }
        }
        if count == 0 {
            self.pipe = None;
        }
    }
}

/// Starts the CLI, feeds and reads it until it ends or is ended, and leaves no process behind.
///
/// Dropping the future ends the tree too.
pub async fn run(run: Run<'_>, driver: &mut dyn Driver) -> Result<Ending, SpawnError> {
    let Run { launch, scratch, .. } = run;
    if let Some(scratch) = &scratch {
        let made = scratch.fill(&launch.files);
        made.map_err(|error| SpawnError::new(SpawnStep::Scratch, launch, error))?;
    }
    let mut signals = match run.signals {
        SignalPolicy::Handle => Signals::install().map_err(|error| SpawnError::new(SpawnStep::Fork, launch, error))?,
        SignalPolicy::Leave => None,
    };
    let token = uuid::Uuid::new_v4().to_string();
    let env = environment::of_launch(run.env, launch, &token);
    let (tree, pipes) = Tree::spawn(&Spawn {
        launch,
        env: &env,
        token: &token,
        keep_open: run.keep_open,
        scratch: scratch.as_ref().and_then(|scratch| scratch.path()),
    })?;
    driver.started();
    let mut supervision = Supervision {
        launch,
        tree,
        feed: Feed::new(pipes.stdin, &launch.stdin),
        stdout: Reader::new(pipes.stdout, run.limits.line_cap, Stream::Stdout),
        stderr: Reader::new(pipes.stderr, STDERR_LINE_CAP, Stream::Stderr),
        ladder: Ladder::new(run.limits.clone(), Instant::now()),
        tail: Tail::new(STDERR_TAIL),
        exit: ExitStatus::default(),
        driver,
    };
    let why = supervision.supervise(&mut signals, run.output_closed).await?;
    let Supervision { tree, exit, tail, .. } = supervision;
    match scratch {
        Some(scratch) => scratch.keep(tree.into_keeper()),
        None => tree.end().await,
    }
    Ok(Ending {
        why,
        exit,
        stderr_tail: tail.text(),
    })
}

struct Supervision<'a> {
    launch: &'a Launch,
    tree: Tree,
    feed: Feed,
    stdout: Reader<ChildStdout>,
    stderr: Reader<ChildStderr>,
    ladder: Ladder,
    tail: Tail,
    exit: ExitStatus,
    driver: &'a mut dyn Driver,
}

/// What woke the loop.
enum Wake {
    Tree(TreeEvent),
    Stdout(usize),
    Stderr(usize),
    Fed,
    Signal(i32),
    Timer,
    OutputClosed,
}

impl Supervision<'_> {
    async fn supervise(
        &mut self,
        signals: &mut Option<Signals>,
        output: Option<&OutputClosed>,
    ) -> Result<Why, SpawnError> {
        let mut output = output;
        loop {
            if let Some(why) = self.ladder.ended() {
                return Ok(why);
            }
            let wake = self.wait(signals, output).await;
            match wake {
                Wake::Tree(event) => self.tree_event(event)?,
                Wake::Stdout(count) => {
                    self.stdout.hand_over(count, self.driver, &mut self.tail);
                    self.after_read(count);
                }
                Wake::Stderr(count) => {
                    self.stderr.hand_over(count, self.driver, &mut self.tail);
                    self.after_read(count);
                }
                Wake::Fed => {}
                Wake::Signal(signal) if signals::is_suspend(signal) => self.suspend(),
                Wake::Signal(signal) => self.step(Input::Signal(signal)),
                Wake::Timer => {
                    self.driver.tick(Instant::now());
                    self.step(Input::Tick);
                }
                Wake::OutputClosed => {
                    output = None;
                    self.step(Input::OutputClosed);
                }
            }
            self.obey_driver();
        }
    }

    async fn wait(&mut self, signals: &mut Option<Signals>, output: Option<&OutputClosed>) -> Wake {
        let timer = [self.ladder.wake_at(), self.driver.wake_at()]
            .into_iter()
            .flatten()
            .min();
        tokio::select! {
            event = self.tree.event() => Wake::Tree(event),
            count = self.stdout.read() => Wake::Stdout(count),
            count = self.stderr.read() => Wake::Stderr(count),
            () = self.feed.write(), if self.feed.is_waiting() => Wake::Fed,
            signal = next_signal(signals) => Wake::Signal(signal),
            () = sleep_until(timer) => Wake::Timer,
            () = wait_closed(output) => Wake::OutputClosed,
        }
    }

    fn step(&mut self, input: Input) {
        match self.ladder.step(input, Instant::now()) {
            Some(Action::Ask) => self.tree.ask(self.launch.stop),
            Some(Action::Kill) => self.tree.kill(),
            None => {}
        }
    }

    fn tree_event(&mut self, event: TreeEvent) -> Result<(), SpawnError> {
        match event {
            TreeEvent::NotStarted(step, error) => return Err(SpawnError::new(step, self.launch, error)),
            TreeEvent::Exited(exit) => {
                self.exit = exit;
                self.step(Input::LeaderExited);
            }
            TreeEvent::Gone | TreeEvent::Lost => self.step(Input::TreeGone),
        }
        Ok(())
    }

    fn after_read(&mut self, count: usize) {
        self.driver.batch_end();
        if count > 0 {
            self.step(Input::Output);
        } else if self.stdout.pipe.is_none() && self.stderr.pipe.is_none() {
            self.step(Input::PipesClosed);
        }
    }

    fn obey_driver(&mut self) {
        for command in self.driver.take_commands() {
            match command {
                Command::Write(bytes) => self.feed.push(bytes),
                Command::CloseStdin => self.feed.close(),
                Command::Finished => self.step(Input::Finished),
                Command::Stop => self.step(Input::Stop),
            }
        }
    }

    fn suspend(&mut self) {
        self.tree.suspend();
        self.driver.suspending();
        let pause = signals::suspend_ourselves();
        self.driver.resumed();
        self.tree.resume();
        self.ladder.resumed_after(pause);
    }
}

async fn next_signal(signals: &mut Option<Signals>) -> i32 {
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

async fn wait_closed(output: Option<&OutputClosed>) {
    match output {
        Some(output) => output.wait().await,
        None => std::future::pending().await,
    }
}
