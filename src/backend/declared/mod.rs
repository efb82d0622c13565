//! A backend of the user's own, declared in the configuration file: a program, a template of its arguments, and the
//! dialect that its output is written in.
//!
//! What it can do follows from what the declaration says, and nothing is guessed: a level of rights without arguments
//! for it is one that this backend does not have.

mod capability;
mod plan;
mod protocol;
mod template;
#[cfg(test)]
mod tests;

pub use template::Placeholder;

use super::{Backend, Capabilities, Plan, Protocol, Site, registry};
use crate::error::Failure;
use crate::request::Request;
use template::check_template;

/// What the user declared, as it was written. Templates may hold placeholders, e.g. `{session}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    pub name: String,
    pub program: String,
    /// Whose output it writes: `claude`, `codex`, `gemini`, `opencode`, `pi`, or `text`, where stdout is the answer.
    pub dialect: String,
    pub display_name: Option<String>,
    pub about: Option<String>,
    pub install: Option<String>,
    pub login: Option<String>,
    /// How the prompt is given: `stdin`, or `{prompt}` or `{prompt_file}` as an argument.
    pub prompt: Option<String>,
    /// Put before a prompt that begins with a character which the CLI would act on.
    pub literal_prefix: Option<String>,
    /// A CLI that tells failures as if they were answers begins them with this.
    pub error_marker: Option<String>,
    pub args: Vec<String>,
    pub session_args_new: Option<Vec<String>>,
    pub session_args_resume: Option<Vec<String>>,
    pub ephemeral_args: Option<Vec<String>>,
    pub model_args: Option<Vec<String>>,
    pub system_args: Option<Vec<String>>,
    pub add_dir_args: Option<Vec<String>>,
    pub max_turns_args: Option<Vec<String>>,
    pub read_only_args: Option<Vec<String>>,
    pub edit_args: Option<Vec<String>>,
    pub full_args: Option<Vec<String>>,
}

/// The dialect of a program that prints its answer and nothing else.
const TEXT: &str = "text";

/// A declaration that holds together.
#[derive(Clone, Debug)]
pub struct Declared {
    declaration: Declaration,
    display_name: String,
    about: String,
    install: String,
    login: String,
    prompt: PromptBy,
    capabilities: Capabilities,
}

/// How the prompt reaches the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptBy {
    Stdin,
    Argument,
    File,
}

impl Declared {
    /// The backend that was declared, or what is wrong with the declaration.
    pub fn new(declaration: Declaration) -> Result<Self, Failure> {
        check_name(&declaration.name)?;
        check_dialect(&declaration)?;
        if declaration.program.is_empty() {
            return Err(wrong(&declaration.name, "program", "is empty"));
        }
        for (key, template) in declaration.templates() {
            check_template(&declaration.name, key, template)?;
        }
        let prompt = prompt_by(&declaration)?;
        let or = |value: &Option<String>, default: String| value.clone().unwrap_or(default);
        let name = &declaration.name;
        Ok(Self {
            display_name: or(&declaration.display_name, capitalised(name)),
            about: or(
                &declaration.about,
                format!("`{}`, declared in the configuration file", declaration.program),
            ),
            install: or(&declaration.install, format!("put `{}` on PATH", declaration.program)),
            login: or(
                &declaration.login,
                format!("log in with `{}` itself", declaration.program),
            ),
            prompt,
            capabilities: capability::of(&declaration),
            declaration,
        })
    }

    /// The names of the dialects.
    pub fn dialects() -> Vec<&'static str> {
        let real = registry::BACKENDS.iter().map(|backend| backend.name());
        real.filter(|name| *name != "mock").chain([TEXT]).collect()
    }
}

impl Declaration {
    /// Every template with the key that it stands under.
    fn templates(&self) -> Vec<(&'static str, &[String])> {
        let optional = [
            ("session_args_new", &self.session_args_new),
            ("session_args_resume", &self.session_args_resume),
            ("ephemeral_args", &self.ephemeral_args),
            ("model_args", &self.model_args),
            ("system_args", &self.system_args),
            ("add_dir_args", &self.add_dir_args),
            ("max_turns_args", &self.max_turns_args),
            ("read_only_args", &self.read_only_args),
            ("edit_args", &self.edit_args),
            ("full_args", &self.full_args),
        ];
        let declared = optional
            .into_iter()
            .filter_map(|(key, template)| Some((key, template.as_deref()?)));
        std::iter::once(("args", self.args.as_slice()))
            .chain(declared)
            .collect()
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    let plain =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || "-_".contains(character);
    if name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(plain) {
        return Ok(());
    }
    Err(
        Failure::usage(format!("[backends.{name}]: that is no name for a backend"))
            .hint("use lower-case letters, digits, `-` and `_`, a letter first"),
    )
}

fn check_dialect(declaration: &Declaration) -> Result<(), Failure> {
    let known = Declared::dialects();
    if known.contains(&declaration.dialect.as_str()) {
        return Ok(());
    }
    let failure = match declaration.dialect.as_str() {
        "" => Failure::usage(format!("[backends.{}]: `dialect` is missing", declaration.name)),
        other => wrong(&declaration.name, "dialect", &format!("cannot be `{other}`")),
    };
    Err(failure.hint(format!("it says which decoder reads the output: {}", known.join(", "))))
}

fn prompt_by(declaration: &Declaration) -> Result<PromptBy, Failure> {
    let within = |placeholder: Placeholder| declaration.args.iter().any(|arg| arg.contains(placeholder.text()));
    let said = match declaration.prompt.as_deref() {
        Some("stdin") => Some(PromptBy::Stdin),
        Some("{prompt}") => Some(PromptBy::Argument),
        Some("{prompt_file}") => Some(PromptBy::File),
        None => None,
        Some(other) => {
            return Err(wrong(&declaration.name, "prompt", &format!("cannot be `{other}`"))
                .hint("it is \"stdin\", \"{prompt}\" or \"{prompt_file}\""));
        }
    };
    match (within(Placeholder::Prompt), within(Placeholder::PromptFile), said) {
        (true, false, None | Some(PromptBy::Argument)) => Ok(PromptBy::Argument),
        (false, true, None | Some(PromptBy::File)) => Ok(PromptBy::File),
        (false, false, said) => Ok(said.unwrap_or(PromptBy::Stdin)),
        _ => Err(wrong(
            &declaration.name,
            "args",
            "and `prompt` disagree about how the prompt is given",
        )
        .hint("give it one way: on standard input, as {prompt} or as {prompt_file}")),
    }
}

fn wrong(name: &str, key: &str, what: &str) -> Failure {
    Failure::usage(format!("[backends.{name}]: `{key}` {what}"))
}

fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

impl Backend for Declared {
    fn name(&self) -> &str {
        &self.declaration.name
    }

    fn display_name(&self) -> &str {
        &self.display_name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn program(&self) -> &str {
        &self.declaration.program
    }

    fn install_hint(&self) -> &str {
        &self.install
    }

    fn login_hint(&self) -> &str {
        &self.login
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn plan(&self, request: &Request, site: &Site) -> Result<Plan, Failure> {
        plan::headless(&self.declaration, self.prompt, request, site)
    }

    fn interactive(&self, _request: &Request, _site: &Site) -> Result<Plan, Failure> {
        Err(Failure::usage(format!(
            "{} was declared for headless runs only",
            self.display_name
        )))
    }

    fn protocol(&self, request: &Request) -> Box<dyn Protocol> {
        Box::new(protocol::DeclaredProtocol::new(&self.declaration, request))
    }
}
