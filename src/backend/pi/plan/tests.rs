//! What each option of a request comes to on Pi's command line.

use super::super::rights::agent_dir;
use super::*;
use crate::backend::ScratchEntry;
use crate::request::{Attachment, AttachmentKind, Continuation, McpServer, McpTransport, Permission, System};
use crate::tool::{ToolKind, ToolRule};
use serde_json::json;
use std::collections::BTreeMap;

const ID: &str = "01a1ec15-723e-782a-a787-b02431decc9c";

fn site() -> Site {
    Site {
        program: "/bin/pi".into(),
        scratch: "/scratch".into(),
        home: "/home/user".into(),
        env: BTreeMap::new(),
        root: false,
    }
}

fn request() -> Request {
    Request::new("hello", "/work")
}

fn args(request: &Request) -> String {
    let plan = headless(request, &site()).unwrap();
    let args: Vec<_> = plan.launch.args.iter().map(|arg| arg.to_str().unwrap()).collect();
    args.join(" ")
}

fn resume(id: &str) -> Request {
    let mut request = request();
    request.conversation = Conversation::Resume(Continuation {
        native_id: id.to_owned(),
        ..Continuation::default()
    });
    request
}

fn env(request: &Request, name: &str) -> Option<String> {
    let plan = headless(request, &site()).unwrap();
    let (_, value) = plan.launch.env.into_iter().find(|(key, _)| key == name)?;
    value?.into_string().ok()
}

#[test]
fn a_plain_run_is_json_mode_with_the_prompt_on_stdin() {
    let plan = headless(&request(), &site()).unwrap();
    assert_eq!(args(&request()), "--mode json -ne -np");
    assert_eq!(plan.launch.stdin, Stdin::Bytes(b"hello".to_vec()));
    assert_eq!(plan.launch.stop, Stop::Terminate);
    assert!(plan.launch.files.is_empty());
    assert_eq!(env(&request(), "PI_OFFLINE").as_deref(), Some("1"));
    assert_eq!(env(&request(), "PI_CODING_AGENT_DIR"), None);
}

#[test]
fn the_same_rights_go_along_for_a_run_a_resume_and_a_fork() {
    let of = Continuation {
        native_id: ID.to_owned(),
        ..Continuation::default()
    };
    let forms = [
        (request().conversation, String::new()),
        (Conversation::Resume(of.clone()), format!("--session {ID} ")),
        (
            Conversation::Fork {
                of,
                id: uuid::Uuid::nil(),
            },
            format!("--fork {ID} "),
        ),
    ];
    let levels = [
        (Permission::Full, ""),
        (
            Permission::Edit,
            "--tools read,edit,write,grep,find,ls -e /scratch/agentctl-gate.js ",
        ),
        (Permission::ReadOnly, "--tools read,grep,find,ls "),
    ];
    for (conversation, form) in &forms {
        for (permission, rights) in levels {
            let request = Request {
                conversation: conversation.clone(),
                permission,
                ..request()
            };
            assert_eq!(args(&request), format!("--mode json {form}{rights}-ne -np"));
        }
    }
}

#[test]
fn a_limited_run_uses_a_private_copy_of_the_configuration_without_packages() {
    let mut request = request();
    request.permission = Permission::ReadOnly;
    assert_eq!(
        env(&request, "PI_CODING_AGENT_DIR").as_deref(),
        Some("/scratch/pi-agent")
    );
    let plan = headless(&request, &site()).unwrap();
    assert!(plan.launch.files.iter().any(|file| matches!(
        file,
        ScratchEntry::Mirror { of, .. } if of == std::path::Path::new("/home/user/.pi/agent")
    )));
    assert!(plan.launch.files.iter().any(|file| matches!(
        file,
        ScratchEntry::MergedJson { patch, .. } if *patch == json!({"packages": []})
    )));
}

#[test]
fn the_users_own_configuration_directory_is_the_one_that_is_copied() {
    let mut site = site();
    for (value, expected) in [("/etc/pi", "/etc/pi"), ("~/pi", "/home/user/pi"), ("~", "/home/user")] {
        site.env.insert("PI_CODING_AGENT_DIR".into(), value.into());
        assert_eq!(agent_dir(&site), PathBuf::from(expected));
    }
}

#[test]
fn retries_are_limited_on_the_level_that_is_told_in_the_stream() {
    let mut request = request();
    request.patience.max_retries = Some(0);
    let plan = headless(&request, &site()).unwrap();
    let patch = plan.launch.files.iter().find_map(|file| match file {
        ScratchEntry::MergedJson { patch, .. } => Some(patch["retry"].clone()),
        _ => None,
    });
    assert_eq!(
        patch,
        Some(json!({"enabled": false, "maxRetries": 0, "provider": {"maxRetries": 0}}))
    );
}

