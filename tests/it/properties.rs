//! What must hold for every backend and any input: no panic, nothing vanishes, ids stay where they belong.

use crate::contract::{Fixture, fixtures, replay};
use agentctl::backend::{BACKENDS, Backend, ExitStatus, Feature, Launch, ScratchEntry, Site, Stdin, Support};
use agentctl::catalog::Catalog;
use agentctl::error::ErrorKind;
use agentctl::lines::{Frame, Framer};
use agentctl::outcome;
use agentctl::request::{
    Attachment, AttachmentKind, Continuation, Conversation, Effort, McpServer, McpTransport, Patience, Permission,
    Persistence, Placement, PromptSyntax, Request, System,
};
use agentctl::tool::{ToolKind, ToolRule};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn site() -> Site {
    Site {
        program: PathBuf::from("/usr/bin/agent"),
        scratch: PathBuf::from("/tmp/scratch"),
        home: PathBuf::from("/home/user"),
        env: BTreeMap::new(),
        root: false,
    }
}

/// An id in the form that the backend's CLI gives out.
fn native_id(backend: &dyn Backend, seed: u128) -> String {
    match backend.name() {
        "opencode" => format!("ses_{:026x}", seed >> 24),
        _ => uuid::Builder::from_random_bytes(seed.to_be_bytes())
            .into_uuid()
            .to_string(),
    }
}

fn resume(backend: &dyn Backend, seed: u128) -> Conversation {
    Conversation::Resume(Continuation {
        native_id: native_id(backend, seed),
        ..Continuation::default()
    })
}

/// Everything of a launch that reaches the CLI, as one text.
fn visible(launch: &Launch) -> String {
    let stdin = match &launch.stdin {
        Stdin::Bytes(bytes) | Stdin::Held(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Stdin::Closed | Stdin::Inherited => String::new(),
    };
    let files = launch.files.iter().map(|file| match file {
        ScratchEntry::File { path, contents } => format!("{} {}", path.display(), String::from_utf8_lossy(contents)),
        other => format!("{other:?}"),
    });
    format!(
        "{:?}\n{:?}\n{:?}\n{stdin}\n{}",
        launch.args,
        launch.env,
        launch.cwd,
        files.collect::<Vec<_>>().join("\n")
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_id_is_in_the_command_of_a_resume_and_in_no_other(seed in any::<u128>()) {
        for backend in BACKENDS {
            let mut request = Request::new("hello", "/home/user/project");
            let id = native_id(*backend, seed);
            let fresh = backend.plan(&request, &site()).unwrap();
            prop_assert!(!visible(&fresh.launch).contains(&id), "{}", backend.name());
            request.conversation = resume(*backend, seed);
            let resumed = backend.plan(&request, &site()).unwrap();
            prop_assert!(visible(&resumed.launch).contains(&id), "{}: {}", backend.name(), visible(&resumed.launch));
        }
    }

    #[test]
    fn an_id_that_could_be_a_flag_or_a_path_never_reaches_a_command(id in "(-[a-z-]{1,12}|\\.\\./[a-z]{1,9}|/[a-z]{1,9}|[a-z ]{0,5}\\PC)") {
        for backend in BACKENDS {
            let mut request = Request::new("hello", "/home/user/project");
            request.conversation = Conversation::Resume(Continuation { native_id: id.clone(), ..Continuation::default() });
            if let Ok(plan) = backend.plan(&request, &site()) {
                prop_assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c)) && !id.starts_with('-'), "{}: {id:?} reached {:?}", backend.name(), plan.launch.args);
            }
        }
    }

    #[test]
    fn a_prompt_never_becomes_an_argument(prompt in "(-|--|/|@|!|\\$)?\\PC{1,60}") {
        for backend in BACKENDS {
            let request = Request::new(prompt.clone(), "/home/user/project");
            let launch = backend.plan(&request, &site()).unwrap().launch;
            let marked = prompt.len() > 8;
            let in_argv = launch.args.iter().any(|arg| arg.to_string_lossy().contains(prompt.as_str()));
            prop_assert!(!(marked && in_argv), "{}: {:?}", backend.name(), launch.args);
            prop_assert!(matches!(launch.stdin, Stdin::Bytes(_) | Stdin::Held(_)), "{}", backend.name());
        }
    }

    #[test]
    fn a_silent_death_says_its_code_and_at_most_500_characters_of_stderr(code in 1_i32..256, stderr in "\\PC{0,700}") {
        let exit = ExitStatus { code: Some(code), signal: None };
        let failure = outcome::died("Codex", exit, &stderr);
        let said = match stderr.trim() {
            "" => "unknown error".to_owned(),
            text => text.chars().take(500).collect(),
        };
        prop_assert_eq!(failure.kind, ErrorKind::Crashed);
        prop_assert_eq!(failure.message, format!("Codex CLI error (exit {code}): {said}"));
    }

    #[test]
    fn an_unknown_backend_lists_the_valid_ones(name in "[a-z]{1,12}") {
        prop_assume!(BACKENDS.iter().all(|backend| backend.name() != name));
        let failure = Catalog::default().find(&name).err().unwrap();
        prop_assert_eq!(failure.kind, ErrorKind::Usage);
        for backend in BACKENDS {
            prop_assert!(failure.message.contains(backend.name()));
        }
    }

    #[test]
    fn decoders_take_any_bytes(stdout in prop::collection::vec(any::<u8>(), 0..400), stderr in prop::collection::vec(any::<u8>(), 0..100), code in 0_i32..256) {
        for backend in BACKENDS {
            decode_bytes(*backend, &stdout, &stderr, code);
        }
    }

    #[test]
    fn decoders_take_any_json(lines in prop::collection::vec(json_line(), 0..8)) {
        let stdout = lines.join("\n").into_bytes();
        for backend in BACKENDS {
            decode_bytes(*backend, &stdout, b"", 0);
        }
    }
}

