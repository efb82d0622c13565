//! The prompt as the CLI takes it, so that the model gets the words and the CLI acts on none of them.
//!
//! Of a message with several blocks the CLI reads only the last for `/commands` and `@files`. So a literal prompt is
//! followed by one more block: empty, in which case the CLI drops it, or with the attached files as `@paths`. The model
//! sees the prompt as it was typed.

use crate::error::Failure;
use crate::request::{PromptSyntax, Request};
use serde_json::{Value, json};

/// The line that the CLI reads on its standard input.
pub fn message(request: &Request) -> Result<Vec<u8>, Failure> {
    let attached = attached(request)?;
    let content = match request.prompt_syntax {
        PromptSyntax::Literal => json!([block(&request.prompt), block(&attached)]),
        PromptSyntax::Expand if attached.is_empty() => Value::from(request.prompt.as_str()),
        PromptSyntax::Expand => Value::from(format!("{}\n\n{attached}", request.prompt)),
    };
    let message = json!({"type": "user", "message": {"role": "user", "content": content}});
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    Ok(line)
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The attached files in the CLI's own notation, which takes images and text alike.
fn attached(request: &Request) -> Result<String, Failure> {
    let mut mentions = Vec::new();
    for attachment in &request.attachments {
        let path = attachment
            .path
            .to_str()
            .filter(|path| !path.contains(['"', '\n', '\r']))
            .ok_or_else(|| {
                Failure::usage(format!("Claude cannot take the path {}", attachment.path.display()))
                    .hint("rename the file: quotation marks and line breaks in its path don't work")
            })?;
        mentions.push(format!("@\"{path}\""));
    }
    Ok(mentions.join(" "))
}

/// The prompt as an argument of the terminal UI. There it cannot be sent in blocks: a space keeps a first `/` from being
/// a command, and an invisible character after `@` keeps a path from being read.
pub fn argument(request: &Request) -> String {
    let prompt = &request.prompt;
    if request.prompt_syntax == PromptSyntax::Expand {
        return prompt.clone();
    }
    let prompt = prompt.replace('@', "@\u{2060}");
    match prompt.chars().next() {
        Some('/' | '!' | '#') => format!(" {prompt}"),
        _ => prompt,
    }
}
