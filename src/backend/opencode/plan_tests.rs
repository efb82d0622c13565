//! Plans of OpenCode, as users ask for them.

use super::OpenCode;
use crate::backend::{Backend, Plan, ScratchEntry, Site, Stdin};
use crate::error::ErrorKind;
use crate::request::{
    Continuation, Conversation, Effort, McpServer, McpTransport, Permission, Persistence, Placement, PromptSyntax,
    Request, System,
};
use crate::tool::ToolRule;
use std::collections::BTreeMap;
use std::path::PathBuf;

const ID: &str = "ses_e13ea3634ffe79FvjS09cum4Vz";

fn site() -> Site {
    Site {
        program: PathBuf::from("/bin/opencode"),
        scratch: PathBuf::from("/scratch/run-Ab1"),
        home: PathBuf::from("/home/user"),
        env: BTreeMap::new(),
        root: false,
    }
}

fn request(permission: Permission) -> Request {
    let mut request = Request::new("-hello", "/home/user/project");
    request.permission = permission;
    request
}

fn resumed(permission: Permission, carried: &[(&str, &str)]) -> Request {
    let mut request = request(permission);
    request.conversation = Conversation::Resume(Continuation {
        native_id: ID.to_owned(),
        carried: carried
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    });
    request
}

fn plan(request: &Request) -> Plan {
    OpenCode.plan(request, &site()).unwrap()
}

fn arguments(plan: &Plan) -> String {
    let arguments: Vec<_> = plan
        .launch
        .args
        .iter()
        .map(|argument| argument.to_str().unwrap())
        .collect();
    arguments.join(" ")
}

/// The last word on a variable; the outer option is whether there is one.
fn variable<'a>(plan: &'a Plan, name: &str) -> Option<Option<&'a str>> {
    let found = plan.launch.env.iter().rfind(|(key, _)| key == name);
    found.map(|(_, value)| value.as_deref().map(|value| value.to_str().unwrap()))
}

fn config(plan: &Plan) -> &str {
    variable(plan, "OPENCODE_CONFIG_CONTENT").flatten().unwrap()
}

