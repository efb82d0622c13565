//! Plans of runs, as the CLI gets them.

use super::*;
use crate::request::{Attachment, AttachmentKind, Permission, PromptSyntax, System};
use std::ffi::OsStr;

const ID: &str = "5c7adfd9-55c8-49dd-8f42-dbec6efaa100";

fn site() -> Site {
    Site {
        program: "/bin/gemini".into(),
        scratch: "/scratch".into(),
        home: "/home/user".into(),
        env: Default::default(),
        root: false,
    }
}

fn request() -> Request {
    let mut request = Request::new("hello", "/project");
    request.conversation = Conversation::Fresh {
        id: uuid::Uuid::parse_str(ID).unwrap(),
    };
    request
}

fn continuation(id: &str) -> Continuation {
    Continuation {
        native_id: id.into(),
        ..Default::default()
    }
}

fn plan(request: &Request) -> Plan {
    headless(request, &site()).unwrap()
}

fn argv(request: &Request) -> String {
    let args: Vec<_> = plan(request).launch.args;
    args.join(OsStr::new(" ")).into_string().unwrap()
}

fn settings_of(plan: &Plan) -> serde_json::Value {
    plan.launch
        .files
        .iter()
        .find_map(|entry| match entry {
            ScratchEntry::MergedJson { patch, base, .. } => {
                assert_eq!(base, Path::new("/home/user/.gemini/settings.json"));
                Some(patch.clone())
            }
            _ => None,
        })
        .unwrap()
}

fn file<'a>(plan: &'a Plan, ending: &str) -> Option<&'a [u8]> {
    plan.launch.files.iter().find_map(|entry| match entry {
        ScratchEntry::File { path, contents } if path.ends_with(ending) => Some(contents.as_slice()),
        _ => None,
    })
}

#[test]
fn a_plain_run_is_the_recommended_command_with_the_prompt_on_stdin() {
    let plan = plan(&request());
    assert_eq!(
        argv(&request()),
        format!("--skip-trust -o stream-json --session-id {ID} --approval-mode yolo")
    );
    assert_eq!(plan.launch.stdin, Stdin::Bytes(b"hello".to_vec()));
    let env = |name: &str| plan.launch.env.iter().find(|(key, _)| key == name).cloned();
    assert_eq!(
        env("GEMINI_CLI_HOME"),
        Some(("GEMINI_CLI_HOME".into(), Some("/scratch/gemini".into())))
    );
    assert!(env("GEMINI_CLI_NO_RELAUNCH").is_some() && env("NO_COLOR").is_some());
    assert_eq!(
        plan.launch.env_file.as_deref(),
        Some(Path::new("/home/user/.gemini/.env"))
    );
    assert_eq!(settings_of(&plan)["general"]["sessionRetention"]["enabled"], false);
}

#[test]
fn the_users_own_home_of_the_cli_is_the_one_that_is_mirrored() {
    let mut site = site();
    site.env.insert("GEMINI_CLI_HOME".into(), "/elsewhere".into());
    let plan = headless(&request(), &site).unwrap();
    assert!(plan.launch.files.iter().any(|entry| matches!(
        entry,
        ScratchEntry::Mirror { of, create, .. } if of == Path::new("/elsewhere/.gemini") && create.len() == 2
    )));
}

#[test]
fn resuming_and_forking_send_the_rights_again() {
    let mut request = request();
    request.permission = Permission::ReadOnly;
    request.conversation = Conversation::Resume(continuation(ID));
    let rights =
        "--approval-mode default --admin-policy /scratch/agentctl-deny.toml --policy /scratch/agentctl-deny.toml";
    assert_eq!(
        argv(&request),
        format!("--skip-trust -o stream-json --resume {ID} {rights}")
    );
    request.conversation = Conversation::Fork {
        of: continuation(ID),
        id: uuid::Uuid::new_v4(),
    };
    assert_eq!(
        argv(&request),
        format!("--skip-trust -o stream-json --session-file /scratch/fork.jsonl {rights}")
    );
    assert!(plan(&request).launch.files.iter().any(|entry| matches!(
        entry,
        ScratchEntry::Found { suffix, within, .. }
            if suffix == "-5c7adfd9.jsonl" && within == Path::new("/home/user/.gemini/tmp")
    )));
}

