//! What is packaged is there, and what it is made of may be used.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn parsed<T: serde::de::DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    toml::from_str(&text).unwrap()
}

#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// None for ourselves.
    source: Option<String>,
}

/// Everything that is built on this machine, tests included.
fn dependencies() -> Vec<Package> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let told = String::from_utf8(rustc.stdout).unwrap();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--offline",
            "--filter-platform",
            host,
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    let used: BTreeSet<String> = metadata.resolve.nodes.into_iter().map(|node| node.id).collect();
    let packages = metadata.packages.into_iter();
    packages
        .filter(|package| package.source.is_some() && used.contains(&package.id))
        .collect()
}

/// Whether a licence expression can be satisfied: `OR` binds weaker than `AND`, and parentheses come first.
fn permits(allowed: &BTreeSet<String>, expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let permitted = either(allowed, &mut rest);
    permitted && rest.is_empty()
}

fn either(allowed: &BTreeSet<String>, rest: &mut &[&str]) -> bool {
    let mut permitted = both(allowed, rest);
    while let ["OR", more @ ..] = rest {
        *rest = more;
        permitted |= both(allowed, rest);
    }
    permitted
}

fn both(allowed: &BTreeSet<String>, rest: &mut &[&str]) -> bool {
    let mut permitted = one(allowed, rest);
    while let ["AND", more @ ..] = rest {
        *rest = more;
        permitted &= one(allowed, rest);
    }
    permitted
}

fn one(allowed: &BTreeSet<String>, rest: &mut &[&str]) -> bool {
    match rest {
        ["(", inner @ ..] => {
            *rest = inner;
            let permitted = either(allowed, rest);
            let closed = rest.first() == Some(&")");
            *rest = rest.get(1..).unwrap_or_default();
            permitted && closed
        }
        [name, "WITH", exception, more @ ..] => {
            *rest = more;
            allowed.contains(&format!("{name} WITH {exception}"))
        }
        [name, more @ ..] => {
            *rest = more;
            allowed.contains(*name)
        }
        [] => false,
    }
}

#[test]
fn every_dependency_has_a_permitted_licence_and_a_permitted_source_and_is_not_banned() {
    let rules: Rules = parsed(".github/deny.toml");
    let banned: BTreeSet<String> = rules.bans.deny.into_iter().map(|banned| banned.name).collect();
    let dependencies = dependencies();
    assert!(dependencies.len() > 50, "only {} dependencies", dependencies.len());
    let wrong: Vec<String> = dependencies
        .iter()
        .filter(|package| {
            let licensed = package
                .license
                .as_deref()
                .is_some_and(|licence| permits(&rules.licenses.allow, licence));
            let sourced = package
                .source
                .as_deref()
                .is_some_and(|source| source.starts_with("registry+"));
            !licensed || !sourced || banned.contains(&package.name)
        })
        .map(|package| {
            format!(
                "{} {}: {:?} from {:?}",
                package.name, package.version, package.license, package.source
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_licence_expression_is_understood() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"].map(str::to_owned));
    for permitted in [
        "MIT",
        "MIT/GPL-3.0",
        "GPL-3.0 OR MIT",
        "(GPL-3.0 OR ISC) AND MIT",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(permits(&allowed, permitted), "{permitted}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0",
        "(MIT",
        "MIT ISC",
        "GPL-3.0 OR (MIT AND GPL-2.0)",
    ] {
        assert!(!permits(&allowed, refused), "{refused}");
    }
}

#[test]
fn everything_that_a_debian_package_installs_is_there() {
    let manifest: toml::Value = parsed("Cargo.toml");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let mut pages = 0;
    for asset in assets {
        let source = asset[0].as_str().unwrap();
        if source.starts_with("target/") {
            continue;
        }
        let path = Path::new(source);
        let pattern = path.file_name().unwrap().to_str().unwrap();
        let (prefix, suffix) = pattern.split_once('*').unwrap_or((pattern, ""));
        let folder = root().join(path.parent().unwrap());
        let found = std::fs::read_dir(folder).unwrap().flatten().filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with(prefix) && name.ends_with(suffix)
        });
        let count = found.count();
        assert!(count > 0, "{source} is not there");
        pages += if source == "man/*.1" { count } else { 0 };
    }
    assert!(pages > 5, "only {pages} man pages");
}
