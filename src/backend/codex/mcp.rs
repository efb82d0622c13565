//! MCP servers for one run, as `-c mcp_servers.NAME={…}`. Secrets stay off the command line: header values and
//! variables travel in the environment, by name.

use super::toml;
use crate::backend::{Launch, Site};
use crate::error::Failure;
use crate::request::{McpServer, McpTransport};
use std::collections::BTreeMap;

pub fn give(servers: &[McpServer], site: &Site, launch: &mut Launch) -> Result<(), Failure> {
    let mut environment = Environment {
        given: BTreeMap::new(),
        site,
    };
    for server in servers {
        let usable = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if server.name.is_empty() || !server.name.chars().all(usable) {
            return Err(
                Failure::usage(format!("Codex cannot name an MCP server `{}`", server.name))
                    .hint("use letters, digits, `-` and `_` in the names of `--mcp-config`"),
            );
        }
        let mut entries = transport(server, &mut environment)?;
        // Without it every call fails, because nobody is there to approve it.
        entries.push(("default_tools_approval_mode", toml::string("approve")));
        launch.arg("-c");
        launch.arg(format!("mcp_servers.{}={}", server.name, toml::table(entries)));
    }
    for (name, value) in environment.given {
        launch.env(name, value);
    }
    Ok(())
}

fn transport(server: &McpServer, environment: &mut Environment<'_>) -> Result<Vec<(&'static str, String)>, Failure> {
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let (by_name, by_value): (Vec<_>, Vec<_>) =
                env.iter().partition(|(name, value)| environment.give(name, value));
            let mut entries = vec![
                ("command", toml::string(command)),
                ("args", toml::strings(args.iter().map(String::as_str))),
            ];
            if !by_name.is_empty() {
                entries.push(("env_vars", toml::strings(by_name.iter().map(|(name, _)| name.as_str()))));
            }
            if !by_value.is_empty() {
                let pairs = by_value
                    .iter()
                    .map(|(name, value)| (name.as_str(), toml::string(value)));
                entries.push(("env", toml::table(pairs)));
            }
            Ok(entries)
        }
        McpTransport::Http { url, headers } => {
            let mut entries = vec![("url", toml::string(url))];
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), toml::string(&environment.give_header(value))))
                .collect();
            if !headers.is_empty() {
                entries.push(("env_http_headers", toml::table(headers)));
            }
            Ok(entries)
        }
        McpTransport::Sse { .. } => Err(Failure::usage(format!(
            "Codex does not speak SSE to MCP servers: `{}`",
            server.name
        ))
        .hint("give the server's streamable HTTP address with `\"type\": \"http\"`")),
    }
}

/// Variables for Codex itself, which it hands on to its MCP servers.
struct Environment<'a> {
    given: BTreeMap<String, String>,
    site: &'a Site,
}

impl Environment<'_> {
    /// Whether the variable can travel by name: not if Codex or another server has one of that name with another value.
    fn give(&mut self, name: &str, value: &str) -> bool {
        let taken = self
            .site
            .env
            .get(std::ffi::OsStr::new(name))
            .is_some_and(|other| other != value);
        let clashes = self.given.get(name).is_some_and(|other| other != value);
        if taken || clashes || name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return false;
        }
        self.given.insert(name.to_owned(), value.to_owned());
        true
    }

    /// The name of a variable that holds this value.
    fn give_header(&mut self, value: &str) -> String {
        let name = format!("AGENTCTL_MCP_HEADER_{}", self.given.len());
        self.given.insert(name.clone(), value.replace('\0', ""));
        name
    }
}
