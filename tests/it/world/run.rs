//! Starting a program in a world, feeding it, waiting for it with a deadline, and asserting on how it went.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::outcome::Outcome;
use super::place::World;

/// How long a program may take, unless the test says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long pipes may stay open after the program has ended, held by what it left behind.
const DRAIN: Duration = Duration::from_secs(5);

/// A program that is about to be started.
pub struct Run<'a> {
    world: &'a World<'a>,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: BTreeMap<String, String>,
    directory: PathBuf,
    stdin: Input,
    patience: Duration,
    reader: Reader,
}

/// What the program reads.
enum Input {
    Nothing,
    Bytes(Vec<u8>),
    /// A pipe that the test writes to, and closes, by itself.
    Held,
}

/// How fast the program's output is read.
#[derive(Clone, Copy)]
struct Reader {
    chunk: usize,
    pause: Duration,
}

impl<'a> Run<'a> {
    pub(super) fn new<I>(world: &'a World<'a>, program: &Path, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        Self {
            world,
            program: program.to_path_buf(),
            arguments: arguments
                .into_iter()
                .map(|argument| argument.as_ref().to_owned())
                .collect(),
            environment: world.environment().clone(),
            directory: world.project(),
            stdin: Input::Nothing,
            patience: PATIENCE,
            reader: Reader {
                chunk: 64 * 1024,
                pause: Duration::ZERO,
            },
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(self, argument: impl AsRef<OsStr>) -> Self {
        self.args([argument])
    }

    /// More arguments.
    #[must_use]
    pub fn args<I>(mut self, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// What the program reads; without it there is nothing to read.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Input::Bytes(bytes.into());
        self
    }

    /// Keeps standard input open and in the hand of the test: see [`Running::stdin`].
    #[must_use]
    pub fn hold_stdin(mut self) -> Self {
        self.stdin = Input::Held;
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// How long it may take before it is killed and `Outcome` says so.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Reads standard output in small pieces with a pause after each, as a slow reader would.
    #[must_use]
    pub fn read_slowly(mut self, chunk: usize, pause: Duration) -> Self {
        self.reader = Reader { chunk, pause };
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome<'a> {
        self.spawn().wait()
    }

    /// Starts it and leaves the rest to the test.
    pub fn spawn(self) -> Running<'a> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.environment);
        // Some CLIs believe PWD more than the system.
        command.env("PWD", &self.directory);
        command.stdin(if matches!(self.stdin, Input::Nothing) {
            Stdio::null()
        } else {
            Stdio::piped()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        heed_interrupts(&mut command);
        let typed = self.typed();
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {typed}: {error}"));
        let stdout = Pipe::read(child.stdout.take().expect("a pipe for stdout"), self.reader);
        let fast = Reader {
            chunk: 64 * 1024,
            pause: Duration::ZERO,
        };
        let stderr = Pipe::read(child.stderr.take().expect("a pipe for stderr"), fast);
        let mut stdin = child.stdin.take();
        if let Input::Bytes(bytes) = self.stdin {
            let mut pipe = stdin.take().expect("a pipe for stdin");
            // A program that ends without reading all of it is not the fault of this thread.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        Running {
            world: self.world,
            typed,
            child,
            stdin,
            stdout,
            stderr,
            deadline: Instant::now() + self.patience,
        }
    }

    /// The command as it can be typed, with its environment.
    fn typed(&self) -> String {
        let quote =
            |text: &str| shlex::try_quote(text).map_or_else(|_| format!("{text:?}"), |quoted| quoted.into_owned());
        let mut words = vec![
            "cd".to_owned(),
            quote(&self.directory.to_string_lossy()),
            "&&".to_owned(),
        ];
        words.extend(["env", "-i"].map(str::to_owned));
        words.extend(
            self.environment
                .iter()
                .map(|(name, value)| quote(&format!("{name}={value}"))),
        );
        words.push(quote(&self.program.to_string_lossy()));
        words.extend(self.arguments.iter().map(|argument| quote(&argument.to_string_lossy())));
        match &self.stdin {
            Input::Nothing => words.push("</dev/null".to_owned()),
            Input::Bytes(bytes) if bytes.len() <= 2000 => {
                words.push(format!("<<<{}", quote(&String::from_utf8_lossy(bytes))));
            }
            Input::Bytes(bytes) => words.push(format!("<FILE-OF-{}-BYTES", bytes.len())),
            Input::Held => {}
        }
        words.join(" ")
    }
}

/// A shell that starts the tests in the background has them ignore interrupts, and what they start would do the same.
fn heed_interrupts(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let heed = || {
        for signal in [libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: a call that is safe after a fork, without a handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(heed) };
}

/// A program that was started.
pub struct Running<'a> {
    world: &'a World<'a>,
    typed: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Pipe,
    stderr: Pipe,
    deadline: Instant,
}

impl<'a> Running<'a> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The pipe of a run with `hold_stdin`; dropping it is the end of the input.
    pub fn stdin(&mut self) -> &mut Option<ChildStdin> {
        &mut self.stdin
    }

    /// Sends a signal to the program alone, not to its children.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process id"), signal).expect("the program can be signalled");
    }

    /// Waits until standard output holds this text; false if the program ended or the time is over before.
    pub fn wait_for_stdout(&self, wanted: &str, patience: Duration) -> bool {
        self.stdout.wait_for(wanted, patience)
    }

    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes()).into_owned()
    }

