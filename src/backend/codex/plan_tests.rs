//! The command lines, whole: what a run, a resume and a fork come to at each level.

use super::plan;
use super::protocol::CARRIED_SYSTEM;
use crate::backend::{Launch, Plan, ScratchEntry, Site, Stdin};
use crate::error::{ErrorKind, Failure};
use crate::request::{
    Attachment, AttachmentKind, Continuation, Conversation, McpServer, McpTransport, Permission, Persistence,
    Placement, PromptSyntax, Request, System,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const ID: &str = "01a1ec17-5e86-70b1-aeb7-e794cc485f46";

fn site() -> Site {
    Site {
        program: "/usr/bin/codex".into(),
        scratch: "/scratch".into(),
        home: "/home/user".into(),
        env: BTreeMap::from([("PATH".into(), "/usr/bin".into())]),
        root: false,
    }
}

fn request(prompt: &str) -> Request {
    Request::new(prompt, "/home/user/project")
}

fn planned(request: &Request) -> Plan {
    plan::headless(request, &site()).unwrap()
}

fn refused(request: &Request) -> Failure {
    let failure = plan::headless(request, &site()).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Usage);
    failure
}

fn args(launch: &Launch) -> Vec<&str> {
    launch.args.iter().map(|arg| arg.to_str().unwrap()).collect()
}

fn resume(carried: &[(&str, String)]) -> Conversation {
    Conversation::Resume(Continuation {
        native_id: ID.into(),
        carried: carried
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect(),
    })
}

/// The settings given with `-c`.
fn settings(launch: &Launch) -> Vec<&str> {
    let args = args(launch);
    args.windows(2)
        .filter(|pair| pair[0] == "-c")
        .map(|pair| pair[1])
        .collect()
}

fn setting<'a>(launch: &'a Launch, key: &str) -> Option<&'a str> {
    settings(launch)
        .into_iter()
        .find_map(|setting| setting.strip_prefix(key)?.strip_prefix('='))
}

#[test]
fn a_full_run_has_the_recommended_arguments_and_its_prompt_on_standard_input() {
    let plan = planned(&request("-hello"));
    assert_eq!(
        args(&plan.launch),
        [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--color",
            "never",
            "-C",
            "/home/user/project",
            "-c",
            "model_reasoning_summary=\"auto\"",
            "-c",
            "features.plugins=false",
            "-c",
            "check_for_update_on_startup=false",
            "-c",
            "features.unbounded_connection_retries=false",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c",
            "shell_environment_policy.set.RUST_LOG=\"\"",
            "-",
        ]
    );
    assert_eq!(plan.launch.stdin, Stdin::Bytes(b"-hello".to_vec()));
    assert!(plan.warnings.is_empty());
}

#[test]
fn every_flag_stands_before_resume_and_the_level_is_given_again() {
    for permission in Permission::ALL {
        let mut request = request("hello");
        request.permission = *permission;
        request.conversation = resume(&[]);
        let plan = planned(&request);
        let args = args(&plan.launch);
        assert_eq!(args[args.len() - 3..], ["resume", ID, "-"]);
        let level = match permission {
            Permission::Full => "--dangerously-bypass-approvals-and-sandbox",
            Permission::Edit => "workspace-write",
            Permission::ReadOnly => "read-only",
        };
        assert!(args.contains(&level), "{args:?}");
    }
}

#[test]
fn a_fork_names_its_origin() {
    let mut request = request("hello");
    request.conversation = Conversation::Fork {
        of: Continuation {
            native_id: ID.into(),
            ..Continuation::default()
        },
        id: uuid::Uuid::nil(),
    };
    assert!(args(&planned(&request).launch).ends_with(&["fork", ID, "-"]));
}

#[test]
fn an_id_that_is_no_uuid_never_reaches_the_command_line() {
    for id in [
        "",
        "--last",
        "my-thread",
        "01a1ec175e8670b1aeb7e794cc485f46",
        "{01a1ec17-5e86-70b1-aeb7-e794cc485f4}",
    ] {
        let mut request = request("hello");
        request.conversation = Conversation::Resume(Continuation {
            native_id: id.into(),
            ..Continuation::default()
        });
        refused(&request);
    }
}

