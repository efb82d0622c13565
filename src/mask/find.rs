//! Where the secrets of a run are: in variables, MCP servers, options and arguments. Pure: what is given is looked at,
//! and nothing else.

use super::is_secret;
use crate::request::{McpServer, McpTransport};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Fields of a CLI's configuration that hold variables or headers of a server.
const HOLDERS: &[&str] = &["env", "environment", "headers"];

/// Values of variables that name a credential, and those inside of a variable that is an address or a whole
/// configuration.
pub fn in_environment(environment: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in environment {
        let Some(value) = value.to_str() else { continue };
        if is_secret(name) {
            found.push(value.to_owned());
        }
        if value.contains("://") {
            found.extend(in_address(value));
        }
        if value.starts_with('{')
            && let Ok(configuration) = serde_json::from_str(value)
        {
            in_json(&configuration, &mut found);
        }
    }
    found
}

fn in_json(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_secret(OsStr::new(name)) => found.push(text.clone()),
                    Value::Object(held) if HOLDERS.contains(&name.as_str()) => {
                        found.extend(held.values().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => in_json(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| in_json(value, found)),
        _ => {}
    }
}

/// Everything that a server gets for itself: people keep credentials there under any name.
pub fn in_servers(servers: &[McpServer]) -> Vec<String> {
    servers.iter().flat_map(in_server).collect()
}

fn in_server(server: &McpServer) -> Vec<String> {
    match &server.transport {
        McpTransport::Stdio { args, env, .. } => {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            env.values().cloned().chain(in_arguments(&args)).collect()
        }
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
            let headers = headers.values().flat_map(|value| in_header(value));
            headers.chain(in_address(url)).collect()
        }
    }
}

/// The value of a header, and what follows its scheme (`Bearer …`), which may turn up alone.
fn in_header(value: &str) -> Vec<String> {
    let credential = value.split_once(' ').map(|(_, credential)| credential);
    [Some(value), credential]
        .into_iter()
        .flatten()
        .map(|text| text.trim().to_owned())
        .collect()
}

/// The password of an address, and the parameters that name a credential.
fn in_address(url: &str) -> Vec<String> {
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
    let secret = parameters.filter(|(name, _)| is_secret(OsStr::new(name)));
    let found = password.into_iter().chain(secret.map(|(_, value)| value));
    found.map(str::to_owned).collect()
}

/// Values of `--option` that name a credential.
pub fn in_options(options: &BTreeMap<String, String>) -> Vec<String> {
    let secret = options.iter().filter(|(name, _)| is_secret(OsStr::new(name)));
    secret.map(|(_, value)| value.clone()).collect()
}

/// What is in, or follows, an argument that names a credential: `--api-key=…`, `--token …`, `-H 'Name: …'`.
pub fn in_arguments(arguments: &[OsString]) -> Vec<String> {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let mut found = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let next = words.get(position + 1).filter(|next| !next.starts_with('-'));
        match (word.split_once('='), next) {
            (Some((name, value)), _) if names_a_credential(name) => {
                found.extend([value.to_owned(), value.trim_matches('"').to_owned()]);
            }
            (None, Some(next)) if is_header_flag(word) => {
                let value = next.split_once(':').map_or(*next, |(_, value)| value);
                found.extend(in_header(value.trim()));
            }
            (None, Some(next)) if word.starts_with('-') && names_a_credential(word) => found.push((*next).to_owned()),
            _ => {}
        }
    }
    found
}

/// A name has no blank: that would be a sentence.
fn names_a_credential(name: &str) -> bool {
    !name.contains(char::is_whitespace) && is_secret(OsStr::new(name))
}

fn is_header_flag(word: &str) -> bool {
    word == "-H" || (word.starts_with("--") && word.ends_with("header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<String> {
        in_arguments(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_that_name_a_credential_give_it_away() {
        assert_eq!(arguments(&["--api-key=abc"]), ["abc", "abc"]);
        assert_eq!(arguments(&["-c", "x.token=\"abc\""]), ["\"abc\"", "abc"]);
        assert_eq!(arguments(&["--token", "abc", "word"]), ["abc"]);
        assert_eq!(arguments(&["-H", "X: Bearer abc"]), ["Bearer abc", "abc"]);
    }

    #[test]
    fn ordinary_arguments_are_no_secrets() {
        assert_eq!(arguments(&["--no-auth", "--model", "gpt-5"]), [""; 0]);
        assert_eq!(arguments(&["explain the key = value form", "--x=y"]), [""; 0]);
    }

    #[test]
    fn all_that_a_server_is_given_is_a_secret() {
        let text = r#"{"mcpServers":{
            "a":{"command":"x","args":["--token","in-args"],"env":{"ANY":"in-env"}},
            "b":{"url":"https://me:pass@host/x?api_key=in-query&page=2","headers":{"X":"Bearer in-header"}}}}"#;
        let servers = crate::mcp::parse(text, std::path::Path::new("mcp.json")).unwrap();
        let found = in_servers(&servers);
        assert_eq!(
            found,
            ["in-env", "in-args", "Bearer in-header", "in-header", "pass", "in-query"]
        );
    }

    #[test]
    fn an_address_in_a_variable_has_a_password() {
        let proxy = (OsString::from("PROXY"), OsString::from("http://me:password@host:80/"));
        assert_eq!(in_environment(&[proxy].into()), ["password"]);
    }

    #[test]
    fn a_configuration_in_a_variable_is_looked_into() {
        let text =
            r#"{"provider":{"x":{"options":{"apiKey":"in-field"}}},"mcp":{"a":{"environment":{"ANY":"in-env"}}}}"#;
        let environment = [(OsString::from("CONFIG"), OsString::from(text))].into();
        let mut found = in_environment(&environment);
        found.sort();
        assert_eq!(found, ["in-env", "in-field"]);
    }
}