fn decode_bytes(backend: &dyn Backend, stdout: &[u8], stderr: &[u8], code: i32) {
    let fixture = Fixture {
        path: PathBuf::new(),
        stdout: stdout.to_vec(),
        stderr: stderr.to_vec(),
        exit: ExitStatus {
            code: Some(code),
            signal: None,
        },
        request: Request::new("hello", "/home/user/project"),
    };
    replay(backend.protocol(&fixture.request).as_mut(), &fixture);
}

/// JSON that looks a little like what the CLIs say, with fields of any type.
fn json_line() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "type",
        "subtype",
        "message",
        "content",
        "text",
        "result",
        "session_id",
        "sessionID",
        "thread_id",
        "item",
        "part",
        "usage",
        "error",
        "id",
        "role",
        "delta",
        "event",
        "status",
        "stats",
        "tokens",
        "assistantMessageEvent",
        "toolCallId",
        "state",
    ]);
    let words = prop::sample::select(vec![
        "assistant",
        "user",
        "result",
        "system",
        "init",
        "success",
        "text",
        "tool_use",
        "tool_result",
        "item.completed",
        "turn.completed",
        "agent_message",
        "error",
        "message_end",
        "message_update",
        "text_delta",
        "step_finish",
        "session",
        "init",
    ]);
    let leaf = prop_oneof![
        words.prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        "\\PC{0,8}".prop_map(serde_json::Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    });
    value.prop_map(|value| value.to_string())
}

/// A small generator of numbers, so that the walk over recordings is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

#[test]
fn recordings_cut_and_shuffled_anywhere_are_read_without_a_panic() {
    let mut dice = Dice(7);
    for backend in BACKENDS.iter().filter(|backend| backend.name() != "mock") {
        for mut fixture in fixtures(*backend) {
            let whole = fixture.stdout.clone();
            for _ in 0..8 {
                fixture.stdout = whole[..dice.roll(whole.len() + 1)].to_vec();
                replay(backend.protocol(&fixture.request).as_mut(), &fixture);
                let mut lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
                for index in (1..lines.len()).rev() {
                    lines.swap(index, dice.roll(index + 1));
                }
                fixture.stdout = lines.join(&b'\n');
                replay(backend.protocol(&fixture.request).as_mut(), &fixture);
            }
        }
    }
}

