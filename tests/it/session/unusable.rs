//! A state directory that cannot be used: every run delivers its answer and says what is wrong.

use super::cli::run_named;
use super::{check_private, files_below};
use crate::desk::{Desk, Ended as _, RUN};
use agentctl::session::{Filter, Record, Store};
use assert_cmd::assert::OutputAssertExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every way to have a run, and what the agent answers to `[[recall]]` in it. Only `known` was there before.
const WAYS: &[(&[&str], &str)] = &[
    (&["run", "-b", "mock"], "[[recall]]"),
    (&["run", "-b", "mock", "--session", "unknown"], "[[recall]]"),
    (&["run", "--session", "known"], "before | [[recall]]"),
    (&["resume", "known"], "before | [[recall]]"),
    (&["resume", "--last"], "before | [[recall]]"),
    (&["resume", "known", "--fork"], "before | [[recall]]"),
];

/// A desk whose store knows one conversation.
fn desk_with_a_conversation() -> (Desk, PathBuf) {
    let desk = Desk::new();
    let first = run_named(&desk, "known", &["before"]);
    assert_eq!(first["resumed"], "fresh");
    let state = desk.path("state");
    (desk, state)
}

fn records(state: &Path) -> Vec<Record> {
    let listing = Store::open(state).unwrap().all(&Filter::default());
    assert_eq!(listing.damaged, []);
    listing.records
}

/// The run answered, and warned once, with these words: people and programs alike.
fn check(command: &mut Command, context: &str, answer: &str, warning: &str) {
    let ended = command.args(["-o", "json"]).assert();
    let ended = ended.append_context("context", context.to_owned());
    let result = ended.json();
    assert_eq!(result["responseText"], answer, "{ended}");
    let warnings = result["warnings"].as_array().unwrap();
    let [told] = warnings.as_slice() else {
        panic!("{} warnings: {ended}", warnings.len());
    };
    let told = told.as_str().unwrap();
    assert!(
        told.contains("the session cannot be stored, so ") && told.contains(warning),
        "{ended}"
    );
    ended.code(0).stderr(format!("warning: {told}\n"));
}

#[test]
fn everything_that_a_run_leaves_is_private_under_any_umask() {
    for umask in [0o000, 0o022, 0o277, 0o777] {
        let desk = Desk::new();
        for prompt in ["one", "two"] {
            let run = ["--keep-transcript", "--session", "a name", prompt];
            let mut command = desk.agentctl(RUN);
            command.args(run);
            let set_umask = move || {
                rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
                Ok(())
            };
            // SAFETY: only a system call between fork and exec.
            let command = unsafe { command.pre_exec(set_umask) };
            let ended = as_anybody(command).assert();
            let ended = ended.append_context("umask", format!("{umask:o}"));
            ended.success().stderr("");
        }
        check_private(&desk.path("state"), &format!("{umask:o}"));
    }
}

#[test]
fn what_is_no_directory_costs_a_warning_and_not_the_answer() {
    let desk = Desk::new();
    let file = desk.file("file", "a file");
    let project = desk.path("project");
    symlink("nowhere", project.join("link to nowhere")).unwrap();
    symlink("loop", project.join("loop")).unwrap();
    for (place, why) in [
        ("file", "it is not a directory"),
        ("file/below", "Not a directory"),
        ("link to nowhere", "a symbolic link to a place that does not exist"),
        ("loop", "symbolic links"),
    ] {
        for named in [&[][..], &["--session", "a name"]] {
            let mut command = desk.agentctl(["run", "-b", "mock", "hello"]);
            command.args(named).env("AGENTCTL_STATE_DIR", project.join(place));
            check(&mut command, place, "hello", why);
        }
    }
    assert_eq!(std::fs::read(file).unwrap(), b"a file");
}

