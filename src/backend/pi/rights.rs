//! What the model may do in a run of Pi. Pi has no permissions: a level is a list of tools, and where a list is not
//! enough an extension of ours stands at the gate. MCP, which Pi lacks too, comes by another extension.

use super::tools::{self, Offer};
use crate::backend::{Launch, ScratchEntry, Site, gate};
use crate::error::Failure;
use crate::request::{McpServer, McpTransport, Permission, Persistence, PromptSyntax, Request};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

const GATE: &str = include_str!("gate.js");
const MCP: &str = include_str!("mcp.js");

/// The variable that says where conversations are kept.
const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";

/// Who looks at Pi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Headless,
    Terminal,
}

pub fn limit(
    request: &Request,
    site: &Site,
    surface: Surface,
    launch: &mut Launch,
    warnings: &mut Vec<String>,
) -> Result<(), Failure> {
    let offer = tools::offer(request)?;
    let servers = if offer.mcp.is_empty() {
        &[][..]
    } else {
        &request.mcp_servers
    };
    if servers.len() < request.mcp_servers.len() {
        warnings.push("no MCP server is started: the tools of this run leave out mcp".to_owned());
    }
    if let Some(builtin) = &offer.builtin {
        refuse_another_list(request)?;
        let changes = builtin.iter().any(|name| matches!(*name, "write" | "edit"));
        let confined = changes && request.permission != Permission::Full;
        if servers.is_empty() {
            tool_list(builtin, launch);
        }
        // A list cannot hold the names of MCP tools, which only their servers know: then the gate keeps it.
        if confined || !servers.is_empty() {
            guard(request, site, builtin, &offer, launch)?;
        }
    }
    mcp(servers, site, launch)?;
    let limited = offer.builtin.is_some();
    if limited || surface == Surface::Headless {
        // A workspace's extensions run unasked, and its packages are installed at the start unless Pi is offline.
        launch.arg("-ne");
        launch.env("PI_OFFLINE", "1");
    }
    if surface == Surface::Headless && request.prompt_syntax == PromptSyntax::Literal {
        launch.arg("-np");
    }
    if limited || request.patience.max_retries.is_some() {
        overlay(request, site, launch);
    }
    Ok(())
}

/// The last list of tools wins: one among the raw arguments would undo ours.
fn refuse_another_list(request: &Request) -> Result<(), Failure> {
    match request.raw_args.iter().find(|arg| *arg == "--tools" || *arg == "-t") {
        Some(flag) => Err(Failure::usage(format!(
            "`{}` after `--` would lift the limits of this run",
            flag.display()
        ))
        .hint("name tools with --allow-tool and --deny-tool, or use --permission full")),
        None => Ok(()),
    }
}

fn tool_list(names: &[&str], launch: &mut Launch) {
    if names.is_empty() {
        launch.arg("--no-tools");
    } else {
        launch.args(["--tools", &names.join(",")]);
    }
}

/// An extension of ours that refuses every tool but those offered, and keeps `write` and `edit` inside the allowed
/// directories.
fn guard(request: &Request, site: &Site, builtin: &[&str], offer: &Offer, launch: &mut Launch) -> Result<(), Failure> {
    let roots = match request.permission {
        Permission::Full => Value::Null,
        Permission::ReadOnly | Permission::Edit => json!(gate::roots(request, "Pi")?),
    };
    let rights = json!({
        "roots": roots,
        "offered": builtin,
        "mcp": offer.mcp,
        "refused": offer.refused_mcp,
        "denied": tools::DENIED,
    });
    extension("agentctl-gate.js", &gate::script(rights, GATE), site, launch);
    Ok(())
}

/// An extension of ours that offers the tools of MCP servers.
fn mcp(servers: &[McpServer], site: &Site, launch: &mut Launch) -> Result<(), Failure> {
    if servers.is_empty() {
        return Ok(());
    }
    let servers: Vec<Value> = servers.iter().map(server).collect::<Result<_, _>>()?;
    let servers = Value::from(servers);
    extension(
        "agentctl-mcp.js",
        &format!("const SERVERS = {servers};\n{MCP}"),
        site,
        launch,
    );
    Ok(())
}

