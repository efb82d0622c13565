//! Declarations that hold together, those that do not, and the commands that come of them.

use super::*;
use crate::backend::{ExitStatus, Feature, Launch, Output, Stdin, Tally};
use crate::error::ErrorKind;
use crate::request::{Continuation, Conversation, Permission, Placement, System};
use std::collections::BTreeMap;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn qwen() -> Declaration {
    Declaration {
        name: "qwen".to_owned(),
        program: "qwen".to_owned(),
        dialect: "claude".to_owned(),
        args: words("-o stream-json"),
        session_args_resume: Some(words("--resume {session}")),
        model_args: Some(words("--model {model}")),
        read_only_args: Some(words("--approval-mode plan")),
        full_args: Some(words("--approval-mode yolo")),
        error_marker: Some("[API Error:".to_owned()),
        ..Declaration::default()
    }
}

fn site() -> Site {
    Site {
        program: "/bin/qwen".into(),
        scratch: "/scratch".into(),
        home: "/home/user".into(),
        env: BTreeMap::new(),
        root: false,
    }
}

fn launch(declaration: Declaration, request: &Request) -> Launch {
    Declared::new(declaration)
        .unwrap()
        .plan(request, &site())
        .unwrap()
        .launch
}

fn line(launch: &Launch) -> String {
    let args: Vec<_> = launch.args.iter().map(|arg| arg.to_string_lossy()).collect();
    args.join(" ")
}

fn error(change: impl FnOnce(&mut Declaration)) -> Failure {
    let mut declaration = qwen();
    change(&mut declaration);
    Declared::new(declaration).unwrap_err()
}

/// What a stream comes to.
fn decoded(declaration: &Declaration, lines: &[&str], code: i32) -> Tally {
    let mut protocol = protocol::DeclaredProtocol::new(declaration, &Request::new("hi", "/project"));
    let mut tally = Tally::default();
    let mut commands = Vec::new();
    let mut sink = |_: &crate::event::Event<'_>| {};
    let mut out = Output::new(&mut tally, &mut sink, &mut commands);
    for line in lines {
        protocol.stdout(line.as_bytes(), &mut out);
    }
    let exit = ExitStatus {
        code: Some(code),
        signal: None,
    };
    protocol.finish(exit, &mut out);
    tally
}

#[test]
fn the_prompt_goes_by_standard_input_and_rights_by_their_own_arguments() {
    let mut request = Request::new("--help", "/project");
    request.model = Some("big".to_owned());
    let full = launch(qwen(), &request);
    assert_eq!(line(&full), "-o stream-json --approval-mode yolo --model big");
    assert_eq!(full.stdin, Stdin::Bytes(b"--help".to_vec()));
    request.permission = Permission::ReadOnly;
    assert!(line(&launch(qwen(), &request)).contains("--approval-mode plan"));
}

#[test]
fn a_conversation_goes_on_with_its_id_and_an_id_that_reads_as_a_flag_is_refused() {
    let mut request = Request::new("go on", "/project");
    let resume = |id: &str| {
        Conversation::Resume(Continuation {
            native_id: id.to_owned(),
            ..Continuation::default()
        })
    };
    request.conversation = resume("abc");
    assert!(line(&launch(qwen(), &request)).contains("--resume abc"));
    request.conversation = resume("--yolo");
    let refused = Declared::new(qwen()).unwrap().plan(&request, &site()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Usage);
}

#[test]
fn a_prompt_as_an_argument_never_reads_as_a_flag() {
    let declaration = |args: &str| Declaration {
        args: words(args),
        ..qwen()
    };
    let request = Request::new("--yolo", "/project");
    let alone = launch(declaration("ask {prompt}"), &request);
    assert_eq!(line(&alone), "ask --approval-mode yolo  --yolo");
    let guarded = launch(declaration("ask -- {prompt}"), &request);
    assert_eq!(line(&guarded), "ask --approval-mode yolo -- --yolo");
    let joined = launch(declaration("--prompt={prompt}"), &request);
    assert_eq!(line(&joined), "--approval-mode yolo --prompt=--yolo");
    let after_flag = launch(declaration("ask -p {prompt}"), &Request::new("{model}", "/project"));
    assert_eq!(line(&after_flag), "ask --approval-mode yolo -p {model}");
    let long = Request::new("x".repeat(200_000), "/project");
    let refused = Declared::new(declaration("{prompt}")).unwrap().plan(&long, &site());
    assert!(refused.unwrap_err().hint.unwrap().contains("stdin"));
}

#[test]
fn a_prompt_and_a_system_prompt_can_go_by_files() {
    let mut request = Request::new("hello", "/project");
    request.system = Some(System {
        text: "be brief".to_owned(),
        placement: Placement::Append,
    });
    let declaration = Declaration {
        prompt: Some("{prompt_file}".to_owned()),
        system_args: Some(words("--system {system_file}")),
        ..qwen()
    };
    let launch = launch(declaration, &request);
    assert!(
        line(&launch).ends_with("--system /scratch/system.md /scratch/prompt.txt"),
        "{}",
        line(&launch)
    );
    assert_eq!(launch.files.len(), 2);
    assert_eq!(launch.stdin, Stdin::Closed);
}

