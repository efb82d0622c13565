//! agentctl as a library: ask an agent, show its text as it comes, go on with the conversation.
//!
//! `cargo run --example embed -- mock "hello"`

use agentctl::agent::{Agent, Prompt};
use agentctl::error::Failure;
use agentctl::event::Event;
use std::io::Write;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let backend = args.next().unwrap_or_else(|| "mock".to_owned());
    let question = args.next().unwrap_or_else(|| "hello".to_owned());

    let agent = Agent::new(&backend)?;
    agent.validate()?;
    let first = agent.execute(Prompt::new(question).system("Answer in one line."), show);
    let second = agent.execute(Prompt::new("And again.").session(&first.session_id), show);
    let _ = writeln!(
        std::io::stdout(),
        "\n{}: {} turns in one conversation",
        agent.name(),
        first.turns + second.turns
    );
    Ok(())
}

fn show(event: &Event<'_>) {
    if let Event::Text { text } = event {
        let mut out = std::io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