#[test]
fn what_is_no_whole_session_id_is_refused() {
    for id in [
        "latest",
        "5",
        "",
        "--help",
        "5c7adfd9",
        "../x",
        "5c7adfd955c849dd8f42dbec6efaa100",
    ] {
        let mut request = request();
        request.conversation = Conversation::Resume(continuation(id));
        assert!(headless(&request, &site()).is_err(), "{id}");
    }
}

#[test]
fn limits_offer_few_tools_and_switch_plan_mode_off() {
    let mut request = request();
    request.permission = Permission::Edit;
    let settings = settings_of(&plan(&request));
    assert_eq!(settings["general"]["plan"]["enabled"], false);
    assert_eq!(settings["tools"]["allowed"], serde_json::json!([]));
    assert!(
        settings["tools"]["core"]
            .as_array()
            .is_some_and(|core| core.contains(&"replace".into()))
    );
}

#[test]
fn turns_and_patience_are_settings_and_not_of_an_interactive_session() {
    let mut request = request();
    request.max_turns = Some(3);
    request.patience.max_retries = Some(50);
    let settings = settings_of(&plan(&request));
    assert_eq!(
        (
            &settings["model"]["maxSessionTurns"],
            &settings["general"]["maxAttempts"]
        ),
        (&3.into(), &10.into())
    );
    let settings = settings_of(&interactive(&request, &site()).unwrap());
    assert!(settings["model"].is_null());
}

#[test]
fn a_system_prompt_goes_by_file_whatever_its_size() {
    let mut request = request();
    let text = "x".repeat(1 << 20);
    for (placement, name) in [(Placement::Append, SYSTEM_FILE), (Placement::Replace, "system.md")] {
        request.system = Some(System {
            text: text.clone(),
            placement,
        });
        assert_eq!(file(&plan(&request), name), Some(text.as_bytes()), "{name}");
        assert!(argv(&request).len() < 200);
    }
}

#[test]
fn a_prompt_that_the_cli_would_act_on_is_a_command_of_this_run() {
    let mut request = request();
    request.prompt = "/quit".into();
    let plan = plan(&request);
    let Stdin::Bytes(input) = &plan.launch.stdin else {
        panic!()
    };
    let name = String::from_utf8(input.clone()).unwrap();
    assert!(name.starts_with("/agentctl-"), "{name}");
    let command = file(&plan, &format!("commands/{}.toml", &name[1..])).unwrap();
    assert!(String::from_utf8_lossy(command).contains("prompt = \"/quit\""));
    request.prompt_syntax = PromptSyntax::Expand;
    assert_eq!(
        headless(&request, &site()).unwrap().launch.stdin,
        Stdin::Bytes(b"/quit".to_vec())
    );
}

#[test]
fn attachments_are_copies_that_the_cli_may_read() {
    let mut request = request();
    request.attachments = vec![Attachment {
        path: "/pictures/a b,c.png".into(),
        kind: AttachmentKind::Image("image/png"),
    }];
    let plan = plan(&request);
    assert!(argv(&request).contains("--include-directories /scratch/attachments"));
    assert_eq!(
        plan.launch.stdin,
        Stdin::Bytes(b"hello\n\n@/scratch/attachments/attachment-1.png".to_vec())
    );
}

#[test]
fn what_the_cli_cannot_take_is_refused_with_the_reason() {
    let mut long = request();
    long.prompt = "x".repeat(LONGEST_PROMPT);
    let mut comma = request();
    comma.add_dirs = vec!["/a,b".into()];
    let mut option = request();
    option.options.insert("sandbx".into(), "true".into());
    let mut value = request();
    value.options.insert("sandbox".into(), "maybe".into());
    for request in [long, comma, option, value] {
        let failure = headless(&request, &site()).unwrap_err();
        assert!(failure.hint.is_some(), "{failure}");
    }
}

#[test]
fn an_interactive_prompt_stays_the_value_of_its_flag() {
    let mut request = request();
    request.prompt = "--yolo".into();
    let plan = interactive(&request, &site()).unwrap();
    assert_eq!(plan.launch.args.last().unwrap(), "--prompt-interactive=--yolo");
    assert_eq!(plan.launch.stdin, Stdin::Inherited);
}