#[test]
fn a_prefix_keeps_a_slash_from_being_a_command() {
    let declaration = Declaration {
        literal_prefix: Some("\u{200b}".to_owned()),
        ..qwen()
    };
    let plain = launch(declaration.clone(), &Request::new("hello", "/project"));
    assert_eq!(plain.stdin, Stdin::Bytes(b"hello".to_vec()));
    let command = launch(declaration, &Request::new("/quit", "/project"));
    assert_eq!(command.stdin, Stdin::Bytes("\u{200b}/quit".as_bytes().to_vec()));
}

#[test]
fn what_is_not_declared_is_not_supported() {
    let backend = Declared::new(qwen()).unwrap();
    let supported = |feature| backend.capabilities().of(feature).is_supported();
    assert!(supported(Feature::ReadOnly) && supported(Feature::Full) && supported(Feature::Resume));
    assert!(!supported(Feature::Edit) && !supported(Feature::DenyTool) && !supported(Feature::System));
    assert_eq!(backend.capabilities().rows().len(), Feature::ALL.len());
}

#[test]
fn a_declaration_that_does_not_hold_together_is_a_usage_error() {
    let hint = |failure: Failure| failure.hint.unwrap_or_default();
    assert!(hint(error(|it| it.dialect = "clod".to_owned())).contains("claude, codex"));
    assert!(error(|it| it.dialect.clear()).message.contains("missing"));
    assert!(error(|it| it.name = "Qwen".to_owned()).message.contains("no name"));
    assert!(hint(error(|it| it.model_args = Some(words("-m {modle}")))).contains("{model}"));
    assert!(error(|it| it.args = words("{session}")).message.contains("{session}"));
    assert!(
        error(|it| it.session_args_resume = Some(words("--continue")))
            .message
            .contains("{session}")
    );
    assert!(hint(error(|it| it.prompt = Some("argv".to_owned()))).contains("stdin"));
    let both = error(|it| {
        it.args = words("{prompt}");
        it.prompt = Some("stdin".to_owned());
    });
    assert!(both.message.contains("disagree"), "{both}");
}

#[test]
fn braces_of_json_are_no_placeholders() {
    let declaration = Declaration {
        args: vec![r#"{"model":{"a":"{cwd}"}}"#.to_owned()],
        ..qwen()
    };
    let launch = launch(declaration, &Request::new("x", "/project"));
    assert!(line(&launch).starts_with(r#"{"model":{"a":"/project"}}"#));
}

#[test]
fn plain_text_is_the_answer_and_the_exit_code_decides() {
    let declaration = Declaration {
        dialect: "text".to_owned(),
        session_args_new: Some(words("--id {session}")),
        ..qwen()
    };
    let good = decoded(&declaration, &["one", "", "two"], 0);
    assert!(good.completed && good.session_id.is_some());
    assert_eq!(good.answer, "one\n\ntwo");
    assert!(!decoded(&declaration, &["one"], 3).completed);
}

#[test]
fn a_failure_that_is_told_as_an_answer_is_a_failure() {
    let result = |text: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","session_id":"s","num_turns":1}}"#
        )
    };
    let told = |text: &str| decoded(&qwen(), &[&result(text)], 0);
    let failed = told("[API Error: 401 Incorrect API key]");
    assert_eq!(failed.failure.map(|failure| failure.kind), Some(ErrorKind::Auth));
    let cut = told("this is c[API Error: Connection closed]");
    assert_eq!(cut.failure.map(|failure| failure.kind), Some(ErrorKind::Agent));
    let spoken = told("`[API Error:` is what it prints");
    assert!(spoken.completed && spoken.failure.is_none());
}

#[cfg(unix)]
#[test]
fn a_directory_that_a_template_cannot_name_is_refused_instead_of_misnamed() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::path::PathBuf::from(std::ffi::OsStr::from_bytes(b"/project/\xff"));
    let planned = |change: fn(&mut Declaration), cwd: &std::path::Path, add_dir: &std::path::Path| {
        let mut declaration = qwen();
        declaration.add_dir_args = Some(words("--add {dir}"));
        change(&mut declaration);
        let mut request = Request::new("hi", cwd);
        request.add_dirs = vec![add_dir.to_owned()];
        Declared::new(declaration).unwrap().plan(&request, &site())
    };
    let plain = std::path::Path::new("/plain");
    assert!(planned(|_| {}, &odd, plain).is_ok(), "nothing names it");
    assert!(planned(|_| {}, plain, &odd).is_err());
    let in_args: fn(&mut Declaration) = |declaration| declaration.args = words("--in {cwd}");
    let in_rights: fn(&mut Declaration) = |declaration| declaration.full_args = Some(words("--write {cwd}"));
    for change in [in_args, in_rights] {
        assert!(planned(change, plain, plain).is_ok());
        assert!(planned(change, &odd, plain).unwrap_err().message.contains("{cwd}"));
    }
}
