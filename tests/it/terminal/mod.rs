//! What a person at a terminal sees, and what their keys do.

mod complete;
mod display;
mod hostile;
mod interactive;
mod keys;
mod picture;
pub mod pty;

use crate::desk::Desk;
use pty::{Pty, Size};
use std::process::Command;

/// The frames of the spinner.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

fn has_spinner(text: &str) -> bool {
    text.contains(FRAMES)
}

fn on_a_terminal(desk: &Desk, args: &[&str]) -> Command {
    let mut command = desk.agentctl(args);
    command.env("TERM", "xterm-256color");
    command
}

/// `agentctl run -b mock` with this prompt.
fn mock(desk: &Desk, prompt: &str, args: &[&str]) -> Command {
    desk.file("prompt", prompt);
    let mut all = vec!["run", "-b", "mock", "-f", "prompt"];
    all.extend(args);
    on_a_terminal(desk, &all)
}

fn start(command: Command, size: Size) -> Pty {
    Pty::start(command, size)
}

/// What Codex would say, from the fake agent.
#[cfg(target_os = "linux")]
fn fake_codex(desk: &Desk, steps: &[&str], args: &[&str]) -> Command {
    let agent = crate::supervise::fake::example("fake_agent");
    let mut all = vec!["run", "-b", "codex", "--cli-path", agent.to_str().unwrap(), "hello"];
    all.extend(args);
    let mut command = on_a_terminal(desk, &all);
    command.env("FAKE_STEPS", steps.join("\n"));
    command
}
