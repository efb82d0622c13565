//! An agent that misbehaves on command, for the supervision tests.
//!
//! Each argument (or each line of `FAKE_STEPS`) is a step, done in order: `say TEXT`, `half TEXT`, `err TEXT`, `exit N`, `die SIGNAL`, `sleep SECONDS`,
//! `ignore SIGNAL…`, `polite` (ends with "got SIGNAL"), `child`, `daemon`, `nameless`, `hold`, `stubborn`, `hopper`, `spin`,
//! `flood BYTES`, `flood-err BYTES`, `line BYTES`, `junk`, `cat`, `echo`, `env NAME`, `cwd`, `close`, `touch FILE`. Every
//! process that it leaves behind is told first as `pid N`.

#[cfg(unix)]
fn main() {
    // In the place of a CLI the arguments are the CLI's.
    let steps: Vec<String> = match std::env::var("FAKE_STEPS") {
        Ok(steps) => steps.lines().map(str::to_owned).collect(),
        Err(_) => std::env::args().skip(1).collect(),
    };
    for step in steps {
        let (verb, rest) = step.split_once(' ').unwrap_or((&step, ""));
        agent::step(verb, rest);
    }
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod agent {
    use std::io::{BufRead, Read, Write};
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::time::{Duration, Instant};

    static CAUGHT: AtomicI32 = AtomicI32::new(0);

    extern "C" fn catch(signal: i32) {
        CAUGHT.store(signal, Ordering::SeqCst);
    }

    pub fn step(verb: &str, rest: &str) {
        match verb {
            "say" => out(format!("{rest}\n").as_bytes()),
            "half" => out(rest.as_bytes()),
            "err" => error(format!("{rest}\n").as_bytes()),
            "exit" => end(rest.parse().unwrap_or(0)),
            // SAFETY: plain system calls on ourselves.
            "die" => unsafe {
                libc::signal(signal(rest), libc::SIG_DFL);
                libc::kill(libc::getpid(), signal(rest));
            },
            "sleep" => sleep(Duration::from_secs_f64(rest.parse().unwrap_or(1.0))),
            "ignore" => ignore(rest),
            "polite" => {
                for signal in [libc::SIGTERM, libc::SIGINT] {
                    set(signal, catch as extern "C" fn(i32) as libc::sighandler_t);
                }
            }
            "child" | "daemon" | "nameless" | "hold" | "stubborn" | "hopper" => leave_behind(verb),
            "spin" => loop {
                std::hint::spin_loop();
            },
            "flood" => flood(rest, out),
            "flood-err" => flood(rest, error),
            "line" => {
                out(&vec![b'x'; rest.parse().unwrap_or(0)]);
                out(b"\n");
            }
            "junk" => out(b"\0\0\xff\xfe\xc3\x28 \xed\xa0\x80\n{\"\0\":\n\n"),
            "cat" => {
                let mut bytes = Vec::new();
                let _ = std::io::stdin().read_to_end(&mut bytes);
                out(format!("read {} bytes\n", bytes.len()).as_bytes());
            }
            "echo" => {
                for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                    out(format!("heard {line}\n").as_bytes());
                }
                out(b"end of input\n");
            }
            "env" => out(format!("{}\n", std::env::var(rest).unwrap_or_default()).as_bytes()),
            "cwd" => out(format!("{}\n", std::env::current_dir().unwrap_or_default().display()).as_bytes()),
            // SAFETY: nothing uses these descriptors afterwards.
            "close" => unsafe {
                libc::close(1);
                libc::close(2);
            },
            "touch" => drop(std::fs::write(rest, "x")),
            other => panic!("no such step: {other}"),
        }
    }

    fn signal(name: &str) -> i32 {
        match name {
            "INT" => libc::SIGINT,
            "TERM" => libc::SIGTERM,
            "HUP" => libc::SIGHUP,
            "KILL" => libc::SIGKILL,
            "SEGV" => libc::SIGSEGV,
            "STOP" => libc::SIGSTOP,
            other => panic!("no such signal: {other}"),
        }
    }

    fn out(bytes: &[u8]) {
        let mut stdout = std::io::stdout();
        if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
            end(1);
        }
    }

    fn error(bytes: &[u8]) {
        let _ = std::io::stderr().write_all(bytes);
    }

    fn end(code: i32) -> ! {
        // SAFETY: ends the process; everything was flushed.
        unsafe { libc::_exit(code) }
    }

    fn ignore(names: &str) {
        names.split(' ').for_each(|name| set(signal(name), libc::SIG_IGN));
    }

    fn set(signal: i32, handler: libc::sighandler_t) {
        // SAFETY: the handler is async-signal-safe.
        unsafe { libc::signal(signal, handler) };
    }

    fn sleep(time: Duration) {
        let end_at = Instant::now() + time;
        while let Some(left) = end_at
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        {
            std::thread::sleep(left.min(Duration::from_millis(5)));
            let caught = CAUGHT.load(Ordering::SeqCst);
            if caught != 0 {
                out(format!("got {caught}\n").as_bytes());
                end(0);
            }
        }
    }

    fn flood(amount: &str, write: fn(&[u8])) {
        let line = [&[b'y'; 99][..], b"\n"].concat().repeat(100);
        for _ in 0..amount.parse::<usize>().unwrap_or(0).div_ceil(line.len()) {
            write(&line);
        }
    }

    fn fork() -> i32 {
        // SAFETY: this process has one thread.
        unsafe { libc::fork() }
    }

    /// A new process every two milliseconds, its parent gone.
    fn hop() -> ! {
        loop {
            std::thread::sleep(Duration::from_millis(2));
            if fork() != 0 {
                end(0);
            }
        }
    }

    /// A process that lives on, and is told.
    fn leave_behind(kind: &str) {
        if fork() != 0 {
            // Its pid must be told before ours says anything else.
            std::thread::sleep(Duration::from_millis(20));
            return;
        }
        // SAFETY: plain system calls in a process with one thread.
        unsafe {
            match kind {
                "daemon" | "nameless" | "hopper" => {
                    libc::setsid();
                    if fork() != 0 {
                        end(0);
                    }
                    ignore("TERM INT HUP");
                }
                "stubborn" => ignore("TERM INT HUP"),
                _ => {}
            }
            out(format!("pid {}\n", libc::getpid()).as_bytes());
            if kind != "hold" {
                for fd in 0..3 {
                    libc::close(fd);
                }
            }
            if kind == "nameless" {
                let argv = [c"sleep".as_ptr(), c"1000".as_ptr(), std::ptr::null()];
                libc::execve(c"/bin/sleep".as_ptr(), argv.as_ptr(), argv[2..].as_ptr());
            }
        }
        if kind == "hopper" {
            hop();
        }
        std::thread::sleep(Duration::from_secs(1000));
        end(0);
    }
}
