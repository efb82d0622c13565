//! A request as it arrived, with accessors that mean the same for every vendor's wire.

use serde_json::Value;

use super::wire::Wire;

/// One HTTP request to the model.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names are lower case.
    pub headers: Vec<(String, String)>,
    /// `Null` where there was no JSON.
    pub body: Value,
    pub(super) wire: Option<Wire>,
    pub(super) purpose: Purpose,
    pub(super) conversation: Conversation,
}

/// Why a CLI sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A turn of the agent: takes a step of the script.
    Agent,
    /// A helper call of the CLI: a title, a routing decision.
    Side,
    /// Not a question to the model at all: a list of models, a count of tokens.
    Other,
}

/// What a request amounts to, whatever the wire.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub users: Vec<String>,
    pub context: Vec<String>,
    pub tools: Vec<OfferedTool>,
    pub results: Vec<ToolResult>,
    /// How many of `results` came after the last thing that the user or the model said.
    pub fresh_results: usize,
}

/// A tool that the CLI offers to the model.
#[derive(Clone, Debug, Default)]
pub struct OfferedTool {
    pub name: String,
    /// Codex groups the tools of an MCP server under a name of their own.
    pub namespace: Option<String>,
    pub input: ToolInput,
    pub properties: Vec<String>,
}

/// What a tool takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolInput {
    #[default]
    Json,
    FreeForm,
}

/// What a tool answered, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub call_id: String,
    pub text: String,
    /// Only where the wire says it.
    pub is_error: Option<bool>,
}

impl Request {
    /// The user's own words, one entry a message, without what the CLI puts around them.
    pub fn user_texts(&self) -> &[String] {
        &self.conversation.users
    }

    /// The newest of the user's messages, or an empty text.
    pub fn last_user_text(&self) -> &str {
        self.conversation.users.last().map_or("", String::as_str)
    }

    /// Everything else that the CLI tells the model: system prompt, developer messages, injected context.
    pub fn system_text(&self) -> String {
        self.conversation.context.join("\n")
    }

    /// The names of the offered tools; those of a Codex namespace as `namespace/name`.
    pub fn tool_names(&self) -> Vec<String> {
        let full = |tool: &OfferedTool| match &tool.namespace {
            Some(namespace) => format!("{namespace}/{}", tool.name),
            None => tool.name.clone(),
        };
        self.conversation.tools.iter().map(full).collect()
    }

    /// Whether a tool of exactly this name is on offer.
    pub fn offers(&self, name: &str) -> bool {
        self.tool_names().iter().any(|offered| offered == name)
    }

    /// Every tool result of the conversation, oldest first.
    pub fn tool_results(&self) -> &[ToolResult] {
        &self.conversation.results
    }

    /// Whether the request hands over tool results, and not a new message of the user.
    pub fn is_after_tool(&self) -> bool {
        self.conversation.fresh_results > 0
    }

    /// The name of the model that was asked for.
    pub fn model(&self) -> String {
        if let Some(name) = self.body["model"].as_str() {
            return name.to_owned();
        }
        let name = self.path.split_once("/models/").map_or("", |(_, rest)| rest);
        name.split(':').next().unwrap_or_default().to_owned()
    }

    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// How many images the request carries, in whichever form.
    pub fn images(&self) -> usize {
        count_images(&self.body)
    }

    /// A few lines for a failure report: what a person needs to see of a request of 100 kB.
    pub fn summary(&self) -> String {
        let mut out = format!("{} {} ({:?}", self.method, self.path, self.purpose);
        let model = self.model();
        if !model.is_empty() {
            out.push_str(&format!(", model {model}"));
        }
        out.push_str(&format!(", {} tools)", self.conversation.tools.len()));
        for user in &self.conversation.users {
            out.push_str(&format!("\n    user: {}", shortened(user)));
        }
        for result in &self.conversation.results {
            out.push_str(&format!(
                "\n    result of {}: {}",
                result.call_id,
                shortened(&result.text)
            ));
        }
        out
    }
}

impl OfferedTool {
    pub fn takes(&self, property: &str) -> bool {
        self.properties.iter().any(|name| name == property)
    }
}

fn count_images(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_images).sum(),
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str);
            let typed = matches!(kind, Some("image" | "input_image" | "image_url"));
            let inline = map
                .get("inlineData")
                .is_some_and(|data| data["mimeType"].as_str().is_some_and(is_image));
            usize::from(typed || inline) + map.values().map(count_images).sum::<usize>()
        }
        _ => 0,
    }
}

fn is_image(mime: &str) -> bool {
    mime.starts_with("image/")
}

fn shortened(text: &str) -> String {
    let quoted = format!("{text:?}");
    if quoted.chars().count() <= 300 {
        return quoted;
    }
    let head: String = quoted.chars().take(300).collect();
    format!("{head}… ({} bytes)", text.len())
}