#[test]
fn a_recording_split_at_any_byte_decodes_the_same() {
    let mut dice = Dice(11);
    for backend in BACKENDS.iter().filter(|backend| backend.name() != "mock") {
        for mut fixture in fixtures(*backend) {
            let (expected, ..) = replay(backend.protocol(&fixture.request).as_mut(), &fixture);
            let mut framer = Framer::new(1 << 26);
            let mut lines: Vec<u8> = Vec::new();
            let mut rest = fixture.stdout.as_slice();
            while !rest.is_empty() {
                let space = framer.space();
                let count = (1 + dice.roll(700)).min(rest.len()).min(space.len());
                space[..count].copy_from_slice(&rest[..count]);
                framer.filled(count);
                rest = &rest[count..];
                while let Some(frame) = framer.next_frame() {
                    push(frame, &mut lines);
                }
            }
            while let Some(frame) = framer.last_frame() {
                push(frame, &mut lines);
            }
            fixture.stdout = lines;
            let (actual, ..) = replay(backend.protocol(&fixture.request).as_mut(), &fixture);
            assert_eq!(actual, expected, "{}", fixture.path.display());
        }
    }
}

fn push(frame: Frame<'_>, lines: &mut Vec<u8>) {
    match frame {
        Frame::Line(line) => {
            lines.extend_from_slice(line);
            lines.push(b'\n');
        }
        Frame::Dropped { .. } => panic!("nothing is that long"),
    }
}

/// One option of a request, set.
fn with(feature: Feature, backend: &dyn Backend, mut request: Request) -> Request {
    match feature {
        Feature::Model => {
            request.model = Some(
                if backend.name() == "opencode" || backend.name() == "pi" {
                    "vendor/some-model"
                } else {
                    "some-model"
                }
                .into(),
            )
        }
        Feature::MaxTurns => request.max_turns = Some(7),
        Feature::ReadOnly => request.permission = Permission::ReadOnly,
        Feature::Edit => request.permission = Permission::Edit,
        Feature::Full => request.permission = Permission::Full,
        Feature::AllowTool => request.allow_tools = vec![ToolRule::Canonical(ToolKind::Read)],
        Feature::DenyTool => request.deny_tools = vec![ToolRule::Canonical(ToolKind::Bash)],
        Feature::System => {
            request.system = Some(System {
                text: "be terse".into(),
                placement: Placement::Append,
            })
        }
        Feature::SystemReplace => {
            request.system = Some(System {
                text: "be terse".into(),
                placement: Placement::Replace,
            })
        }
        Feature::AddDir => request.add_dirs = vec![PathBuf::from("/home/user/other")],
        Feature::AttachImage => request.attachments.push(Attachment {
            path: "/home/user/a.png".into(),
            kind: AttachmentKind::Image("image/png"),
        }),
        Feature::AttachFile => request.attachments.push(Attachment {
            path: "/home/user/a.txt".into(),
            kind: AttachmentKind::File,
        }),
        Feature::Effort => request.effort = Some(Effort::Low),
        Feature::Schema => request.schema = Some(serde_json::json!({"type": "object"})),
        Feature::Mcp => {
            let transport = McpTransport::Stdio {
                command: "server".into(),
                args: vec!["--x".into()],
                env: BTreeMap::new(),
            };
            request.mcp_servers = vec![McpServer {
                name: "tools".into(),
                transport,
            }];
        }
        Feature::Resume => request.conversation = resume(backend, 77),
        Feature::Fork => {
            if let Conversation::Resume(of) = resume(backend, 77) {
                request.conversation = Conversation::Fork {
                    of,
                    id: uuid::Uuid::nil(),
                };
            }
        }
        Feature::Ephemeral => request.persistence = Persistence::Ephemeral,
        Feature::Expand => request.prompt_syntax = PromptSyntax::Expand,
        Feature::MaxRetries => {
            request.patience = Patience {
                max_retries: Some(1),
                retry_for: None,
            }
        }
        Feature::Interactive | Feature::Streaming | Feature::Thinking | Feature::Cost => {}
    }
    request
}

