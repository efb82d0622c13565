//! The versions that `tests/clis` installs are those in the table that `doctor` uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agentctl::backend::TESTED;
use serde::Deserialize;

use crate::world::Cli;

#[derive(Deserialize)]
struct Manifest {
    dependencies: BTreeMap<String, String>,
}

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clis").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_installed_versions_are_the_newest_tested_ones() {
    let manifest: Manifest = serde_json::from_str(&read("package.json")).expect("package.json");
    let mut installed = manifest.dependencies;
    for tested in TESTED {
        let version = installed.remove(tested.package);
        assert_eq!(version.as_deref(), Some(tested.newest), "{}", tested.package);
    }
    let rest: Vec<_> = installed.into_keys().collect();
    assert_eq!(
        rest,
        ["@qwen-code/qwen-code"],
        "beside the backends, only the example of a declared one"
    );
}

#[test]
fn the_tests_drive_every_tested_backend() {
    let driven = Cli::FIVE.map(Cli::name);
    let tested: Vec<_> = TESTED.iter().map(|tested| tested.backend).collect();
    assert_eq!(driven, tested.as_slice());
}

#[test]
fn the_lockfile_names_no_download_address() {
    let lockfile = read("package-lock.json");
    assert!(!lockfile.contains("\"resolved\""));
    assert!(!lockfile.contains(".tgz"));
}
