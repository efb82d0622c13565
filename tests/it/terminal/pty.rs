//! A terminal for tests: a pseudo-terminal with a program on it, what it wrote, and the screen that this makes.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine; nothing that is right takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Rows and columns.
pub type Size = (u16, u16);
pub const USUAL: Size = (24, 100);

pub struct Pty {
    keyboard: File,
    child: Child,
    written: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// From which byte on the window had which size.
    sizes: Vec<(usize, Size)>,
}

pub struct Closed {
    pub status: ExitStatus,
    /// Every byte.
    pub written: String,
    /// What a person sees at the end, without empty lines.
    pub screen: String,
}

/// Which streams of the program are the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    All,
    /// Standard output goes to a pipe that nobody looks at.
    AllButOutput,
}

impl Pty {
    /// Starts a program in a session of its own, with this terminal as the controlling one.
    pub fn start(command: Command, size: Size) -> Self {
        Self::start_on(command, size, Streams::All)
    }

    pub fn start_on(mut command: Command, size: Size, streams: Streams) -> Self {
        let (master, slave) = open(size);
        let terminal = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(terminal()).stderr(terminal());
        command.stdout(match streams {
            Streams::All => terminal(),
            Streams::AllButOutput => Stdio::null(),
        });
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        drop((command, slave));
        let written = Arc::new(Mutex::new(Vec::new()));
        let keyboard = File::from(master);
        let (mut screen, into) = (keyboard.try_clone().unwrap(), Arc::clone(&written));
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // Reading fails when the last program has let go of the terminal.
            while let Ok(read @ 1..) = screen.read(&mut chunk) {
                into.lock().unwrap().extend_from_slice(&chunk[..read]);
            }
        });
        Self {
            keyboard,
            child,
            written,
            reader: Some(reader),
            sizes: vec![(0, size)],
        }
    }

    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until the program has written this.
    pub fn wait_for(&self, text: &str) {
        self.wait_for_times(text, 1);
    }

    pub fn wait_for_times(&self, text: &str, times: usize) {
        let give_up = Instant::now() + PATIENCE;
        while self.written().matches(text).count() < times {
            assert!(Instant::now() < give_up, "no {text:?} in {:?}", self.written());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types.
    pub fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, size: Size) {
        let window = window(size);
        let so_far = self.written.lock().unwrap().len();
        // SAFETY: a plain system call with a valid structure.
        assert_eq!(
            unsafe { libc::ioctl(self.keyboard.as_raw_fd(), libc::TIOCSWINSZ, &window) },
            0
        );
        self.sizes.push((so_far, size));
    }

    /// Waits for the end of the program and of everything that uses the terminal.
    pub fn close(mut self) -> Closed {
        let give_up = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < give_up => std::thread::sleep(Duration::from_millis(5)),
                None => {
                    let _ = self.child.kill();
                    panic!("it does not end: {:?}", self.written());
                }
            }
        };
        let reader = self.reader.take().unwrap();
        while !reader.is_finished() {
            assert!(Instant::now() < give_up, "something holds the terminal");
            std::thread::sleep(Duration::from_millis(5));
        }
        Closed {
            status,
            written: self.written(),
            screen: self.screen(),
        }
    }

    /// The screen as it is now, cell by cell.
    pub fn parsed(&self) -> vt100::Parser {
        let bytes = self.written.lock().unwrap();
        let mut parser = vt100::Parser::new(some(1), some(1), 0);
        for (position, (from, (rows, columns))) in self.sizes.iter().enumerate() {
            parser.screen_mut().set_size(some(*rows), some(*columns));
            let until = self.sizes.get(position + 1).map_or(bytes.len(), |(next, _)| *next);
            parser.process(&bytes[*from..until]);
        }
        parser
    }

    fn screen(&self) -> String {
        let contents = self.parsed().screen().contents();
        let lines: Vec<&str> = contents
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        lines.join("\n")
    }
}

fn some(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn window((rows, columns): Size) -> libc::winsize {
    libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn open(size: Size) -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    let window = window(size);
    // SAFETY: openpty fills the two descriptors, which are then ours alone; children must not inherit them.
    unsafe {
        let opened = libc::openpty(
            &mut master,
            &mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const window as *mut libc::winsize,
        );
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}