fn server(server: &McpServer) -> Result<Value, Failure> {
    let name = &server.name;
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            Ok(json!({"name": name, "command": command, "args": args, "env": env}))
        }
        McpTransport::Http { url, headers } => Ok(json!({"name": name, "url": url, "headers": headers})),
        McpTransport::Sse { .. } => Err(Failure::usage(format!(
            "the MCP server `{name}` speaks the older SSE transport, which agentctl does not speak for Pi"
        ))
        .hint("use its streamable HTTP endpoint (\"type\": \"http\"), or a stdio bridge")),
    }
}

fn extension(name: &str, text: &str, site: &Site, launch: &mut Launch) {
    let path = site.scratch(name);
    launch.arg("-e").arg(path.as_path());
    launch.file(path, text);
}

/// A private copy of Pi's configuration directory: the user's own, except for what a limited run must not take from it.
fn overlay(request: &Request, site: &Site, launch: &mut Launch) {
    let own = agent_dir(site);
    let path = site.scratch("pi-agent");
    // A workspace can name the command by which the user's packages are looked up. Without packages it is never run.
    let mut patch = json!({"packages": []});
    if let Some(retries) = request.patience.max_retries {
        // Pi retries on two levels, one inside the other. Only the outer one is told in the stream.
        patch["retry"] = json!({"enabled": retries > 0, "maxRetries": retries, "provider": {"maxRetries": 0}});
    }
    launch.files.push(ScratchEntry::Mirror {
        path: path.clone(),
        of: own.clone(),
        except: vec!["settings.json".into()],
        create: vec!["sessions".into()],
    });
    launch.files.push(ScratchEntry::MergedJson {
        path: path.join("settings.json"),
        base: own.join("settings.json"),
        patch,
    });
    launch.env("PI_CODING_AGENT_DIR", path);
}

/// Below full rights a project does not choose where something is written, be it Pi's own conversation.
pub fn keep_conversations_at_home(request: &Request, site: &Site) -> Result<(), Failure> {
    let elsewhere = request.permission == Permission::Full || request.persistence == Persistence::Ephemeral;
    if elsewhere || chosen_session_dir(site).is_some() {
        return Ok(());
    }
    let file = project_settings(&request.cwd);
    let why = match named_in(&file) {
        Ok(None) => return Ok(()),
        Ok(Some(_)) => {
            "tells Pi where to write conversations (sessionDir), and a project may not below full rights".to_owned()
        }
        Err(why) => format!("may tell Pi where to write conversations, and cannot be read: {why}"),
    };
    Err(Failure::usage(format!("{} {why}", file.display())).hint(format!(
        "use --ephemeral, choose a directory with {SESSION_DIR}, or take the file away"
    )))
}

/// Where the CLI keeps conversations that begin in `cwd`, and how many directories below it.
pub fn session_dir(site: &Site, cwd: &Path) -> (PathBuf, usize) {
    let settings = [project_settings(cwd), agent_dir(site).join("settings.json")];
    let mut named = settings.iter().filter_map(|file| named_in(file).ok().flatten());
    match chosen_session_dir(site).map(str::to_owned).or_else(|| named.next()) {
        Some(own) => (cwd.join(expanded(&own, site)), 0),
        None => (agent_dir(site).join("sessions"), 1),
    }
}

/// The directory that the user chose: it goes above every file.
fn chosen_session_dir(site: &Site) -> Option<&str> {
    site.env(SESSION_DIR).filter(|directory| !directory.is_empty())
}

fn project_settings(cwd: &Path) -> PathBuf {
    cwd.join(".pi").join("settings.json")
}

