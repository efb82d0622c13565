use std::process::ExitCode;

fn main() -> ExitCode {
    agentctl::main()
}