#[test]
fn below_full_neither_rules_nor_the_project_nor_the_user_widen_the_sandbox() {
    let mut request = request("hello");
    request.permission = Permission::Edit;
    request.add_dirs = vec![PathBuf::from("/data")];
    let plan = planned(&request);
    let args = args(&plan.launch);
    assert!(args.contains(&"--ignore-rules"));
    assert!(args.windows(2).any(|pair| pair == ["--add-dir", "/data"]));
    assert_eq!(
        setting(&plan.launch, "sandbox_workspace_write.network_access"),
        Some("false")
    );
    assert_eq!(
        setting(&plan.launch, "sandbox_workspace_write.writable_roots"),
        Some("[]")
    );
    assert_eq!(
        setting(&plan.launch, "sandbox_workspace_write.exclude_slash_tmp"),
        Some("true")
    );
    assert_eq!(setting(&plan.launch, "web_search"), Some("\"disabled\""));
    let projects = setting(&plan.launch, "projects").unwrap();
    for directory in ["\"/home/user/project\"", "\"/home/user\"", "\"/home\"", "\"/\""] {
        assert!(projects.contains(directory), "{projects}");
    }
    assert!(
        plan.launch
            .env
            .contains(&("TMPDIR".into(), Some("/scratch/tmp".into())))
    );
}

#[test]
fn a_project_is_trusted_only_when_asked() {
    let mut request = request("hello");
    request.permission = Permission::ReadOnly;
    request.options.insert("trust-project".into(), "yes".into());
    assert_eq!(setting(&planned(&request).launch, "projects"), None);
    request.options.insert("trust-project".into(), "maybe".into());
    refused(&request);
}

#[test]
fn a_web_search_needs_full_permission() {
    let mut request = request("hello");
    request.options.insert("web-search".into(), "live".into());
    assert_eq!(setting(&planned(&request).launch, "web_search"), Some("\"live\""));
    request.permission = Permission::ReadOnly;
    refused(&request);
}

fn with_system(text: &str, placement: Placement) -> Request {
    let mut request = request("hello");
    request.system = Some(System {
        text: text.into(),
        placement,
    });
    request
}