    /// Waits for the end; kills the program, and what it started, when its time is over.
    pub fn wait(mut self) -> Outcome<'a> {
        drop(self.stdin.take());
        let status = self.wait_for_exit();
        if status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.world.kill_all();
        }
        let stdout_ended = self.stdout.wait_for_end(DRAIN);
        self.stderr.wait_for_end(DRAIN);
        Outcome {
            world: self.world,
            typed: std::mem::take(&mut self.typed),
            status,
            stdout: self.stdout.bytes(),
            stderr: self.stderr.bytes(),
            stdout_ended,
        }
    }

    fn wait_for_exit(&mut self) -> Option<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                return Some(status);
            }
            if Instant::now() >= self.deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A test that failed while it waited for something else still tells what it was running.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        if thread::panicking() && !self.typed.is_empty() && self.world.is_first_report() {
            let stderr = String::from_utf8_lossy(&self.stderr.bytes()).into_owned();
            eprintln!(
                "still running: {}\nstdout so far:\n{}\nstderr so far:\n{stderr}\nthe model's requests:\n{}",
                self.typed,
                self.stdout_so_far(),
                self.world.model().report(),
            );
        }
    }
}

/// One output of a program, read on a thread of its own.
struct Pipe {
    shared: Arc<(Mutex<Buffer>, Condvar)>,
    _thread: JoinHandle<()>,
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    ended: bool,
}

impl Pipe {
    fn read(mut source: impl Read + Send + 'static, reader: Reader) -> Self {
        let shared = Arc::new((Mutex::new(Buffer::default()), Condvar::new()));
        let filled = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut chunk = vec![0; reader.chunk];
            loop {
                let count = source.read(&mut chunk).unwrap_or(0);
                let mut buffer = filled.0.lock().expect("buffer lock");
                buffer.bytes.extend_from_slice(&chunk[..count]);
                buffer.ended = count == 0;
                filled.1.notify_all();
                if count == 0 {
                    return;
                }
                drop(buffer);
                thread::sleep(reader.pause);
            }
        });
        Self {
            shared,
            _thread: thread,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.shared.0.lock().expect("buffer lock").bytes.clone()
    }

    fn wait_for(&self, wanted: &str, patience: Duration) -> bool {
        let found = |buffer: &Buffer| agentctl::bytes::find_word(&buffer.bytes, wanted.as_bytes()).is_some();
        self.wait_until(|buffer| buffer.ended || found(buffer), patience);
        found(&self.shared.0.lock().expect("buffer lock"))
    }

    /// Whether the output came to its end; a slow reader has as long as it needs while bytes arrive.
    fn wait_for_end(&self, patience: Duration) -> bool {
        loop {
            let before = self.bytes().len();
            self.wait_until(|buffer| buffer.ended, patience);
            let buffer = self.shared.0.lock().expect("buffer lock");
            if buffer.ended || buffer.bytes.len() == before {
                return buffer.ended;
            }
        }
    }

    fn wait_until(&self, condition: impl Fn(&Buffer) -> bool, patience: Duration) {
        let buffer = self.shared.0.lock().expect("buffer lock");
        let waited = self
            .shared
            .1
            .wait_timeout_while(buffer, patience, |buffer| !condition(buffer));
        drop(waited.expect("buffer lock"));
    }
}
