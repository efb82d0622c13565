//! The table of exit codes. Scripts rely on it; `agentctl help exit-codes` and the README print it from here.

/// How agentctl ends. The numbers are a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    AgentFailed = 1,
    Usage = 2,
    NotInstalled = 3,
    Authentication = 4,
    RateLimit = 5,
    Limit = 6,
    NoSuchSession = 7,
    Blocked = 8,
    Protocol = 9,
    SchemaMismatch = 10,
    Busy = 75,
    Timeout = 124,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// Every code with its meaning, in numeric order.
    pub const TABLE: &[(Exit, &str)] = &[
        (Exit::Success, "success"),
        (Exit::AgentFailed, "the agent failed"),
        (Exit::Usage, "usage or configuration error"),
        (Exit::NotInstalled, "backend missing or not executable"),
        (Exit::Authentication, "authentication"),
        (Exit::RateLimit, "rate limit, quota or overload"),
        (Exit::Limit, "stopped at a limit (turns, budget)"),
        (Exit::NoSuchSession, "no such session"),
        (Exit::Blocked, "blocked by permissions"),
        (Exit::Protocol, "output that cannot be understood"),
        (Exit::SchemaMismatch, "the answer does not fit the schema"),
        (Exit::Busy, "the conversation is busy"),
        (Exit::Timeout, "timeout"),
        (Exit::Interrupted, "interrupted (SIGINT)"),
        (Exit::Terminated, "terminated (SIGTERM, SIGHUP)"),
    ];

    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_numeric_order_without_repeats() {
        assert!(Exit::TABLE.windows(2).all(|pair| pair[0].0.code() < pair[1].0.code()));
    }
}
