//! Where the program begins on a Linux with glibc. Before `main`, std would have the C library read all mappings of the
//! process, to find the end of a stack that is watched by the kernel already: a tenth of a start. What else it would do is
//! done here.

use std::ffi::{c_char, c_int};
use std::io::Write;
use std::os::fd::BorrowedFd;

/// What std gives for a panic that nobody caught.
const PANICKED: c_int = 101;

#[unsafe(export_name = "main")]
extern "C" fn start(_count: c_int, _arguments: *const *const c_char) -> c_int {
    fill_standard_streams();
    // SAFETY: nobody else looks at signals yet. Whoever writes to a closed pipe is told by the write.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let exit = std::panic::catch_unwind(agentctl::main).map_or(PANICKED, c_int::from);
    // What is left in std's buffer would be lost; whoever cares for what cannot be written has written it already.
    let _ = std::io::stdout().flush();
    exit
}

/// Standard streams that are closed become /dev/null: the next file that is opened would take their place.
fn fill_standard_streams() {
    for number in 0..3 {
        // SAFETY: whether it is open is what is asked.
        let stream = unsafe { BorrowedFd::borrow_raw(number) };
        if rustix::io::fcntl_getfd(stream).is_err() {
            // The lowest free number is given out, and that is this one.
            let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty());
            std::mem::forget(null);
        }
    }
}
