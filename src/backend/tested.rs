//! Which versions of the CLIs the tests of this project ran against: the one table.
//!
//! `doctor` measures an installed CLI by it, and a test keeps it equal to the versions that `tests/clis` installs.

/// The range of versions of one CLI that is known to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The name of the backend.
    pub backend: &'static str,
    /// Its package on npm.
    pub package: &'static str,
    /// The oldest version that the tests passed with.
    pub oldest: &'static str,
    /// The newest version that the tests passed with.
    pub newest: &'static str,
}

/// Every tested CLI.
pub const TESTED: &[Tested] = &[
    tested("claude", "@anthropic-ai/claude-code", "2.1.197", "2.1.197"),
    tested("codex", "@openai/codex", "0.169.0", "0.169.0"),
    tested("gemini", "@google/gemini-cli", "0.61.0", "0.61.0"),
    tested("opencode", "opencode-ai", "1.18.33", "1.18.33"),
    tested("pi", "@earendil-works/pi-coding-agent", "0.74.2", "0.74.2"),
];

/// The tested versions of a backend.
pub fn tested_versions(backend: &str) -> Option<&'static Tested> {
    TESTED.iter().find(|tested| tested.backend == backend)
}

const fn tested(backend: &'static str, package: &'static str, oldest: &'static str, newest: &'static str) -> Tested {
    Tested {
        backend,
        package,
        oldest,
        newest,
    }
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;

    #[test]
    fn every_range_is_of_versions_in_order() {
        for tested in TESTED {
            let oldest = Version::parse(tested.oldest).expect(tested.backend);
            let newest = Version::parse(tested.newest).expect(tested.backend);
            assert!(oldest <= newest, "{}", tested.backend);
        }
    }

    #[test]
    fn a_backend_is_found_by_its_name() {
        assert_eq!(
            tested_versions("pi").map(|tested| tested.package),
            Some("@earendil-works/pi-coding-agent")
        );
        assert_eq!(tested_versions("qwen"), None);
    }
}