#[test]
fn a_link_to_a_directory_is_as_good_as_the_directory() {
    let (desk, state) = desk_with_a_conversation();
    let link = desk.path("link");
    symlink(&state, &link).unwrap();
    let mut command = desk.agentctl(["run", "--session", "known", "[[recall]]"]);
    let ended = command.env("AGENTCTL_STATE_DIR", link).assert();
    ended.stdout("before | [[recall]]\n").stderr("");
    assert_eq!(records(&state)[0].runs, 2);
}

#[test]
fn a_directory_that_cannot_be_written_costs_a_warning_and_not_the_answer() {
    let (desk, state) = desk_with_a_conversation();
    let before = records(&state);
    for locks in ["there", "cleared away"] {
        if locks == "cleared away" {
            std::fs::remove_dir_all(state.join("locks")).unwrap();
        }
        let closed = closed(&state);
        for (arguments, answer) in WAYS {
            let mut command = desk.agentctl(*arguments);
            let command = as_anybody(command.arg("[[recall]]"));
            check(command, &format!("locks {locks}"), answer, "Permission denied");
        }
        for (path, mode) in closed.into_iter().rev() {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(records(&state), before);
    }
}

/// Takes the right to write from every file and directory; gives them back with the rights that they had.
fn closed(top: &Path) -> Vec<(PathBuf, u32)> {
    let mut paths: Vec<PathBuf> = files_below(top)
        .iter()
        .flat_map(|file| file.ancestors().take_while(|path| path.starts_with(top)))
        .map(Path::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    let modes = paths
        .iter()
        .map(|path| std::fs::metadata(path).unwrap().permissions().mode());
    let closed: Vec<(PathBuf, u32)> = paths.iter().cloned().zip(modes).collect();
    for (path, mode) in &closed {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & !0o222)).unwrap();
    }
    closed
}

/// Root may write anywhere: the command gives that right up, as does everything that it starts.
fn as_anybody(command: &mut Command) -> &mut Command {
    #[cfg(target_os = "linux")]
    if rustix::process::geteuid().is_root() {
        const WRITES_ANYWHERE: libc::c_ulong = 1;
        let give_up = || {
            // SAFETY: changes only what the process may get by its next exec.
            match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, WRITES_ANYWHERE, 0, 0, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: only a system call between fork and exec.
        unsafe { command.pre_exec(give_up) };
    }
    command
}

#[test]
fn a_full_disk_costs_a_warning_and_not_the_answer() {
    let (desk, state) = desk_with_a_conversation();
    let before = records(&state);
    let memory = files_below(&state.join("mock")).remove(0);
    let remembered = std::fs::read(&memory).unwrap();
    // How much can still be written differs: nothing at all, a pointer, half a record.
    for bytes in [0, 1, 90, 200, 350] {
        for (arguments, answer) in WAYS {
            let mut command = desk.agentctl(*arguments);
            let command = on_a_full_disk(command.arg("[[recall]]"), bytes);
            check(command, &format!("{bytes} bytes"), answer, "sessions cannot be kept in");
            assert_eq!(records(&state), before, "{bytes} bytes: {arguments:?}");
            // What the agent itself could still keep is not the question.
            std::fs::write(&memory, &remembered).unwrap();
        }
    }
    assert_eq!(files_below(&state.join("tmp")), Vec::<PathBuf>::new());
    let after = ["run", "-o", "json", "--session", "known", "[[recall]]"];
    let after = desk.run(after).json();
    assert_eq!(after["warnings"], serde_json::json!([]));
    assert_eq!(after["responseText"], "before | [[recall]]");
}

/// No file may grow beyond so many bytes: what a full disk or a quota does.
fn on_a_full_disk(command: &mut Command, bytes: u64) -> &mut Command {
    let fill = move || {
        let limit = rustix::process::Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        // SAFETY: ignoring a signal installs no handler; without it the limit would kill instead of failing the write.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        Ok(rustix::process::setrlimit(rustix::process::Resource::Fsize, limit)?)
    };
    // SAFETY: only system calls between fork and exec.
    unsafe { command.pre_exec(fill) }
}