/// Options whose effect is not in the command: agentctl does them around the CLI, or they are the default.
fn is_done_elsewhere(feature: Feature, support: Support) -> bool {
    let outside = matches!(
        feature,
        Feature::Full | Feature::Interactive | Feature::Streaming | Feature::Thinking | Feature::Cost
    );
    let around_it = matches!(feature, Feature::MaxTurns | Feature::Schema | Feature::MaxRetries)
        && support.level == agentctl::backend::SupportLevel::Emulated;
    outside || around_it
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_option_vanishes_whatever_others_are_there(chosen in prop::sample::subsequence(Feature::ALL.to_vec(), 0..6), index in 0_usize..64) {
        for backend in BACKENDS {
            if backend.name() == "mock" {
                continue;
            }
            let supported: Vec<Feature> = chosen.iter().copied().filter(|feature| backend.capabilities().of(*feature).is_supported()).collect();
            let Some(examined) = supported.get(index % supported.len().max(1)).copied() else { continue };
            let support = backend.capabilities().of(examined);
            if is_done_elsewhere(examined, support) {
                continue;
            }
            let mut base = Request::new("/now @file $skill", "/home/user/project");
            base.conversation = Conversation::Fresh { id: uuid::Uuid::nil() };
            for feature in supported.iter().filter(|feature| **feature != examined && !conflicts(**feature, examined)) {
                base = with(*feature, *backend, base);
            }
            let without = backend.plan(&base, &site());
            let with_it = backend.plan(&with(examined, *backend, base.clone()), &site());
            match (without, with_it) {
                (_, Err(_)) | (Err(_), _) => {}
                (Ok(without), Ok(with_it)) => {
                    let mapped = visible(&without.launch) != visible(&with_it.launch);
                    let told = without.warnings != with_it.warnings;
                    prop_assert!(mapped || told || is_moot(examined, support, &base), "{}: {examined:?} vanished beside {supported:?}", backend.name());
                }
            }
        }
    }
}

/// Two values of one setting cannot both be examined.
fn conflicts(one: Feature, other: Feature) -> bool {
    const SETTINGS: &[&[Feature]] = &[
        &[Feature::ReadOnly, Feature::Edit, Feature::Full],
        &[Feature::System, Feature::SystemReplace],
        &[Feature::Resume, Feature::Fork],
        // With a list of tools, the list is the right; the level is only its frame.
        &[Feature::AllowTool, Feature::DenyTool, Feature::ReadOnly, Feature::Edit],
    ];
    SETTINGS
        .iter()
        .any(|group| group.contains(&one) && group.contains(&other))
}

/// Where the command need not change: nothing would be expanded, and some CLIs read everywhere, so that a directory matters
/// only for writing.
fn is_moot(feature: Feature, support: Support, beside: &Request) -> bool {
    // The only list of tools that these requests have is one that writes nothing.
    let writes_where_told = beside.permission == Permission::Edit && beside.allow_tools.is_empty();
    (feature == Feature::Expand && support.note.contains("nothing"))
        || (feature == Feature::AddDir && !writes_where_told)
}

#[test]
fn every_backend_fills_its_column_of_the_matrix_in_order() {
    for backend in BACKENDS {
        let column: Vec<Feature> = backend
            .capabilities()
            .rows()
            .iter()
            .map(|(feature, _)| *feature)
            .collect();
        assert_eq!(column, Feature::ALL, "{}", backend.name());
        assert!(
            backend
                .capabilities()
                .rows()
                .iter()
                .all(|(_, support)| !support.note.is_empty()),
            "{}",
            backend.name()
        );
    }
}
