//! agentctl as a library: ask an agent, show its text as it comes, go on with the conversation.
//!
//! `cargo run --example embed -- mock "hello"`

use agentctl::agent::{Agent, Prompt};
use agentctl::error::{ErrorKind, Failure};
use agentctl::event::{Event, EventResult};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The mock agent is a process of its own. So that it needs nothing else here, that is this program too.
    if std::env::args_os().nth(1).is_some_and(|mode| mode == "__mock") {
        return agentctl::main().into();
    }
    match converse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            if let Some(hint) = &failure.hint {
                eprintln!("hint: {hint}");
            }
            failure.kind.exit().into()
        }
    }
}

fn converse() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let backend = args.next().unwrap_or_else(|| "mock".to_owned());
    let question = args.next().unwrap_or_else(|| "hello".to_owned());

    let mut agent = Agent::new(&backend)?;
    if let ("mock", Ok(this)) = (agent.name(), std::env::current_exe()) {
        agent = agent.cli_path(this);
    }
    agent.validate()?;
    let first = answered(agent.execute(Prompt::new(question).system("Answer in one line."), show))?;
    let second = answered(agent.execute(Prompt::new("And again.").session(&first.session_id), show))?;
    let turns = first.turns + second.turns;
    let _ = writeln!(std::io::stdout(), "{}: {turns} turns in one conversation", agent.name());
    Ok(())
}

fn show(event: &Event<'_>) {
    if let Event::Text { text } = event {
        let mut out = std::io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// The end of an answer, or why there is none: a run that fails has a result as well.
fn answered(result: EventResult) -> Result<EventResult, Failure> {
    let _ = writeln!(std::io::stdout());
    match result.is_error {
        false => Ok(result),
        true => Err(result
            .error
            .unwrap_or_else(|| Failure::new(ErrorKind::Agent, "the agent failed and did not say why"))),
    }
}
