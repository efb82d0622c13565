#![cfg_attr(all(target_os = "linux", target_env = "gnu", not(test)), no_main)]

#[cfg(target_env = "musl")]
mod allocator;
#[cfg(all(any(target_env = "musl", test), target_arch = "x86_64"))]
mod copy;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod power;
#[cfg(all(target_os = "linux", target_env = "gnu", not(test)))]
mod start;

#[cfg(any(not(target_os = "linux"), not(target_env = "gnu"), test))]
fn main() -> std::process::ExitCode {
    agentctl::main().into()
}
