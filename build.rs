//! How the program is linked to the C library of a Linux with glibc, so that it starts and forks as fast as it can.
//!
//! The unwinder is linked into it where the C compiler has it as an archive: the shared one (libgcc_s) is loaded, relocated
//! and copied at every start and fork. And it is linked to fixed addresses, as the static binary is
//! (`.cargo/config.toml` tells why).

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
    println!("cargo:rustc-link-arg-bins=-no-pie");
    #[expect(clippy::disallowed_methods, reason = "nothing is run here but the compiler")]
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let path = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let directory = path.as_deref().ok().and_then(|path| Path::new(path).parent());
    if let Some(directory) = directory.filter(|directory| directory.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=dylib=gcc_eh");
    }
}
