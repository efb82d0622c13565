//! What only Linux has: lists of children, and directories that can be read without allocating.

use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;

pub(super) unsafe fn kill_listed_children() {
    // SAFETY: only async-signal-safe calls; we have one thread, so its children are all of ours.
    unsafe {
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            kill_children_by_scan();
            return;
        }
        let mut pid: i32 = 0;
        let mut buffer = [0u8; 4096];
        loop {
            let count = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            let Ok(count @ 1..) = usize::try_from(count) else { break };
            for &byte in buffer.iter().take(count) {
                if byte.is_ascii_digit() {
                    pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
                } else {
                    kill(pid);
                    pid = 0;
                }
            }
        }
        kill(pid);
        libc::close(fd);
    }
}

unsafe fn kill(pid: i32) {
    if pid > 1 {
        // SAFETY: a plain system call.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// For kernels that are built without the lists of children: asks every process for its parent.
unsafe fn kill_children_by_scan() {
    // SAFETY: only async-signal-safe calls.
    unsafe {
        let us = libc::getpid();
        let fd = libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC);
        if fd < 0 {
            return;
        }
        for_each_entry(fd, |name| {
            let Some(pid) = number(name.to_bytes()) else { return };
            let process = libc::openat(fd, name.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
            let stat = libc::openat(process, c"stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            let mut text = [0u8; 512];
            let count = libc::read(stat, text.as_mut_ptr().cast(), text.len());
            libc::close(stat);
            libc::close(process);
            let text = text.get(..usize::try_from(count).unwrap_or(0)).unwrap_or_default();
            if parent_in_stat(text) == Some(us) {
                kill(pid);
            }
        });
        libc::close(fd);
    }
}

fn number(text: &[u8]) -> Option<i32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0i32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i32::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// `pid (name) state parent …`, where the name may hold anything, parentheses included.
fn parent_in_stat(text: &[u8]) -> Option<i32> {
    let name_end = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields = text.get(name_end + 2..)?.split(|&byte| byte == b' ');
    fields.next()?;
    number(fields.next()?)
}

#[repr(C, align(8))]
struct Entries([u8; 4096]);

/// One pass over a directory; whether there was any entry but `.` and `..`.
unsafe fn for_each_entry(fd: RawFd, mut visit: impl FnMut(&CStr)) -> bool {
    const NAME_AT: usize = 19;
    let mut any = false;
    let mut entries = Entries([0; 4096]);
    loop {
        // SAFETY: the kernel fills the buffer with whole records: two 8-byte numbers, the record's length, a
        // type, and a name that ends with NUL.
        let count = unsafe { libc::syscall(libc::SYS_getdents64, fd, entries.0.as_mut_ptr(), entries.0.len()) };
        let Ok(count @ 1..) = usize::try_from(count) else {
            return any;
        };
        let mut rest = entries.0.get(..count).unwrap_or_default();
        while let Some(&[low, high]) = rest.get(16..18).and_then(|bytes| bytes.first_chunk()) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            if let Some(name) = rest
                .get(NAME_AT..length)
                .and_then(|name| CStr::from_bytes_until_nul(name).ok())
                && name != c"."
                && name != c".."
            {
                any = true;
                visit(name);
            }
            rest = rest.get(length.max(1)..).unwrap_or_default();
        }
    }
}

/// Removes a directory with everything in it. Links are removed and never followed.
pub(super) unsafe fn remove_tree(parent: RawFd, name: &CStr, depth: u32) {
    // SAFETY: only async-signal-safe calls.
    unsafe {
        const FLAGS: c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let fd = libc::openat(parent, name.as_ptr(), FLAGS);
        if fd < 0 {
            libc::unlinkat(parent, name.as_ptr(), 0);
            return;
        }
        libc::fchmod(fd, 0o700);
        // A directory that is changed while it is read may hide entries: read it again until it is empty.
        for _ in 0..64 {
            let found = for_each_entry(fd, |entry| {
                if libc::unlinkat(fd, entry.as_ptr(), 0) != 0 && depth > 0 {
                    remove_tree(fd, entry, depth - 1);
                }
            });
            if !found {
                break;
            }
            libc::lseek(fd, 0, libc::SEEK_SET);
        }
        libc::close(fd);
        libc::unlinkat(parent, name.as_ptr(), libc::AT_REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in_stat(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in_stat(b"12 (a) R 9 (b)) S 34 12"), Some(34));
        assert_eq!(parent_in_stat(b"12 (sh"), None);
        assert_eq!(parent_in_stat(b""), None);
        assert_eq!(number(b"99999999999"), None);
    }

    #[test]
    fn a_scratch_directory_is_removed_without_following_its_links() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("precious"), "kept").unwrap();
        let parent = tempfile::tempdir().unwrap();
        let scratch = parent.path().join("scratch");
        for index in 0..300 {
            let directory = scratch.join(format!("deep/er{index}"));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("a file with a long name"), "x").unwrap();
        }
        std::os::unix::fs::symlink(outside.path(), scratch.join("link")).unwrap();
        let path = std::ffi::CString::new(scratch.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: plain system calls on a directory of ours.
        unsafe { remove_tree(libc::AT_FDCWD, &path, 32) };
        assert!(!scratch.exists());
        assert!(outside.path().join("precious").exists());
    }
}
