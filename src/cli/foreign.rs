//! What people type who know other programs: words and options that have another form here.

/// Words that other programs use for a command of ours, with the group that they were typed in.
const SYNONYMS: &[(&str, &[&str], &str)] = &[
    ("", &["ls", "list"], "sessions list"),
    ("", &["rm", "remove", "delete", "forget"], "sessions rm"),
    ("", &["exec", "ask", "prompt", "start"], "run"),
    ("", &["continue"], "resume"),
    ("", &["version"], "--version"),
    ("", &["prune"], "sessions prune"),
    ("", &["show"], "sessions show"),
    ("", &["init"], "config init"),
    ("", &["json"], "help json"),
    ("", &["exit-codes"], "help exit-codes"),
    ("", &["environment", "env"], "help environment"),
    ("", &["mock"], "help mock"),
    ("sessions", &["help"], "help sessions"),
    ("config", &["help"], "help config"),
    ("sessions", &["ls"], "sessions list"),
    ("sessions", &["forget", "delete", "remove"], "sessions rm"),
    ("sessions", &["get"], "sessions show"),
    ("config", &["get", "list", "ls"], "config show"),
    ("config", &["edit", "set"], "config path"),
];

/// Options of the CLIs for which a run has another form, or needs none.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["--json", "--format"], "for JSON: -o json, or -o stream-json"),
    (&["--stream"], "for events as they happen: -o stream-json"),
    (
        &["--print", "-p", "--exec"],
        "a run prints the answer by itself: agentctl run \"PROMPT\"",
    ),
    (&["--prompt-interactive"], "for the CLI's own terminal UI: -i"),
    (
        &["--continue", "-c", "--last"],
        "to go on with the last conversation: agentctl resume --last",
    ),
    (
        &["--resume", "-r", "--session-id"],
        "to go on with a conversation: agentctl resume SESSION",
    ),
    (
        &["--session"],
        "to go on with a conversation of that name: agentctl resume NAME",
    ),
    (
        &["--fork", "--fork-session"],
        "to go on in a copy of a conversation: agentctl resume --fork SESSION",
    ),
    (&["--list-sessions"], "to see conversations: agentctl sessions list"),
    (
        &["--no-session", "--no-session-persistence"],
        "to leave nothing to resume: --ephemeral",
    ),
    (
        &[
            "--yolo",
            "-y",
            "--full",
            "--full-auto",
            "--dangerously-skip-permissions",
            "--dangerously-bypass-approvals-and-sandbox",
        ],
        "an agent has full rights unless --permission says less",
    ),
    (
        &[
            "--sandbox",
            "--approval-mode",
            "--permission-mode",
            "--ask-for-approval",
            "-a",
            "--read-only",
            "--readonly",
            "--edit",
        ],
        "for what an agent may do: --permission LEVEL",
    ),
    (
        &["--disallowedTools", "--disallowed-tools", "--exclude-tools"],
        "to take a tool away: --deny-tool TOOL",
    ),
    (
        &["--tools", "--allowedTools", "--allowed-tools"],
        "for tools: --allow-tool TOOL",
    ),
    (
        &["--append-system-prompt", "--system-prompt"],
        "for the system prompt: --system TEXT, with --system-replace in the place of the CLI's own",
    ),
    (
        &["--json-schema", "--output-schema"],
        "for an answer of a given form: --schema FILE",
    ),
    (
        &["--output-last-message", "--output"],
        "the answer goes to standard output: agentctl run \"PROMPT\" > FILE",
    ),
    (&["--agent"], "to choose an agent: --backend NAME"),
    (&["--cd", "--dir"], "for the directory: --cwd DIR"),
    (&["--include-directories"], "for further directories: --add-dir DIR"),
    (
        &["--image", "--file"],
        "for a file that goes with the prompt: --attach FILE; for a prompt in a file: --prompt-file FILE",
    ),
    (
        &["--thinking", "--variant"],
        "for how hard the model thinks: --effort LEVEL",
    ),
    (
        &["--max-budget-usd", "--fallback-model", "--temperature"],
        "what only some backends have: --option NAME=VALUE, with the names in `agentctl backends NAME`",
    ),
    (
        &["--config"],
        "for settings: agentctl config, or another file in AGENTCTL_CONFIG; for MCP servers: --mcp-config FILE",
    ),
    (&["--name"], "for a conversation with a name: --session NAME"),
    (&["--debug"], "to see the command and more: --verbose"),
    (&["--silent"], "for nothing but errors on stderr: --quiet"),
    (&["--no-color", "--no-colour"], "for no colour: --color never"),
    (&["--version", "-V"], "for the version: agentctl --version"),
];

/// The command that a word stands for, typed after the command `group`, if any.
pub fn command(group: &str, typed: &str) -> Option<&'static str> {
    let fits = |of: &str, words: &[&str]| of == group && words.contains(&typed);
    let found = SYNONYMS.iter().find(|(of, words, _)| fits(of, words));
    found.map(|(.., meant)| *meant)
}

/// What to do in place of an option of the CLIs.
pub fn option(typed: &str) -> Option<&'static str> {
    let found = OPTIONS.iter().find(|(names, _)| names.contains(&typed));
    found.map(|(_, advice)| *advice)
}
