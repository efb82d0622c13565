//! Whether the real CLIs can be used here, and what to say when not.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;

use super::cli::Cli;

const HOW: &str = "tests/clis/install && AGENTCTL_REAL=require cargo test --test it real";

/// The folder with the programs of the CLIs.
pub fn directory() -> PathBuf {
    let root = env::var_os("AGENTCTL_TEST_CLIS").map(PathBuf::from);
    // The directory that cargo gives for temporary files of tests is `tmp` in the target directory.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target directory");
    let root = root.unwrap_or_else(|| target.join("clis"));
    std::path::absolute(root)
        .expect("a directory for the CLIs")
        .join("node_modules")
        .join(".bin")
}

/// Whether a test of this CLI is to run. Without the CLI it says so once and is not, unless it is required.
pub fn is_on(cli: Cli) -> bool {
    if !is_asked_for(cli) {
        return false;
    }
    let program = directory().join(cli.name());
    let why = if !program.exists() {
        format!("{} is not there", program.display())
    } else if which::which("node").is_err() {
        "there is no node on PATH".to_owned()
    } else {
        return true;
    };
    if env::var("AGENTCTL_REAL").is_ok_and(|value| value == "require") {
        panic!("the real CLIs are required and {why}; to run these tests: {HOW}");
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Not eprintln: the test harness would swallow it, since the test passes.
        let _ = writeln!(
            io::stderr(),
            "note: tests with the real CLIs NOT RUN: {why}; to run them: {HOW}"
        );
    });
    false
}

/// Whether `AGENTCTL_REAL_BACKEND` leaves this CLI in.
fn is_asked_for(cli: Cli) -> bool {
    let Ok(only) = env::var("AGENTCTL_REAL_BACKEND") else {
        return true;
    };
    let known = Cli::FIVE.map(Cli::name);
    // A name with a typo in it would leave out every test, and all would seem well.
    assert!(
        known.contains(&only.as_str()) || only == Cli::Qwen.name(),
        "AGENTCTL_REAL_BACKEND={only} is none of {known:?}"
    );
    only == cli.name()
}

/// Makes five tests of each scenario, a function of [`Cli`]: `SCENARIO::claude`, `SCENARIO::codex` and so on.
macro_rules! for_every_cli {
    ($($scenario:ident),+ $(,)?) => {
        $(
            mod $scenario {
                use $crate::world::{Cli, real};

                fn one(cli: Cli) {
                    if real::is_on(cli) {
                        super::$scenario(cli);
                    }
                }

                #[test]
                fn claude() {
                    one(Cli::Claude);
                }

                #[test]
                fn codex() {
                    one(Cli::Codex);
                }

                #[test]
                fn gemini() {
                    one(Cli::Gemini);
                }

                #[test]
                fn opencode() {
                    one(Cli::OpenCode);
                }

                #[test]
                fn pi() {
                    one(Cli::Pi);
                }
            }
        )+
    };
}
pub(crate) use for_every_cli;