#[test]
fn the_gate_knows_the_working_directory_and_the_added_ones() {
    let mut request = request();
    request.permission = Permission::Edit;
    request.add_dirs = vec!["/more \"quoted\"".into()];
    let plan = headless(&request, &site()).unwrap();
    let gate = plan.launch.files.iter().find_map(|file| match file {
        ScratchEntry::File { path, contents } if path.ends_with("agentctl-gate.js") => Some(contents.clone()),
        _ => None,
    });
    let gate = String::from_utf8(gate.unwrap()).unwrap();
    assert!(gate.contains(r#""roots":["/work","/more \"quoted\""]"#), "{gate}");
}

#[test]
fn a_tool_that_changes_files_is_gated_below_full_even_if_it_was_allowed_by_name() {
    let mut request = request();
    request.allow_tools = vec![ToolRule::Canonical(ToolKind::Write)];
    assert_eq!(args(&request), "--mode json --tools write -ne -np");
    request.permission = Permission::ReadOnly;
    assert_eq!(
        args(&request),
        "--mode json --tools write -e /scratch/agentctl-gate.js -ne -np"
    );
    request.deny_tools = request.allow_tools.clone();
    assert_eq!(args(&request), "--mode json --no-tools -ne -np");
}

#[test]
fn model_effort_system_and_files_become_flags() {
    let mut request = request();
    request.model = Some("mock/mock-model".into());
    request.effort = Some(Effort::Max);
    request.options.insert("provider".into(), "mock".into());
    request.system = Some(System {
        text: "Be brief.".into(),
        placement: Placement::Append,
    });
    request.attachments = vec![Attachment {
        path: "/work/a b.png".into(),
        kind: AttachmentKind::Image("image/png"),
    }];
    assert_eq!(
        args(&request),
        "--mode json --provider mock --model mock/mock-model --thinking xhigh -ne -np --append-system-prompt /scratch/append.md @/work/a b.png"
    );
    assert_eq!(headless(&request, &site()).unwrap().warnings.len(), 1);
}

#[test]
fn a_replaced_system_prompt_and_added_directories_are_two_files() {
    let mut request = request();
    request.system = Some(System {
        text: "You are a cat.".into(),
        placement: Placement::Replace,
    });
    request.add_dirs = vec!["/more".into()];
    assert_eq!(
        args(&request),
        "--mode json -ne -np --system-prompt /scratch/system.md --append-system-prompt /scratch/append.md"
    );
}

#[test]
fn only_plain_ids_reach_the_command_line() {
    assert!(headless(&resume(ID), &site()).is_ok());
    for id in [
        "",
        "-x",
        "--help",
        "/etc/passwd",
        "a/b",
        "x.jsonl",
        "..",
        "a b",
        "é",
        "a\\b",
    ] {
        assert!(headless(&resume(id), &site()).is_err(), "{id}");
    }
}

#[test]
fn a_conversation_cannot_go_on_without_being_stored() {
    let mut request = request();
    request.persistence = Persistence::Ephemeral;
    assert_eq!(args(&request), "--mode json --no-session -ne -np");
    let mut request = resume(ID);
    request.persistence = Persistence::Ephemeral;
    assert!(headless(&request, &site()).is_err());
}

#[test]
fn a_prompt_is_text_unless_expansion_is_asked_for() {
    let mut request = Request::new(" \n/skill:deploy now", "/work");
    assert_eq!(stdin_prompt(&request), "\u{200b}/skill:deploy now");
    request.prompt_syntax = PromptSyntax::Expand;
    assert_eq!(stdin_prompt(&request), request.prompt);
    assert_eq!(args(&request), "--mode json -ne");
    for prompt in ["/model", "--help", "@file", "!ls", "hello"] {
        assert_eq!(stdin_prompt(&Request::new(prompt, "/work")), prompt);
    }
}

#[test]
fn an_unknown_option_is_refused_with_a_suggestion() {
    let mut request = request();
    request.options.insert("provder".into(), "x".into());
    let failure = headless(&request, &site()).unwrap_err();
    assert!(format!("{failure:?}").contains("provider"), "{failure:?}");
    for (name, value) in [("thinking", "hard"), ("skills", "maybe")] {
        let mut request = Request::new("hello", "/work");
        request.options.insert(name.into(), value.into());
        assert!(headless(&request, &site()).is_err(), "{name}");
    }
}

#[test]
fn the_terminal_ui_keeps_the_users_extensions_only_at_full_rights() {
    let shown = |request: &Request| {
        let plan = interactive(request, &site()).unwrap();
        assert_eq!(plan.launch.stdin, Stdin::Inherited);
        plan.launch.args
    };
    assert_eq!(shown(&request()), ["hello"]);
    assert_eq!(shown(&Request::new("--help", "/work")), [" --help"]);
    assert_eq!(shown(&Request::new("/quit", "/work")), [" /quit"]);
    let mut request = Request::new("", "/work");
    request.permission = Permission::ReadOnly;
    assert_eq!(shown(&request), ["--tools", "read,grep,find,ls", "-ne"]);
}

#[test]
fn mcp_servers_come_by_an_extension_and_the_gate_keeps_the_list_of_tools() {
    let mut request = request();
    let stdio = McpTransport::Stdio {
        command: "db".into(),
        args: vec!["--x".into()],
        env: BTreeMap::new(),
    };
    request.mcp_servers = vec![McpServer {
        name: "db".into(),
        transport: stdio,
    }];
    assert_eq!(args(&request), "--mode json -e /scratch/agentctl-mcp.js -ne -np");
    request.permission = Permission::ReadOnly;
    assert_eq!(
        args(&request),
        "--mode json -e /scratch/agentctl-gate.js -e /scratch/agentctl-mcp.js -ne -np"
    );
    request.deny_tools = vec![ToolRule::Canonical(ToolKind::Mcp)];
    assert_eq!(args(&request), "--mode json --tools read,grep,find,ls -ne -np");
    assert_eq!(headless(&request, &site()).unwrap().warnings.len(), 1);
}

#[test]
fn an_mcp_server_of_the_older_transport_is_refused() {
    let mut request = request();
    request.mcp_servers = vec![McpServer {
        name: "old".into(),
        transport: McpTransport::Sse {
            url: "http://localhost/sse".into(),
            headers: BTreeMap::new(),
        },
    }];
    assert!(headless(&request, &site()).is_err());
}

#[test]
fn raw_arguments_come_last_and_cannot_lift_the_limits() {
    let mut request = request();
    request.raw_args = vec!["--tools".into(), "bash".into()];
    assert_eq!(args(&request), "--mode json -ne -np --tools bash");
    request.permission = Permission::ReadOnly;
    assert!(headless(&request, &site()).is_err());
}
