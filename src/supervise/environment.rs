//! The environment of the CLI, made from ours. Pure, but for the one file of variables that a launch may name.
//!
//! What another agent set for its tools is taken out, because a CLI that finds it believes itself nested: it refuses to
//! start, joins the wrong session or writes elsewhere.

use super::dotenv;
use crate::backend::Launch;
use crate::error::Failure;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How many runs we are inside of.
pub const DEPTH: &str = "AGENTCTL_DEPTH";
/// How many there may be.
pub const MAX_DEPTH: &str = "AGENTCTL_MAX_DEPTH";
/// Marks every process of one run.
pub const RUN_TOKEN: &str = "AGENTCTL_RUN";

const DEFAULT_MAX_DEPTH: u32 = 5;

/// What the CLIs set for the tools they start, and what only makes sense inside of them.
const NESTED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_PACKAGE_ROOT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "GEMINI_CLI",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "GEMINI_CLI_IDE_WORKSPACE_PATH",
    "OPENCODE",
    "OPENCODE_PID",
    "OPENCODE_PROCESS_ROLE",
    "OPENCODE_RUN_ID",
    "PI_CODING_AGENT",
    "QWEN_CODE",
];

/// What is kept of our environment under `--env-clear`: enough to find programs, the home directory and its
/// conventional places, and to speak the user's language.
const MINIMAL: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "TZ",
    // Windows cannot start most programs without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];
const MINIMAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// How much of our environment the CLI gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All but what is scrubbed.
    #[default]
    All,
    /// A minimal set and these names (`--env-clear` with `--env-pass`).
    Only(Vec<OsString>),
}

/// What the user asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    pub inherit: Inherit,
    /// `--env K=V`: these win over everything, scrubbing included.
    pub set: Vec<(OsString, OsString)>,
}

/// The environment that a child inherits from `ours`, or a usage failure if runs are nested too deeply.
pub fn build(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    wishes: &Wishes,
) -> Result<BTreeMap<OsString, OsString>, Failure> {
    let mut env: BTreeMap<OsString, OsString> = ours.into_iter().collect();
    let depth = next_depth(&env)?;
    // OpenCode tells its tools that an agent runs them in a variable that others may use for something else.
    if env.contains_key(OsStr::new("OPENCODE")) && env.get(OsStr::new("AGENT")).is_some_and(|value| value == "1") {
        env.remove(OsStr::new("AGENT"));
    }
    env.retain(|name, _| !is_nested(name) && is_wanted(name, &wishes.inherit));
    env.insert(DEPTH.into(), depth.to_string().into());
    env.extend(wishes.set.iter().cloned());
    Ok(env)
}