#[test]
fn a_system_prompt_is_a_setting_and_a_replacing_one_a_file() {
    let plan = planned(&with_system("be \"brief\"\ntrue", Placement::Append));
    assert_eq!(
        setting(&plan.launch, "developer_instructions"),
        Some(r#""be \"brief\"\ntrue""#)
    );
    let plan = planned(&with_system("you are a parrot", Placement::Replace));
    assert_eq!(
        setting(&plan.launch, "model_instructions_file"),
        Some("\"/scratch/system.md\"")
    );
    assert!(matches!(&plan.launch.files[..], [ScratchEntry::File { contents, .. }] if contents == b"you are a parrot"));
}

#[test]
fn a_system_prompt_that_fits_no_argument_goes_before_the_prompt() {
    let plan = planned(&with_system(&"x".repeat(900_000), Placement::Append));
    assert!(plan.launch.args.iter().all(|arg| arg.len() < 128 * 1024));
    assert!(
        matches!(&plan.launch.stdin, Stdin::Bytes(bytes) if bytes.len() > 900_000 && bytes.ends_with(b"\n\nhello"))
    );
    assert_eq!(plan.warnings.len(), 1);
}

#[test]
fn a_resumed_thread_keeps_its_system_prompt_and_is_told_a_changed_one() {
    let mut request = with_system("one", Placement::Append);
    let fingerprint = request.system.as_ref().unwrap().fingerprint();
    request.conversation = resume(&[(CARRIED_SYSTEM, fingerprint.clone())]);
    let plan = planned(&request);
    assert_eq!(plan.launch.stdin, Stdin::Bytes(b"hello".to_vec()));
    assert!(plan.warnings.is_empty());

    let mut request = with_system("two", Placement::Append);
    request.conversation = resume(&[(CARRIED_SYSTEM, fingerprint)]);
    let plan = planned(&request);
    assert!(matches!(&plan.launch.stdin, Stdin::Bytes(bytes) if bytes.starts_with(b"<system_instructions>\ntwo\n")));
    assert_eq!(plan.warnings.len(), 1);
}

#[test]
fn a_prompt_longer_than_codex_takes_is_refused() {
    assert!(plan::headless(&request(&"ü".repeat(1_048_576)), &site()).is_ok());
    let failure = refused(&request(&"x".repeat(1_048_577)));
    assert!(failure.message.contains("1048577"), "{failure}");
}

#[test]
fn skills_that_a_literal_prompt_names_are_switched_off() {
    let mut request = request("use $deploy");
    assert_eq!(
        setting(&planned(&request).launch, "skills.config"),
        Some(r#"[{name="deploy",enabled=false}]"#)
    );
    request.prompt_syntax = PromptSyntax::Expand;
    assert_eq!(setting(&planned(&request).launch, "skills.config"), None);
}

#[test]
fn mcp_servers_are_approved_and_their_secrets_stay_off_the_command_line() {
    let mut request = request("hello");
    let env = BTreeMap::from([
        ("TOKEN".to_owned(), "s3cret".to_owned()),
        ("PATH".to_owned(), "/elsewhere".to_owned()),
    ]);
    request.mcp_servers = vec![
        McpServer {
            name: "tiny".into(),
            transport: McpTransport::Stdio {
                command: "python3".into(),
                args: vec!["server.py".into()],
                env,
            },
        },
        McpServer {
            name: "web".into(),
            transport: McpTransport::Http {
                url: "https://example.com/mcp".into(),
                headers: BTreeMap::from([("Authorization".to_owned(), "Bearer s3cret".to_owned())]),
            },
        },
    ];
    let plan = planned(&request);
    assert_eq!(
        setting(&plan.launch, "mcp_servers.tiny"),
        Some(
            r#"{"command"="python3","args"=["server.py"],"env_vars"=["TOKEN"],"env"={"PATH"="/elsewhere"},"default_tools_approval_mode"="approve"}"#
        )
    );
    let web = setting(&plan.launch, "mcp_servers.web").unwrap();
    assert!(web.contains("env_http_headers"), "{web}");
    assert!(args(&plan.launch).iter().all(|arg| !arg.contains("s3cret")));
    assert!(plan.launch.env.contains(&("TOKEN".into(), Some("s3cret".into()))));
}

#[test]
fn an_mcp_server_that_codex_cannot_have_is_refused() {
    let mut request = request("hello");
    let sse = McpTransport::Sse {
        url: "https://example.com".into(),
        headers: BTreeMap::new(),
    };
    let http = McpTransport::Http {
        url: "https://example.com".into(),
        headers: BTreeMap::new(),
    };
    for (name, transport) in [("a", sse), ("a.b=1", http)] {
        request.mcp_servers = vec![McpServer {
            name: name.into(),
            transport,
        }];
        refused(&request);
    }
}

#[test]
fn attachments_schema_and_persistence_are_mapped() {
    let mut request = request("look");
    request.attachments = vec![
        Attachment {
            path: "/home/user/i.png".into(),
            kind: AttachmentKind::Image("image/png"),
        },
        Attachment {
            path: "/home/user/notes.txt".into(),
            kind: AttachmentKind::File,
        },
    ];
    request.schema = Some(serde_json::json!({"type": "object"}));
    request.persistence = Persistence::Ephemeral;
    request.raw_args = vec!["--oss".into()];
    let plan = planned(&request);
    let args = args(&plan.launch);
    assert!(args.contains(&"--image=/home/user/i.png"));
    assert!(
        args.windows(2)
            .any(|pair| pair == ["--output-schema", "/scratch/schema.json"])
    );
    assert!(args.contains(&"--ephemeral"));
    assert!(args.ends_with(&["--oss", "-"]));
    assert_eq!(
        plan.launch.stdin,
        Stdin::Bytes(b"look\n\nAttached file: /home/user/notes.txt".to_vec())
    );
    request.attachments[0].path = "/home/user/a,b.png".into();
    refused(&request);
}

#[test]
fn the_agents_commands_see_the_users_own_log_filter() {
    let mut site = site();
    site.env.insert("RUST_LOG".into(), "debug".into());
    let plan = plan::headless(&request("hello"), &site).unwrap();
    assert_eq!(
        setting(&plan.launch, "shell_environment_policy.set.RUST_LOG"),
        Some("\"debug\"")
    );
}

#[test]
fn the_terminal_ui_gets_the_same_level_and_the_prompt_as_text() {
    let mut request = request("--help");
    request.permission = Permission::ReadOnly;
    request.model = Some("gpt-5.5".into());
    let plan = plan::interactive(&request, &site()).unwrap();
    let args = args(&plan.launch);
    assert!(args.ends_with(&["--", "--help"]));
    for pair in [["-s", "read-only"], ["-a", "never"], ["-m", "gpt-5.5"]] {
        assert!(args.windows(2).any(|window| window == pair), "{args:?}");
    }
    assert!(!args.contains(&"--json"));
    assert_eq!(plan.launch.stdin, Stdin::Inherited);
}

#[test]
fn a_thread_that_goes_on_is_stored_or_nothing_runs() {
    let of = Continuation {
        native_id: ID.to_owned(),
        ..Continuation::default()
    };
    let id = uuid::Uuid::nil();
    for conversation in [
        Conversation::Resume(of.clone()),
        Conversation::Fork { of: of.clone(), id },
    ] {
        let mut request = request("go on");
        request.conversation = conversation;
        planned(&request);
        request.persistence = Persistence::Ephemeral;
        assert!(refused(&request).hint.unwrap().contains("--ephemeral"));
    }
}
