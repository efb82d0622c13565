//! Templates of arguments: what `{…}` stands for.

use crate::error::Failure;
use crate::suggest;

/// What a template may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    Prompt,
    PromptFile,
    Session,
    Model,
    SystemFile,
    Dir,
    MaxTurns,
    Cwd,
}

impl Placeholder {
    pub const ALL: &[Placeholder] = &[
        Self::Prompt,
        Self::PromptFile,
        Self::Session,
        Self::Model,
        Self::SystemFile,
        Self::Dir,
        Self::MaxTurns,
        Self::Cwd,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Self::Prompt => "{prompt}",
            Self::PromptFile => "{prompt_file}",
            Self::Session => "{session}",
            Self::Model => "{model}",
            Self::SystemFile => "{system_file}",
            Self::Dir => "{dir}",
            Self::MaxTurns => "{max_turns}",
            Self::Cwd => "{cwd}",
        }
    }

    /// Whether a value is there to fill it under this key.
    fn fits(self, key: &str) -> bool {
        match self {
            Self::Cwd => true,
            Self::Prompt | Self::PromptFile => key == "args",
            Self::Session => key.starts_with("session_args"),
            Self::Model => key == "model_args",
            Self::SystemFile => key == "system_args",
            Self::Dir => key == "add_dir_args",
            Self::MaxTurns => key == "max_turns_args",
        }
    }

    /// What must stand under a key, because the arguments mean nothing without it.
    fn needed(key: &str) -> Option<Self> {
        match key {
            "session_args_resume" => Some(Self::Session),
            "model_args" => Some(Self::Model),
            "system_args" => Some(Self::SystemFile),
            "add_dir_args" => Some(Self::Dir),
            "max_turns_args" => Some(Self::MaxTurns),
            _ => None,
        }
    }
}

/// Refuses a template that asks for something unknown, or for something that its key has no value for.
pub fn check_template(name: &str, key: &str, template: &[String]) -> Result<(), Failure> {
    let known: Vec<&str> = Placeholder::ALL.iter().map(|placeholder| placeholder.text()).collect();
    for word in template.iter().flat_map(|arg| words(arg)) {
        match Placeholder::ALL.iter().find(|placeholder| placeholder.text() == word) {
            Some(placeholder) if placeholder.fits(key) => {}
            Some(_) => {
                return Err(Failure::usage(format!(
                    "[backends.{name}]: `{key}` has no value for {word}"
                )));
            }
            None => {
                let failure = Failure::usage(format!("[backends.{name}]: `{key}` asks for {word}"));
                return Err(match suggest::closest(word, &known) {
                    Some(similar) => failure.hint(format!("did you mean {similar}?")),
                    None => failure.hint(format!("there are: {}", known.join(", "))),
                });
            }
        }
    }
    match Placeholder::needed(key) {
        Some(needed) if !template.iter().any(|arg| arg.contains(needed.text())) => Err(Failure::usage(format!(
            "[backends.{name}]: `{key}` does not say where {} goes",
            needed.text()
        ))),
        _ => Ok(()),
    }
}

/// Everything in an argument that looks like a placeholder; JSON and shell braces do not.
fn words(arg: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = arg;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let inner = rest[1..].find(|character: char| !character.is_ascii_lowercase() && character != '_');
        match inner {
            Some(length) if length > 0 && rest[1 + length..].starts_with('}') => {
                found.push(&rest[..length + 2]);
                rest = &rest[length + 2..];
            }
            _ => rest = &rest[1..],
        }
    }
    found
}

/// The template with its placeholders filled. What a value holds is not looked at again.
pub fn fill(template: &[String], values: &[(Placeholder, &str)]) -> Vec<String> {
    template.iter().map(|arg| fill_one(arg, values)).collect()
}

fn fill_one(arg: &str, values: &[(Placeholder, &str)]) -> String {
    let mut filled = String::with_capacity(arg.len());
    let mut rest = arg;
    'next: while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        for (placeholder, value) in values {
            if let Some(after) = rest.strip_prefix(placeholder.text()) {
                filled.push_str(value);
                rest = after;
                continue 'next;
            }
        }
        filled.push('{');
        rest = &rest[1..];
    }
    filled.push_str(rest);
    filled
}
