//! What a prompt tells the mock agent to do: `[[word]]` and `[[word:argument]]` directives, in order. Without any that
//! answers, it repeats the prompt.

use std::time::Duration;

/// Every directive, with what it does.
pub const DIRECTIVES: &[(&str, &str)] = &[
    ("[[say:TEXT]]", "says this, word by word"),
    ("[[think:TEXT]]", "thinks this"),
    ("[[tool:COMMAND]]", "pretends to run a command"),
    ("[[write:PATH]]", "pretends to write a file"),
    ("[[read:PATH]]", "pretends to read a file"),
    ("[[delay:2s]]", "waits"),
    ("[[error:KIND]]", "fails; the kinds are below"),
    ("[[retry:3]]", "reports that many retries"),
    ("[[big:1000]]", "says this many bytes"),
    ("[[recall]]", "repeats all prompts of the conversation"),
    ("[[system]]", "repeats the system prompt"),
    ("[[marker]]", "says the completion marker"),
    ("[[empty]]", "says nothing"),
    ("[[hang]]", "never ends"),
    ("[[exit:3]]", "exits at once with this code"),
    ("[[loop]]", "uses a tool in every turn, without end"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Say(String),
    Think(String),
    Shell(String),
    Write(String),
    Read(String),
    Delay(Duration),
    /// Fail with this kind, by its name in a result.
    Error(String),
    Retry(u32),
    Big(usize),
    Recall,
    System,
    Empty,
    Hang,
    Exit(i32),
    Loop,
}

/// The steps of a prompt. Words that are no directive are left alone.
pub fn parse(prompt: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = prompt;
    while let Some(start) = rest.find("[[") {
        let Some(end) = rest[start..].find("]]") else { break };
        let inner = &rest[start + 2..start + end];
        let (word, argument) = inner.split_once(':').unwrap_or((inner, ""));
        steps.extend(step(word, argument));
        rest = &rest[start + end + 2..];
    }
    steps
}

fn step(word: &str, argument: &str) -> Option<Step> {
    let text = || argument.to_owned();
    Some(match word {
        "say" => Step::Say(text()),
        "think" => Step::Think(text()),
        "tool" => Step::Shell(text()),
        "write" => Step::Write(text()),
        "read" => Step::Read(text()),
        "delay" => Step::Delay(crate::duration::parse(argument).ok()??),
        "error" => Step::Error(text()),
        "retry" => Step::Retry(argument.parse().ok()?),
        "big" => Step::Big(argument.parse().ok()?),
        "marker" => Step::Say(crate::marker::DEFAULT_MARKER.to_owned()),
        "recall" => Step::Recall,
        "system" => Step::System,
        "empty" => Step::Empty,
        "hang" => Step::Hang,
        "exit" => Step::Exit(argument.parse().ok()?),
        "loop" => Step::Loop,
        _ => return None,
    })
}

impl Step {
    /// Whether the step is an answer by itself, so that the prompt need not be repeated.
    pub fn answers(&self) -> bool {
        !matches!(
            self,
            Self::Think(_) | Self::Shell(_) | Self::Write(_) | Self::Read(_) | Self::Delay(_) | Self::Retry(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_directive_is_understood() {
        for (form, _) in DIRECTIVES {
            assert_eq!(parse(form).len(), 1, "{form}");
        }
    }

    #[test]
    fn directives_are_read_in_order_and_other_brackets_are_left_alone() {
        let steps = parse("do [[think:hm]] [[nothing]] [[tool:ls -l]] [ [[say:done: yes]] [[open");
        assert_eq!(
            steps,
            [
                Step::Think("hm".into()),
                Step::Shell("ls -l".into()),
                Step::Say("done: yes".into())
            ]
        );
    }
}
