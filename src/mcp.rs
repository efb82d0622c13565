//! The common `{"mcpServers":{…}}` form that people keep their MCP servers in. Each backend translates it.

use crate::error::Failure;
use crate::request::{McpServer, McpTransport};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Server>,
}

#[derive(Deserialize)]
struct Server {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// The servers that `text` declares, by name. `path` is for messages.
pub fn parse(text: &str, path: &Path) -> Result<Vec<McpServer>, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("{}: {why}", path.display()))
            .hint(r#"the form is {"mcpServers":{"name":{"command":"…","args":["…"]}}}"#)
    };
    let file: File = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    file.servers
        .into_iter()
        .map(|(name, server)| {
            let sound = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
            if name.is_empty() || !name.chars().all(sound) {
                return Err(wrong(format!(
                    "the server name `{name}` may hold only letters, digits, - and _"
                )));
            }
            let transport = transport(server).map_err(|why| wrong(format!("server `{name}`: {why}")))?;
            Ok(McpServer { name, transport })
        })
        .collect()
}

fn transport(server: Server) -> Result<McpTransport, String> {
    let headers = server.headers;
    match (server.kind.as_deref(), server.command, server.url) {
        (None | Some("stdio" | "local"), Some(command), None) => Ok(McpTransport::Stdio {
            command,
            args: server.args,
            env: server.env,
        }),
        (Some("sse"), None, Some(url)) => Ok(McpTransport::Sse { url, headers }),
        (None | Some("http" | "streamable-http" | "remote"), None, Some(url)) => {
            Ok(McpTransport::Http { url, headers })
        }
        (Some(kind), _, _) => Err(format!("type `{kind}` with these fields makes no sense")),
        (None, _, _) => Err("exactly one of `command` and `url` is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_transports_are_told_apart() {
        let text = r#"{"mcpServers":{"a":{"command":"x","args":["y"]},"b":{"url":"http://h"},"c":{"type":"sse","url":"http://h"}}}"#;
        let servers = parse(text, Path::new("mcp.json")).unwrap();
        assert!(matches!(servers[0].transport, McpTransport::Stdio { .. }));
        assert!(matches!(servers[1].transport, McpTransport::Http { .. }));
        assert!(matches!(servers[2].transport, McpTransport::Sse { .. }));
    }

    #[test]
    fn what_is_wrong_is_said_with_file_and_server() {
        for text in [
            "{",
            "{}",
            r#"{"mcpServers":{"a":{}}}"#,
            r#"{"mcpServers":{"a b":{"command":"x"}}}"#,
        ] {
            let failure = parse(text, Path::new("mcp.json")).unwrap_err();
            assert!(failure.message.starts_with("mcp.json: "), "{failure}");
        }
    }
}