/// The variables of an outer agent that are set.
pub fn nested_variables(env: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let nested = env.keys().filter(|name| is_nested(name));
    nested.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// What a launch's process gets: the changes of the plan, the directory it works in, and the token of the run.
pub(super) fn of_launch(
    env: &BTreeMap<OsString, OsString>,
    launch: &Launch,
    token: &str,
) -> BTreeMap<OsString, OsString> {
    let mut env = env.clone();
    // Some CLIs believe PWD rather than the kernel.
    env.insert("PWD".into(), working_directory(&launch.cwd));
    env.remove(OsStr::new("OLDPWD"));
    for (name, value) in launch.env_file.iter().flat_map(|file| dotenv::read(file)) {
        env.entry(name.into()).or_insert_with(|| value.into());
    }
    for (name, value) in &launch.env {
        match value {
            Some(value) => env.insert(name.clone(), value.clone()),
            None => env.remove(name),
        };
    }
    env.insert(RUN_TOKEN.into(), token.into());
    env
}

fn working_directory(cwd: &Path) -> OsString {
    cwd.as_os_str().to_owned()
}

fn is_nested(name: &OsStr) -> bool {
    NESTED.iter().any(|nested| name == *nested)
}

fn is_wanted(name: &OsStr, inherit: &Inherit) -> bool {
    let Inherit::Only(passed) = inherit else { return true };
    let minimal = name.to_str().is_some_and(|name| {
        MINIMAL.iter().any(|kept| same_name(name, kept))
            || MINIMAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    minimal || name == MAX_DEPTH || passed.iter().any(|passed| passed == name)
}

fn same_name(one: &str, other: &str) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

fn next_depth(env: &BTreeMap<OsString, OsString>) -> Result<u32, Failure> {
    // A number that cannot be read must not open the way for agents without end.
    let number = |name: &str, default: u32| match env.get(OsStr::new(name)).filter(|value| !value.is_empty()) {
        None => Ok(default),
        Some(value) => value
            .to_str()
            .and_then(|value| value.trim().parse().ok())
            .ok_or_else(|| {
                let message = format!(
                    "{name} is `{}`, which is not a number of levels",
                    value.to_string_lossy()
                );
                Failure::usage(message).hint("set it to a whole number, or unset it")
            }),
    };
    let depth = number(DEPTH, 0)?;
    let most = number(MAX_DEPTH, DEFAULT_MAX_DEPTH)?;
    if depth >= most {
        return Err(
            Failure::usage(format!("agentctl runs inside agentctl {depth} levels deep already")).hint(format!(
                "an agent seems to start agents without end; set {MAX_DEPTH} if that many are meant"
            )),
        );
    }
    Ok(depth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn ours(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn names(env: &BTreeMap<OsString, OsString>) -> Vec<&str> {
        env.keys().filter_map(|name| name.to_str()).collect()
    }

    #[test]
    fn variables_of_an_outer_agent_are_scrubbed() {
        let env = build(
            ours(&[
                ("CLAUDECODE", "1"),
                ("CODEX_THREAD_ID", "x"),
                ("OPENCODE", "1"),
                ("AGENT", "1"),
                ("CODEX_HOME", "/c"),
                ("A", "b"),
            ]),
            &Wishes::default(),
        )
        .unwrap();
        assert_eq!(names(&env), ["A", "AGENTCTL_DEPTH", "CODEX_HOME"]);
    }

    #[test]
    fn a_variable_called_agent_is_kept_outside_of_opencode() {
        let env = build(ours(&[("AGENT", "1")]), &Wishes::default()).unwrap();
        assert_eq!(names(&env), ["AGENT", "AGENTCTL_DEPTH"]);
    }

    #[test]
    fn what_the_user_sets_wins_over_scrubbing() {
        let wishes = Wishes {
            set: ours(&[("CLAUDECODE", "yes")]),
            ..Wishes::default()
        };
        let env = build(ours(&[("CLAUDECODE", "1")]), &wishes).unwrap();
        assert_eq!(env[OsStr::new("CLAUDECODE")], "yes");
    }

    #[test]
    fn a_cleared_environment_keeps_the_minimum_and_what_is_passed() {
        let wishes = Wishes {
            inherit: Inherit::Only(vec!["TOKEN".into()]),
            set: ours(&[("X", "1")]),
        };
        let ours = ours(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_DATA_HOME", "/d"),
            ("SECRET", "s"),
            ("TOKEN", "t"),
        ]);
        let env = build(ours, &wishes).unwrap();
        assert_eq!(
            names(&env),
            ["AGENTCTL_DEPTH", "LC_ALL", "PATH", "TOKEN", "X", "XDG_DATA_HOME"]
        );
    }

    #[test]
    fn the_depth_grows_and_is_bounded() {
        let env = build(ours(&[(DEPTH, "4")]), &Wishes::default()).unwrap();
        assert_eq!(env[OsStr::new(DEPTH)], "5");
        let refused = build(ours(&[(DEPTH, "5")]), &Wishes::default()).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Usage);
        assert!(refused.hint.is_some());
        assert!(build(ours(&[(DEPTH, "5"), (MAX_DEPTH, "9")]), &Wishes::default()).is_ok());
    }

    #[test]
    fn the_child_is_told_its_directory_and_the_token() {
        let mut launch = crate::backend::Launch {
            program: "/bin/true".into(),
            args: Vec::new(),
            env: vec![("GONE".into(), None), ("NEW".into(), Some("1".into()))],
            env_file: None,
            cwd: "/some/where".into(),
            stdin: crate::backend::Stdin::Closed,
            files: Vec::new(),
            stop: crate::backend::Stop::Terminate,
        };
        let env: BTreeMap<_, _> = ours(&[("PWD", "/else"), ("OLDPWD", "/old"), ("GONE", "1")])
            .into_iter()
            .collect();
        let env_of = of_launch(&env, &launch, "token");
        assert_eq!(names(&env_of), ["AGENTCTL_RUN", "NEW", "PWD"]);
        assert_eq!(env_of[OsStr::new("PWD")], "/some/where");
        launch.env.push(("PWD".into(), Some("/planned".into())));
        assert_eq!(of_launch(&env, &launch, "token")[OsStr::new("PWD")], "/planned");
    }

    #[test]
    fn a_launchs_file_of_variables_adds_what_is_not_set() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, "KEY=from-file\nHOME=/elsewhere\nPLANNED=file\n").unwrap();
        let launch = crate::backend::Launch {
            program: "/bin/true".into(),
            args: Vec::new(),
            env: vec![("PLANNED".into(), Some("plan".into()))],
            env_file: Some(file),
            cwd: "/".into(),
            stdin: crate::backend::Stdin::Closed,
            files: Vec::new(),
            stop: crate::backend::Stop::Terminate,
        };
        let env: BTreeMap<_, _> = ours(&[("HOME", "/home/user")]).into_iter().collect();
        let env = of_launch(&env, &launch, "token");
        assert_eq!(env[OsStr::new("KEY")], "from-file");
        assert_eq!(env[OsStr::new("HOME")], "/home/user");
        assert_eq!(env[OsStr::new("PLANNED")], "plan");
    }

    #[test]
    fn a_depth_that_is_no_number_does_not_count_as_none() {
        for (name, value) in [
            (DEPTH, "abc"),
            (DEPTH, "-1"),
            (DEPTH, "99999999999"),
            (MAX_DEPTH, "many"),
        ] {
            let failure = build(ours(&[(name, value)]), &Wishes::default()).unwrap_err();
            assert_eq!(failure.kind, ErrorKind::Usage);
            assert!(failure.message.contains(name), "{failure}");
        }
        assert!(build(ours(&[(DEPTH, "")]), &Wishes::default()).is_ok());
    }
}
