//! Links the unwinder into the program where the C compiler has it as an archive. The shared one (libgcc_s) is loaded,
//! relocated and copied at every start and fork: a tenth of the time that a small run adds.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let dynamic = !set("CARGO_CFG_TARGET_FEATURE")
        .split(',')
        .any(|feature| feature == "crt-static");
    let gnu = set("CARGO_CFG_TARGET_OS") == "linux" && set("CARGO_CFG_TARGET_ENV") == "gnu";
    // Another machine's archive would be of no use.
    if !gnu || !dynamic || set("TARGET") != set("HOST") {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "nothing is run here but the compiler")]
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let path = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let directory = path.as_deref().ok().and_then(|path| Path::new(path).parent());
    if let Some(directory) = directory.filter(|directory| directory.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=dylib=gcc_eh");
    }
}
