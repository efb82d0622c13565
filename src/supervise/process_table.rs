//! The machine's process table, for the two things that the guard cannot do: suspend a whole tree, and find the tree of
//! a guard that was killed. Only processes of one run are touched: descendants of its guard, members of its session,
//! or bearers of its token.

/// Sends a signal to all descendants of a guard, the guard itself excepted.
pub(super) fn signal_descendants(guard: i32, leader: Option<i32>, signal: i32) {
    #[cfg(target_os = "linux")]
    {
        let _ = leader;
        // A process that forked while we looked has a child that was not seen: look again until nothing is new.
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..10 {
            let found = linux::descendants(&linux::processes(), [guard].into());
            let news: Vec<i32> = found
                .into_iter()
                .filter(|pid| *pid != guard && seen.insert(*pid))
                .collect();
            if news.is_empty() {
                break;
            }
            for pid in news {
                send(pid, signal);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = guard;
        if let Some(leader) = leader {
            send(-leader, signal);
        }
    }
}

/// Kills what a dead guard left behind.
pub(super) fn kill_strays(guard: i32, leader: Option<i32>, token: &str) {
    #[cfg(target_os = "linux")]
    {
        let _ = leader;
        let mut ours = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let processes = linux::processes();
            let roots = processes
                .iter()
                .filter(|process| {
                    process.session == guard || ours.contains(&process.pid) || linux::bears(process.pid, token)
                })
                .map(|process| process.pid);
            ours = linux::descendants(&processes, roots.collect());
            ours.remove(&guard);
            if ours.is_empty() {
                return;
            }
            for pid in &ours {
                send(*pid, libc::SIGKILL);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (guard, token);
        if let Some(leader) = leader {
            send(-leader, libc::SIGKILL);
        }
    }
}

fn send(pid: i32, signal: i32) {
    // SAFETY: a plain system call.
    unsafe {
        libc::kill(pid, signal);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;

    pub(super) struct Process {
        pub pid: i32,
        pub parent: i32,
        pub session: i32,
    }

    /// All living processes; what cannot be read is not there.
    pub(super) fn processes() -> Vec<Process> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| {
                let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
                parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
            })
            .collect()
    }

    /// `pid (name) state parent group session …`; dead ones are left out.
    pub(super) fn parse(pid: i32, stat: &str) -> Option<Process> {
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, session })
    }

    pub(super) fn descendants(processes: &[Process], mut found: BTreeSet<i32>) -> BTreeSet<i32> {
        loop {
            let before = found.len();
            let children = processes.iter().filter(|process| found.contains(&process.parent));
            let children: Vec<i32> = children.map(|process| process.pid).collect();
            found.extend(children);
            if found.len() == before {
                return found;
            }
        }
    }

    /// Whether a process was started with this token in its environment.
    pub(super) fn bears(pid: i32, token: &str) -> bool {
        let wanted = format!("{}={token}", crate::supervise::environment::RUN_TOKEN);
        std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
            environ
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_stat_line_is_read_behind_any_name_and_the_dead_are_left_out() {
            let process = parse(5, "5 (a) S (x) S 3 4 2 0 -1").unwrap();
            assert_eq!((process.pid, process.parent, process.session), (5, 3, 2));
            assert!(parse(5, "5 (a) Z 3 4 2 0 -1").is_none());
            assert!(parse(5, "").is_none());
        }

        #[test]
        fn descendants_are_found_through_every_generation() {
            let process = |pid, parent| Process {
                pid,
                parent,
                session: 0,
            };
            let table = [
                process(9, 4),
                process(2, 1),
                process(3, 2),
                process(4, 3),
                process(5, 1),
            ];
            assert_eq!(descendants(&table, [2].into()), [2, 3, 4, 9].into());
        }
    }
}
