//! How a prompt reaches the model as it is. Gemini CLI runs a prompt that begins with `/` as a command and replaces
//! `@path` by the file; it even moves an `@` that names nothing by a space.
//!
//! A prompt with none of these goes by standard input. One that has them becomes the text of a private slash command: what
//! a command submits is not looked into again. So does a long one: the CLI repeats its input in its output, and exits
//! without waiting for a reader of so much. Only a prompt that holds the command file's own placeholders as well is
//! altered: a space before a leading `/`, a backslash before `@`.

use crate::request::PromptSyntax;
use std::path::PathBuf;

/// Placeholders of a command file.
const PLACEHOLDERS: &[&str] = &["{{args}}", "!{", "@{"];

/// Characters after which an `@` stands for itself.
const NO_PATH: &str = " \t\n\r,;!?()[]{}";

/// The longest input that is left to be repeated: half of what a pipe holds.
const LONGEST_ECHO: usize = 32 << 10;

/// How a prompt is given to the CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// As it is.
    Text(String),
    /// As the text of a slash command with this file.
    Command { file: String },
}

/// The prompt with files to look at. Their paths hold none of the characters that end a path in a prompt.
pub fn deliver(prompt: &str, syntax: PromptSyntax, attachments: &[PathBuf]) -> Delivery {
    let literal = syntax == PromptSyntax::Literal;
    let needs_command = is_command(prompt) || has_reference(prompt) || prompt.len() > LONGEST_ECHO;
    if literal && needs_command && !PLACEHOLDERS.iter().any(|text| prompt.contains(text)) {
        return Delivery::Command {
            file: command_file(prompt, attachments),
        };
    }
    let mut text = if literal { escape(prompt) } else { prompt.to_owned() };
    for path in attachments {
        text.push_str("\n\n@");
        text.push_str(&path.to_string_lossy());
    }
    Delivery::Text(text)
}

/// What the CLI takes for a slash command.
fn is_command(prompt: &str) -> bool {
    prompt.starts_with('/') && !prompt.starts_with("//") && !prompt.starts_with("/*")
}

/// Whether the CLI finds an `@path` in it.
fn has_reference(prompt: &str) -> bool {
    references(prompt).next().is_some()
}

/// Where an `@` begins a path.
fn references(prompt: &str) -> impl Iterator<Item = usize> {
    prompt.match_indices('@').map(|(at, _)| at).filter(|at| {
        let next = prompt[at + 1..].chars().next();
        !prompt[..*at].ends_with('\\') && next.is_some_and(|next| !NO_PATH.contains(next))
    })
}

fn escape(prompt: &str) -> String {
    let mut escaped = String::with_capacity(prompt.len() + 8);
    if is_command(prompt) {
        escaped.push(' ');
    }
    let mut copied = 0;
    for at in references(prompt) {
        escaped.push_str(&prompt[copied..at]);
        escaped.push('\\');
        copied = at;
    }
    escaped.push_str(&prompt[copied..]);
    escaped
}

/// A text for a context file, in which the CLI would replace ` @name` by a file or by a complaint that there is none. A
/// word joiner, which nobody sees, keeps it from doing so.
pub fn without_imports(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 8);
    let mut copied = 0;
    for (at, _) in text.match_indices('@') {
        let begins = text[..at]
            .chars()
            .next_back()
            .is_none_or(|before| " \t\n\r".contains(before));
        let next = text[at + 1..].chars().next();
        if begins && next.is_some_and(|next| next.is_ascii_alphabetic() || "./".contains(next)) {
            plain.push_str(&text[copied..at]);
            plain.push('\u{2060}');
            copied = at;
        }
    }
    plain.push_str(&text[copied..]);
    plain
}

/// The command file whose text is this prompt, with the attachments injected after it.
fn command_file(prompt: &str, attachments: &[PathBuf]) -> String {
    let mut text = prompt.to_owned();
    for path in attachments {
        text.push_str("\n\n@{");
        text.push_str(&path.to_string_lossy());
        text.push('}');
    }
    // A JSON string is a TOML string, but for one character that TOML wants escaped.
    let quoted = serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F");
    format!("description = \"a prompt from agentctl\"\nprompt = {quoted}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(prompt: &str) -> Delivery {
        deliver(prompt, PromptSyntax::Literal, &[])
    }

    #[test]
    fn plain_text_goes_as_it_is() {
        for prompt in [
            "hello",
            "-p x",
            "// comment",
            "/* x */",
            "an @ sign",
            "mail\\@host",
            "@",
            "",
            "a @, b",
            "!ls",
        ] {
            assert_eq!(literal(prompt), Delivery::Text(prompt.to_owned()));
        }
    }

    #[test]
    fn what_the_cli_would_act_on_goes_as_the_text_of_a_command() {
        for prompt in [
            "/quit",
            "/",
            "look @ref.txt",
            "me@example.com",
            "@\"a b\"",
            "@.",
            "@./x",
            "line\n@x \u{7f}\0\r\n\"q\" \\",
        ] {
            let Delivery::Command { file } = literal(prompt) else {
                panic!("{prompt:?}");
            };
            let parsed: toml::Table = file.parse().unwrap();
            assert_eq!(parsed["prompt"].as_str(), Some(prompt));
        }
    }

    #[test]
    fn a_long_prompt_goes_as_the_text_of_a_command() {
        assert!(matches!(literal(&"x".repeat(LONGEST_ECHO)), Delivery::Text(_)));
        assert!(matches!(
            literal(&"x".repeat(LONGEST_ECHO + 1)),
            Delivery::Command { .. }
        ));
    }

    #[test]
    fn a_prompt_with_placeholders_is_escaped_instead() {
        assert_eq!(literal("/x !{rm}"), Delivery::Text(" /x !{rm}".into()));
        assert_eq!(literal("@a {{args}} b@c"), Delivery::Text("\\@a {{args}} b\\@c".into()));
        assert_eq!(literal("!{ls}"), Delivery::Text("!{ls}".into()));
    }

    #[test]
    fn a_context_file_imports_nothing() {
        assert_eq!(
            without_imports("@a x @./b a@b @ @1"),
            "\u{2060}@a x \u{2060}@./b a@b @ @1"
        );
        assert_eq!(without_imports("plain"), "plain");
    }

    #[test]
    fn expansion_is_left_to_the_cli_when_asked_for() {
        assert_eq!(
            deliver("/init @x", PromptSyntax::Expand, &[]),
            Delivery::Text("/init @x".into())
        );
    }

    #[test]
    fn attachments_follow_the_prompt() {
        let files = [PathBuf::from("/scratch/1.png")];
        assert_eq!(
            deliver("see", PromptSyntax::Literal, &files),
            Delivery::Text("see\n\n@/scratch/1.png".into())
        );
        let Delivery::Command { file } = deliver("a@b", PromptSyntax::Literal, &files) else {
            panic!();
        };
        assert!(file.contains("a@b\\n\\n@{/scratch/1.png}"), "{file}");
    }
}