fn table(permission: Permission, allow: &[&str], deny: &[&str]) -> String {
    let mut request = request(permission);
    request.allow_tools = allow.iter().map(|rule| ToolRule::from((*rule).to_owned())).collect();
    request.deny_tools = deny.iter().map(|rule| ToolRule::from((*rule).to_owned())).collect();
    let plan = plan(&request);
    let (_, rest) = config(&plan).split_once(r#""mode":"primary","permission":"#).unwrap();
    rest.split_once("}},\"default_agent\"").unwrap().0.to_owned()
}

#[test]
fn a_full_run_is_the_recommended_command_with_the_prompt_on_standard_input() {
    let plan = plan(&request(Permission::Full));
    assert_eq!(
        arguments(&plan),
        "run --format json --thinking --title= --dir /home/user/project --auto --print-logs --log-level ERROR"
    );
    assert_eq!(plan.launch.stdin, Stdin::Bytes(b"-hello".to_vec()));
    assert_eq!(config(&plan), "{}");
    assert_eq!(variable(&plan, "OPENCODE_DISABLE_PROJECT_CONFIG"), None);
}

#[test]
fn limited_rights_come_from_an_agent_of_our_own_and_nothing_else_is_heard() {
    for permission in [Permission::ReadOnly, Permission::Edit] {
        for request in [request(permission), resumed(permission, &[])] {
            let plan = plan(&request);
            let arguments = arguments(&plan);
            assert!(arguments.contains("--agent agentctl-runAb1"), "{arguments}");
            assert!(!arguments.contains("--auto"), "{arguments}");
            assert!(config(&plan).contains(r#""default_agent":"agentctl-runAb1""#));
            assert_eq!(variable(&plan, "OPENCODE_DISABLE_PROJECT_CONFIG"), Some(Some("1")));
            assert_eq!(variable(&plan, "OPENCODE_PERMISSION"), Some(None));
        }
    }
}

#[test]
fn the_levels_are_these_tables() {
    let read_only = r#"{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","skill":"allow","task":"deny","plan_enter":"deny","plan_exit":"deny","question":"deny","external_directory":"deny","doom_loop":"allow"}"#;
    let plan_of_reading = plan(&request(Permission::ReadOnly));
    assert!(
        gate(&plan_of_reading)
            .unwrap()
            .contains(&format!(r#""permission":{read_only},"#))
    );
    let edit = read_only.replace(r#""skill":"allow","#, r#""skill":"allow","edit":"allow","#);
    let plan = plan(&request(Permission::Edit));
    assert!(gate(&plan).unwrap().contains(&format!(r#""permission":{edit},"#)));
}

/// What the gate of this plan is given, if there is one.
fn gate(plan: &Plan) -> Option<String> {
    plan.launch.files.iter().find_map(|entry| match entry {
        ScratchEntry::File { path, contents } if path.ends_with("agentctl-gate.mjs") => {
            Some(String::from_utf8(contents.clone()).unwrap())
        }
        _ => None,
    })
}

#[test]
fn only_the_gate_gives_the_rights_to_read_and_to_edit() {
    let mut edit = request(Permission::Edit);
    edit.add_dirs = vec![PathBuf::from("/home/user/other")];
    let plan = plan(&edit);
    // Both tables, the agent's and that of all others, end with the denial.
    assert_eq!(
        config(&plan)
            .matches(r#""read":"deny","list":"deny","glob":"deny","grep":"deny","lsp":"deny","edit":"deny"}"#)
            .count(),
        2,
        "{}",
        config(&plan)
    );
    for right in ["edit", "read", "glob", "grep", "list"] {
        assert!(!config(&plan).contains(&format!(r#""{right}":"allow""#)), "{right}");
    }
    assert!(config(&plan).contains(r#""plugin":["/scratch/run-Ab1/agentctl-gate.mjs"]"#));
    let gate = gate(&plan).unwrap();
    for given in [
        r#"const RIGHTS = {"agent":"agentctl-runAb1","permission":{"*":"deny","#,
        r#""edit":"allow""#,
        r#""roots":["/home/user/project","/home/user/other"]"#,
        r#""instructions":"/home/user/project/AGENTS.md""#,
        r#""changing":["edit","multiedit","patch","apply_patch","write"]"#,
        r#""reading":["read","list","glob","grep","lsp"]"#,
        r#""denied":"Denied by agentctl""#,
    ] {
        assert!(gate.contains(given), "{given} in {gate}");
    }
    assert_eq!(
        plan.launch
            .env
            .iter()
            .filter(|(name, _)| name == "npm_config_fetch_timeout")
            .count(),
        1
    );
}

#[test]
fn the_gate_stands_at_every_level_but_full() {
    let with = |permission, allow: &[&str], deny: &[&str]| {
        let mut request = request(permission);
        request.allow_tools = allow.iter().map(|rule| ToolRule::from((*rule).to_owned())).collect();
        request.deny_tools = deny.iter().map(|rule| ToolRule::from((*rule).to_owned())).collect();
        gate(&plan(&request))
    };
    assert!(with(Permission::Full, &[], &[]).is_none());
    assert!(with(Permission::Full, &["edit", "write"], &[]).is_none());
    assert!(with(Permission::ReadOnly, &[], &["read", "search"]).is_some());
    assert!(with(Permission::Edit, &["bash"], &[]).is_some());
    assert!(with(Permission::ReadOnly, &[], &[]).is_some());
    assert!(with(Permission::ReadOnly, &[], &["read"]).is_some());
    assert!(with(Permission::Edit, &[], &["edit"]).is_some());
    assert!(with(Permission::Edit, &["grep"], &[]).is_some());
    assert!(with(Permission::Edit, &[], &["edit(secret/*)"]).is_some());
    assert!(with(Permission::Edit, &["edit(src/*)"], &[]).is_some());
    assert!(with(Permission::Edit, &["edit", "write", "bash(git *)"], &[]).is_some());
    assert!(with(Permission::Edit, &["e*"], &[]).is_some());
    let servers = with(Permission::Edit, &["edit", "write", "github_*"], &[]).unwrap();
    assert!(servers.contains(r#""others":["github_*"]"#), "{servers}");
}

#[test]
fn the_users_plugins_stay_and_a_run_without_plugins_can_neither_read_nor_edit() {
    let mut site = site();
    let users = r#"{"plugin":["theirs"]}"#;
    site.env.insert("OPENCODE_CONFIG_CONTENT".into(), users.into());
    let edit = request(Permission::Edit);
    let plan = OpenCode.plan(&edit, &site).unwrap();
    assert!(config(&plan).contains(r#""plugin":["theirs","/scratch/run-Ab1/agentctl-gate.mjs"]"#));

    let mut option = edit.clone();
    option.options.insert("pure".to_owned(), "true".to_owned());
    let mut flag = edit.clone();
    flag.raw_args = vec!["--pure".into()];
    for request in [option, flag] {
        let failure = OpenCode.plan(&request, &site).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Usage);
        let mut reading = request;
        reading.permission = Permission::ReadOnly;
        assert_eq!(OpenCode.plan(&reading, &site).unwrap_err().kind, ErrorKind::Usage);
        reading.permission = Permission::Full;
        assert!(OpenCode.plan(&reading, &site).is_ok());
    }
    site.env.insert("OPENCODE_PURE".into(), "1".into());
    assert_eq!(OpenCode.plan(&edit, &site).unwrap_err().kind, ErrorKind::Usage);
}

#[test]
fn what_is_denied_comes_last_and_wins() {
    let allowed = table(Permission::Full, &["bash(git push*)", "read"], &["bash(git *)", "read"]);
    let bash = allowed.find(r#""bash":{"*":"deny","git push*":"allow","git *":"deny"}"#);
    assert!(bash.is_some(), "{allowed}");
    assert!(allowed.find(r#""read":"deny""#) > bash, "{allowed}");
    let servers = table(Permission::Full, &["github_issues"], &["mcp"]);
    assert!(
        servers.find(r#""*_*":"deny""#) > servers.find(r#""github_issues":"allow""#),
        "{servers}"
    );
    // With full rights what is not named stays as the user has it.
    assert!(!table(Permission::Full, &[], &["bash"]).contains(r#""*":"#));
}

#[test]
fn edits_stay_in_the_working_directory_of_a_repository() {
    let none = Some(Some("/scratch/run-Ab1/no-repository"));
    assert_eq!(variable(&plan(&request(Permission::Edit)), "GIT_DIR"), none);
    assert_eq!(variable(&plan(&request(Permission::ReadOnly)), "GIT_DIR"), None);
    assert_eq!(variable(&plan(&request(Permission::Full)), "GIT_DIR"), None);
}

#[test]
fn rules_that_cannot_be_kept_are_refused() {
    for (allow, deny) in [
        ("edit", ""),
        ("write", ""),
        ("mcp", ""),
        ("task", ""),
        ("Bahs", ""),
        ("bash(", ""),
        ("", "Bahs"),
        ("", "bash()"),
    ] {
        let mut request = request(Permission::Full);
        let rules = |text: &str| match text {
            "" => Vec::new(),
            text => vec![ToolRule::from(text.to_owned())],
        };
        request.allow_tools = rules(allow);
        request.deny_tools = rules(deny);
        let failure = OpenCode.plan(&request, &site()).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Usage, "{allow} {deny}");
        assert!(failure.hint.is_some(), "{allow} {deny}");
    }
}

#[test]
fn a_conversation_goes_on_by_its_id_and_a_fork_says_so() {
    let known = plan(&resumed(Permission::Full, &[("directory", "/home/user/project")]));
    assert_eq!(
        arguments(&known),
        format!(
            "run --format json --thinking --dir /home/user/project --auto --session {ID} --print-logs --log-level ERROR"
        )
    );
    // Only the log tells that a session belongs to another directory.
    assert!(arguments(&plan(&resumed(Permission::Full, &[]))).ends_with("--log-level INFO"));
    assert!(arguments(&plan(&resumed(Permission::Full, &[("directory", "/other")]))).ends_with("--log-level INFO"));
    let mut fork = resumed(Permission::Full, &[]);
    if let Conversation::Resume(of) = fork.conversation {
        fork.conversation = Conversation::Fork {
            of,
            id: uuid::Uuid::nil(),
        };
    }
    assert!(arguments(&plan(&fork)).contains(&format!("--session {ID} --fork")));
}

#[test]
fn what_is_no_session_id_never_becomes_an_argument() {
    for id in ["", "ses_", "ses_a/../b", "--help", "not-a-session", "ses_a b", "ses_é"] {
        let mut request = resumed(Permission::Full, &[]);
        if let Conversation::Resume(continuation) = &mut request.conversation {
            continuation.native_id = id.to_owned();
        }
        let failure = OpenCode.plan(&request, &site()).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::SessionNotFound, "{id}");
    }
}

#[test]
fn an_ephemeral_run_has_a_store_in_memory_and_continues_nothing() {
    let mut fresh = request(Permission::Full);
    fresh.persistence = Persistence::Ephemeral;
    assert_eq!(variable(&plan(&fresh), "OPENCODE_DB"), Some(Some(":memory:")));
    let mut resumed = resumed(Permission::Full, &[]);
    resumed.persistence = Persistence::Ephemeral;
    assert_eq!(OpenCode.plan(&resumed, &site()).unwrap_err().kind, ErrorKind::Usage);
}

#[test]
fn the_users_own_layer_is_kept_and_nothing_of_ours_is_expanded_in_it() {
    let mut request = request(Permission::ReadOnly);
    request.mcp_servers = vec![McpServer {
        name: "probe".to_owned(),
        transport: McpTransport::Stdio {
            command: "run{env:HOME}".to_owned(),
            args: vec!["{file:/etc/passwd}".to_owned()],
            env: BTreeMap::new(),
        },
    }];
    request.system = Some(System {
        text: "x".repeat(1 << 20),
        placement: Placement::Append,
    });
    let mut site = site();
    let users = r#"{"model":"{env:M}","instructions":["mine.md"],"mcp":{"own":{"type":"local","command":["a"]}},"permission":"allow"}"#;
    site.env.insert("OPENCODE_CONFIG_CONTENT".into(), users.into());
    let plan = OpenCode.plan(&request, &site).unwrap();
    let config = config(&plan);
    assert!(config.contains(r#""model":"{env:M}""#), "{config}");
    assert!(config.contains(r#""instructions":["mine.md","/scratch/run-Ab1/instructions.md"]"#));
    assert!(config.contains(r#""own":{"type":"local","command":["a"]}"#), "{config}");
    assert!(
        config.contains(r#""command":["run\u007benv:HOME}","\u007bfile:/etc/passwd}"]"#),
        "{config}"
    );
    assert!(
        config.contains(r#""probe_*":"allow""#) && !config.contains(r#""permission":"allow""#),
        "{config}"
    );
    assert_eq!(plan.launch.files.len(), 2);

    site.env.insert("OPENCODE_CONFIG_CONTENT".into(), "// JSONC\n{}".into());
    assert_eq!(OpenCode.plan(&request, &site).unwrap_err().kind, ErrorKind::Usage);
}

#[test]
fn another_system_prompt_goes_by_a_file_of_its_own_agent() {
    let mut request = request(Permission::Full);
    request.system = Some(System {
        text: "be {env:HOME}".to_owned(),
        placement: Placement::Replace,
    });
    let plan = plan(&request);
    assert!(config(&plan).contains(r#""prompt":"{file:/scratch/run-Ab1/system-prompt.md}""#));
    assert!(arguments(&plan).contains("--agent agentctl-runAb1 --auto"));
}

#[test]
fn models_efforts_and_commands_are_mapped_or_refused() {
    let mut request = request(Permission::Full);
    request.model = Some("openai/gpt-5".to_owned());
    request.effort = Some(Effort::Max);
    request.prompt = "/review the diff".to_owned();
    let literal = plan(&request);
    assert!(arguments(&literal).contains("--model openai/gpt-5 --variant xhigh"));
    assert_eq!(literal.warnings.len(), 1);
    assert_eq!(literal.launch.stdin, Stdin::Bytes(b"/review the diff".to_vec()));

    request.prompt_syntax = PromptSyntax::Expand;
    let expanded = plan(&request);
    assert!(arguments(&expanded).contains("--command review"));
    assert_eq!(expanded.launch.stdin, Stdin::Bytes(b"the diff".to_vec()));

    request.permission = Permission::ReadOnly;
    assert_eq!(OpenCode.plan(&request, &site()).unwrap_err().kind, ErrorKind::Usage);
    request.prompt_syntax = PromptSyntax::Literal;
    for model in ["gpt-5", "/x", "x/", "-x/y", ""] {
        request.model = Some(model.to_owned());
        assert_eq!(
            OpenCode.plan(&request, &site()).unwrap_err().kind,
            ErrorKind::Usage,
            "{model}"
        );
    }
}

#[test]
fn raw_arguments_cannot_lift_limits() {
    for flag in [
        "--agent",
        "--agent=build",
        "--dangerouslySkipPermissions",
        "--yolo",
        "--attach=http://x",
    ] {
        let mut request = request(Permission::ReadOnly);
        request.raw_args = vec![flag.into()];
        assert_eq!(
            OpenCode.plan(&request, &site()).unwrap_err().kind,
            ErrorKind::Usage,
            "{flag}"
        );
        request.permission = Permission::Full;
        assert!(arguments(&plan(&request)).ends_with(flag));
    }
}

#[test]
fn the_terminal_ui_has_the_same_rights_and_inherits_the_terminal() {
    let plan = OpenCode
        .interactive(&resumed(Permission::ReadOnly, &[]), &site())
        .unwrap();
    assert_eq!(
        arguments(&plan),
        format!("--agent agentctl-runAb1 --session {ID} --prompt=-hello")
    );
    assert_eq!(plan.launch.stdin, Stdin::Inherited);
}
