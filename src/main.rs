#[cfg(target_env = "musl")]
mod allocator;
#[cfg(all(any(target_env = "musl", test), target_arch = "x86_64"))]
mod copy;

use std::process::ExitCode;

fn main() -> ExitCode {
    agentctl::main()
}
