//! Plans, as they are run.

use super::{request, with};
use crate::backend::claude::{CARRIED_MODEL, Claude};
use crate::backend::{Backend, Launch, Plan, ScratchEntry, Site, Stdin, Stop};
use crate::error::{ErrorKind, Failure};
use crate::request::{
    Attachment, AttachmentKind, Continuation, Conversation, Effort, McpServer, McpTransport, Permission, Persistence,
    Placement, PromptSyntax, Request, System,
};
use crate::tool::{ToolKind, ToolRule};
use std::collections::BTreeMap;

const ID: &str = "9b6fa811-68ff-4343-bd84-aa36d740c320";
const COMMON: &str = "-p --output-format stream-json --input-format stream-json --verbose --include-partial-messages";

fn site() -> Site {
    Site {
        program: "/bin/claude".into(),
        scratch: "/scratch".into(),
        home: "/home/user".into(),
        env: BTreeMap::new(),
        root: false,
    }
}

fn plan(request: &Request) -> Plan {
    Claude.plan(request, &site()).unwrap()
}

fn refusal(request: &Request) -> Failure {
    Claude.plan(request, &site()).unwrap_err()
}

fn words(launch: &Launch) -> String {
    let words = launch.args.iter().map(|arg| match arg.to_str() {
        Some("") => "''".to_owned(),
        _ => arg.to_string_lossy().into_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn argv(request: &Request) -> String {
    words(&plan(request).launch)
}

fn variable(launch: &Launch, name: &str) -> Option<String> {
    let (_, value) = launch.env.iter().find(|(candidate, _)| candidate == name)?;
    value.as_ref().map(|value| value.to_string_lossy().into_owned())
}

fn content(request: &Request) -> serde_json::Value {
    let Stdin::Held(bytes) = plan(request).launch.stdin else {
        panic!("the input is held open");
    };
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
    let line: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    line["message"]["content"].clone()
}

fn resumed(id: &str) -> Conversation {
    Conversation::Resume(Continuation {
        native_id: id.to_owned(),
        carried: BTreeMap::new(),
    })
}

#[test]
fn a_plain_run_has_the_recommended_arguments() {
    let plan = plan(&request());
    assert_eq!(words(&plan.launch), format!("{COMMON} --dangerously-skip-permissions"));
    assert_eq!(plan.launch.stop, Stop::Interrupt);
    assert_eq!(variable(&plan.launch, "DISABLE_AUTOUPDATER").as_deref(), Some("1"));
    assert_eq!(
        variable(&plan.launch, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS").as_deref(),
        Some("1")
    );
    assert!(plan.launch.files.is_empty() && plan.warnings.is_empty());
}

#[test]
fn every_option_has_its_flag() {
    let request = with(|request| {
        request.model = Some("opus".into());
        request.max_turns = Some(7);
        request.effort = Some(Effort::Xhigh);
        request.schema = Some(serde_json::json!({"type": "object"}));
        request.persistence = Persistence::Ephemeral;
        request.add_dirs = vec!["/more".into()];
        request.patience.max_retries = Some(2);
        request.options.insert("max-budget-usd".into(), "1.5".into());
        request.raw_args = vec!["--debug".into()];
    });
    assert_eq!(
        argv(&request),
        format!(
            "{COMMON} --max-turns 7 --json-schema {{\"type\":\"object\"}} --no-session-persistence --max-budget-usd 1.5 \
             --model opus --effort xhigh --add-dir /more --dangerously-skip-permissions --debug"
        )
    );
    assert_eq!(
        variable(&plan(&request).launch, "CLAUDE_CODE_MAX_RETRIES").as_deref(),
        Some("2")
    );
}

#[test]
fn system_prompts_go_by_file_on_every_turn() {
    for (placement, flag) in [
        (Placement::Append, "--append-system-prompt-file"),
        (Placement::Replace, "--system-prompt-file"),
    ] {
        for conversation in [request().conversation, resumed(ID)] {
            let plan = plan(&with(|request| {
                request.conversation = conversation;
                request.system = Some(System {
                    text: "be brief".repeat(100_000),
                    placement,
                });
            }));
            assert!(words(&plan.launch).contains(&format!("{flag} /scratch/system.md")));
            assert!(
                matches!(&plan.launch.files[..], [ScratchEntry::File { contents, .. }] if contents.len() == 800_000)
            );
        }
    }
}

#[test]
fn resume_and_fork_send_the_rights_again() {
    let resume = with(|request| {
        request.conversation = resumed(ID);
        request.permission = Permission::ReadOnly;
    });
    assert!(argv(&resume).contains(&format!("--resume {ID} --permission-mode dontAsk --tools ")));
    let fork = with(|request| {
        request.conversation = Conversation::Fork {
            of: Continuation {
                native_id: ID.into(),
                carried: BTreeMap::new(),
            },
            id: uuid::Uuid::nil(),
        };
    });
    assert!(argv(&fork).contains(&format!("--resume {ID} --fork-session --dangerously-skip-permissions")));
    assert!(!argv(&request()).contains("--resume"));
}

#[test]
fn a_resumed_conversation_keeps_its_model_unless_another_is_asked_for() {
    let mut request = with(|request| {
        request.conversation = Conversation::Resume(Continuation {
            native_id: ID.into(),
            carried: BTreeMap::from([(CARRIED_MODEL.to_owned(), "claude-opus-4-8[1m]".to_owned())]),
        });
    });
    assert!(argv(&request).contains("--model claude-opus-4-8[1m]"));
    request.model = Some("haiku".into());
    assert!(argv(&request).contains("--model haiku"));
    assert!(!argv(&request).contains("opus"));
}

#[test]
fn what_is_no_session_id_never_reaches_the_command_line() {
    for id in [
        "",
        "--help",
        "my session",
        "../../etc/passwd",
        "9b6fa81168ff4343bd84aa36d740c320",
        "x.jsonl",
    ] {
        let failure = refusal(&with(|request| request.conversation = resumed(id)));
        assert_eq!(failure.kind, ErrorKind::Usage, "{id}");
    }
}

#[test]
fn restricted_levels_offer_only_their_tools_and_load_nobody_elses_settings() {
    let read_only = argv(&with(|request| request.permission = Permission::ReadOnly));
    assert_eq!(
        read_only,
        format!(
            "{COMMON} --permission-mode dontAsk --tools \
             Glob,Grep,LS,NotebookRead,Read,TaskCreate,TaskGet,TaskList,TaskUpdate,TodoWrite --setting-sources '' --settings \
             /scratch/settings.json --add-dir /scratch/memory --add-dir /project --strict-mcp-config"
        )
    );
    let edit = argv(&with(|request| request.permission = Permission::Edit));
    assert!(edit.contains("--permission-mode acceptEdits --tools Edit,Glob,Grep,LS,MultiEdit,NotebookEdit,"));
    for argv in [read_only, edit] {
        for never in [
            "Bash",
            "WebFetch",
            "Agent",
            "Skill",
            "bypass",
            "dangerously",
            "--allowedTools",
        ] {
            assert!(!argv.contains(never), "{never} in {argv}");
        }
    }
}

#[test]
fn the_users_settings_are_copied_without_what_grants_rights() {
    let mut site = site();
    site.env.insert("CLAUDE_CONFIG_DIR".into(), "/elsewhere".into());
    let request = with(|request| request.permission = Permission::Edit);
    let launch = Claude.plan(&request, &site).unwrap().launch;
    let [
        ScratchEntry::MergedJson { base, patch, .. },
        ScratchEntry::CopyOrEmpty { of, .. },
    ] = &launch.files[..]
    else {
        panic!("{:?}", launch.files);
    };
    assert_eq!(base.to_str(), Some("/elsewhere/settings.json"));
    assert_eq!(of.to_str(), Some("/elsewhere/CLAUDE.md"));
    assert_eq!(patch["permissions"]["allow"], serde_json::json!([]));
    assert_eq!(patch["permissions"]["defaultMode"], "acceptEdits");
    assert_eq!(patch["disableAllHooks"], true);
}

fn canonical(kind: ToolKind) -> ToolRule {
    ToolRule::Canonical(kind)
}

fn native(rule: &str) -> ToolRule {
    ToolRule::Native(rule.to_owned())
}

#[test]
fn allowed_tools_are_the_only_ones() {
    let full = argv(&with(|request| {
        request.allow_tools = vec![canonical(ToolKind::Read), native("Bash(git *)")]
    }));
    assert!(full.contains("--permission-mode dontAsk --tools Bash,NotebookRead,Read,TaskCreate"));
    assert!(full.contains("--allowedTools=Read --allowedTools=NotebookRead --allowedTools=Bash(git *)"));
    assert!(!full.contains("dangerously"));

    let confined = argv(&with(|request| {
        request.permission = Permission::ReadOnly;
        request.allow_tools = vec![canonical(ToolKind::Write)];
    }));
    assert!(
        confined
            .contains("--permission-mode acceptEdits --tools TaskCreate,TaskGet,TaskList,TaskUpdate,TodoWrite,Write")
    );
    assert!(
        !confined.contains("--allowedTools"),
        "a bare rule would allow writing anywhere"
    );
}

#[test]
fn a_pattern_of_files_limits_editing_below_full_rights_too() {
    let edit = |rules: &[ToolRule]| {
        with(|request| {
            request.permission = Permission::Edit;
            request.allow_tools = rules.to_vec();
        })
    };
    let argv = argv(&edit(&[native("write(src/**)")]));
    assert!(argv.contains("--permission-mode dontAsk --tools"), "{argv}");
    assert!(argv.contains("--allowedTools=Edit(src/**)"), "{argv}");
    // In the mode in which whole tools are confined to the directory, the pattern would mean nothing.
    refusal(&edit(&[canonical(ToolKind::Write), native("Edit(src/**)")]));
    for outside in ["Edit(//etc/**)", "Edit(~/x)", "write(../x)", "Read(src/**)"] {
        refusal(&edit(&[native(outside)]));
    }
}

#[test]
fn denied_tools_are_taken_away_at_every_level() {
    for permission in Permission::ALL {
        let argv = argv(&with(|request| {
            request.permission = *permission;
            request.deny_tools = vec![canonical(ToolKind::Write), native("Bash(rm *)")];
        }));
        assert!(argv.contains("--disallowedTools=Write --disallowedTools=Bash(rm *)"));
        assert!(
            argv.contains("--setting-sources"),
            "a project's hooks would run commands"
        );
    }
}

#[test]
fn rules_that_are_none_are_refused() {
    for rule in [
        "",
        "--help",
        "Bash(",
        "Bash(x",
        "(x)",
        "Ba sh",
        "Bash(a\nb)",
        "Bash,Write",
    ] {
        for side in ["allow", "deny"] {
            let failure = refusal(&with(|request| match side {
                "allow" => request.allow_tools = vec![native(rule)],
                _ => request.deny_tools = vec![native(rule)],
            }));
            assert_eq!(failure.kind, ErrorKind::Usage, "{side} {rule}");
        }
    }
}

#[test]
fn raw_arguments_cannot_lift_a_restriction() {
    for arg in [
        "--dangerously-skip-permissions",
        "--permission-mode=auto",
        "--settings",
        "--tools",
    ] {
        let failure = refusal(&with(|request| {
            request.permission = Permission::ReadOnly;
            request.raw_args = vec![arg.into()];
        }));
        assert_eq!(failure.kind, ErrorKind::Usage, "{arg}");
    }
}

fn tracker() -> McpServer {
    McpServer {
        name: "my tracker".into(),
        transport: McpTransport::Http {
            url: "http://localhost/mcp".into(),
            headers: BTreeMap::new(),
        },
    }
}

#[test]
fn mcp_servers_of_the_run_are_approved_at_every_level() {
    let full = plan(&with(|request| request.mcp_servers = vec![tracker()]));
    assert!(words(&full.launch).ends_with("--dangerously-skip-permissions --mcp-config /scratch/mcp.json"));
    let ScratchEntry::File { contents, .. } = &full.launch.files[0] else {
        panic!("a file");
    };
    let config: serde_json::Value = serde_json::from_slice(contents).unwrap();
    assert_eq!(config["mcpServers"]["my tracker"]["url"], "http://localhost/mcp");

    let read_only = argv(&with(|request| {
        request.permission = Permission::ReadOnly;
        request.mcp_servers = vec![tracker()];
    }));
    assert!(read_only.contains("--allowedTools=mcp__my_tracker"));
    assert!(read_only.contains("--strict-mcp-config --mcp-config /scratch/mcp.json"));
}

#[test]
fn denied_mcp_starts_no_server_and_says_so() {
    let plan = plan(&with(|request| {
        request.mcp_servers = vec![tracker()];
        request.deny_tools = vec![canonical(ToolKind::Mcp)];
    }));
    assert!(words(&plan.launch).ends_with("--strict-mcp-config"));
    assert_eq!(plan.warnings.len(), 1);
}

#[test]
fn a_literal_prompt_stands_in_a_block_that_the_cli_does_not_search() {
    for prompt in [
        "/clear",
        "see @/etc/passwd",
        "-p",
        "!ls",
        "# note",
        " a\n\"b\"\\ \u{1f600}",
    ] {
        let content = content(&with(|request| request.prompt = prompt.to_owned()));
        assert_eq!(content[0]["text"], prompt);
        assert_eq!(content[1]["text"], "");
    }
}

#[test]
fn an_expanding_prompt_is_sent_as_it_is() {
    let content = content(&with(|request| {
        request.prompt = "/review @src".to_owned();
        request.prompt_syntax = PromptSyntax::Expand;
    }));
    assert_eq!(content, "/review @src");
}

#[test]
fn attachments_are_mentioned_after_the_prompt() {
    let attach = |path: &str| {
        with(|request| {
            request.prompt = "what is @this?".to_owned();
            request.attachments = vec![Attachment {
                path: path.into(),
                kind: AttachmentKind::File,
            }];
        })
    };
    let content = content(&attach("/data/my file.txt"));
    assert_eq!(content[0]["text"], "what is @this?");
    assert_eq!(content[1]["text"], "@\"/data/my file.txt\"");
    assert_eq!(refusal(&attach("/data/\"quoted\"")).kind, ErrorKind::Usage);

    let mut restricted = attach("/data/my file.txt");
    restricted.permission = Permission::ReadOnly;
    assert!(argv(&restricted).contains("--allowedTools=Read(//data/my file.txt)"));
}

#[test]
fn the_terminal_ui_gets_the_same_rights_and_a_harmless_prompt() {
    let request = with(|request| {
        request.prompt = "/clear @secret".to_owned();
        request.permission = Permission::ReadOnly;
        request.model = Some("opus".into());
        request.conversation = resumed(ID);
    });
    let plan = Claude.interactive(&request, &site()).unwrap();
    let words = words(&plan.launch);
    assert!(words.starts_with(&format!(
        "--model opus --resume {ID} --permission-mode dontAsk --tools "
    )));
    assert!(words.ends_with("--  /clear @\u{2060}secret"));
    assert!(!words.contains("stream-json"));
    assert_eq!(plan.launch.stdin, Stdin::Inherited);
}