/// The directory that a file of settings names. A stranger's project may have anything in its place.
fn named_in(settings: &Path) -> Result<Option<String>, String> {
    let told = |error: io::Error| error.to_string();
    match settings.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        looked_at => looked_at.map_err(told)?,
    };
    if !settings.is_file() {
        return Err("it is not a file".to_owned());
    }
    let text = std::fs::read(settings).map_err(told)?;
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    // Of a key that is there twice the last counts, for Pi as well.
    let settings: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let named = settings.get("sessionDir").and_then(Value::as_str);
    Ok(named.filter(|named| !named.is_empty()).map(str::to_owned))
}

/// Where the CLI keeps its things.
pub fn agent_dir(site: &Site) -> PathBuf {
    match site.env("PI_CODING_AGENT_DIR") {
        Some(own) => expanded(own, site),
        None => site.home.join(".pi").join("agent"),
    }
}

fn expanded(directory: &str, site: &Site) -> PathBuf {
    match directory.strip_prefix('~') {
        Some("") => site.home.clone(),
        Some(rest) if rest.starts_with('/') => site.home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_looked_for_where_pi_keeps_them() {
        let home = tempfile::tempdir().unwrap();
        let cwd = home.path().join("project");
        for folder in [cwd.join(".pi"), home.path().join(".pi/agent")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let mut site = Site {
            program: "/bin/pi".into(),
            scratch: "/scratch".into(),
            home: home.path().to_owned(),
            env: Default::default(),
            root: false,
        };
        assert_eq!(session_dir(&site, &cwd), (home.path().join(".pi/agent/sessions"), 1));
        std::fs::write(
            home.path().join(".pi/agent/settings.json"),
            r#"{"sessionDir":"~/kept"}"#,
        )
        .unwrap();
        assert_eq!(session_dir(&site, &cwd), (home.path().join("kept"), 0));
        std::fs::write(cwd.join(".pi/settings.json"), r#"{"sessionDir":"here"}"#).unwrap();
        assert_eq!(session_dir(&site, &cwd), (cwd.join("here"), 0));
        site.env.insert(SESSION_DIR.into(), "~".into());
        assert_eq!(session_dir(&site, &cwd), (home.path().to_owned(), 0));
    }

    #[test]
    fn a_project_does_not_choose_below_full_rights_where_conversations_are_written() {
        let cwd = tempfile::tempdir().unwrap();
        let settings = project_settings(cwd.path());
        std::fs::create_dir(settings.parent().unwrap()).unwrap();
        let site = |env: &[(&str, &str)]| Site {
            program: "/bin/pi".into(),
            scratch: "/scratch".into(),
            home: "/home/user".into(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            root: false,
        };
        let refused = |change: fn(&mut Request), env: &[(&str, &str)]| {
            let mut request = Request::new("hi", cwd.path());
            request.permission = Permission::ReadOnly;
            change(&mut request);
            keep_conversations_at_home(&request, &site(env)).is_err()
        };
        assert!(!refused(|_| {}, &[]), "there are no settings");
        let deep = format!(r#"{{"x":{}1{},"sessionDir":"/x"}}"#, "[".repeat(200), "]".repeat(200));
        for (text, expected) in [
            ("", false),
            (r#"{"theme":"dark","sessionDir":""}"#, false),
            (r#"{"sessionDir":"/x"}"#, true),
            (r#"{"sessionDir":"","sessionDir":"/x"}"#, true),
            (&deep, true),
            ("no json", true),
        ] {
            std::fs::write(&settings, text).unwrap();
            assert_eq!(refused(|_| {}, &[]), expected, "{text}");
        }
        assert!(refused(
            |request| request.permission = Permission::Edit,
            &[(SESSION_DIR, "")]
        ));
        assert!(!refused(|request| request.permission = Permission::Full, &[]));
        assert!(!refused(|request| request.persistence = Persistence::Ephemeral, &[]));
        assert!(!refused(|_| {}, &[(SESSION_DIR, "/mine")]));
    }
}
