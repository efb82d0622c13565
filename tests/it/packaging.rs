//! What is packaged is there.

use std::path::Path;

#[test]
fn everything_that_a_debian_package_installs_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let manifest: toml::Value = toml::from_str(&manifest).unwrap();
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
        let folder = root.join(path.parent().unwrap());
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
