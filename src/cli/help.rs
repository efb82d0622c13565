//! The examples at the end of each `--help`. Whatever else is told there has no line breaks of its own: clap makes them.

pub const ROOT: &str = "\
Examples:
  agentctl run \"fix the failing test\"
  agentctl run -b codex -P read-only -o json \"review the last commit\"
  agentctl resume --last \"and now the docs\"
  agentctl doctor

Topics: agentctl help exit-codes, help environment, help json, help mock";

pub const RUN: &str = "\
Examples:
  agentctl run \"fix the failing test\"
  git diff | agentctl run -b gemini -P read-only \"review this change\"
  agentctl run -b codex -m gpt-5 --max-turns 10 -o json -f task.md
  printf '%s' \"$MESSAGE\" | agentctl run --session \"$CHANNEL\" -o json
  agentctl run -b mock \"hello\"";

pub const RESUME: &str = "\
Examples:
  agentctl resume --last \"and now the docs\"
  agentctl resume k3f9 \"go on\"
  agentctl resume --fork k3f9 \"try it another way\"
  agentctl resume -b claude 5e0a3d3e-6a4b-4c43-9a43-0d3c4d1b2a10 \"go on\"";

pub const SESSIONS: &str = "\
Examples:
  agentctl sessions
  agentctl sessions list --json --backend claude --limit 20
  agentctl sessions show k3f9
  agentctl sessions prune --older-than 30d --dry-run";

pub const DOCTOR: &str = "\
Examples:
  agentctl doctor
  agentctl doctor codex gemini --json
  agentctl doctor --live claude

Nothing is asked of a model without --live, and nothing of yours is written to. \
Exit 0: everything named is usable; without names, the default backend is.";

pub const BACKENDS: &str = "\
Examples:
  agentctl backends
  agentctl backends codex
  agentctl backends --json";

pub const CONFIG: &str = "\
Examples:
  agentctl config show --profile review
  agentctl config path
  agentctl config init";

pub const COMPLETIONS: &str = "\
Examples:
  source <(agentctl completions bash)
  source <(agentctl completions zsh)
  agentctl completions fish | source
  agentctl completions powershell | Out-String | Invoke-Expression

Each line belongs into the file that its shell reads when it starts: ~/.bashrc, ~/.zshrc (behind compinit), \
~/.config/fish/config.fish, $PROFILE. The line for elvish belongs into ~/.config/elvish/rc.elv: \
eval (agentctl completions elvish | slurp)";

pub const MAN: &str = "\
Examples:
  agentctl man | man -l -
  agentctl man ~/.local/share/man/man1";

pub const SCHEMA: &str = "\
Examples:
  agentctl schema result
  agentctl schema event > event.schema.json";

pub const HELP: &str = "\
Examples:
  agentctl help run
  agentctl help sessions prune
  agentctl help exit-codes";

pub const SESSIONS_LIST: &str = "\
Examples:
  agentctl sessions list --cwd .
  agentctl sessions list --json --backend claude --limit 20
  agentctl sessions list --name ticket-";

pub const SESSIONS_SHOW: &str = "\
Examples:
  agentctl sessions show k3f9
  agentctl sessions show --json ticket-77";

pub const SESSIONS_RM: &str = "\
Examples:
  agentctl sessions rm k3f9
  agentctl sessions rm ticket-77 ticket-78

The CLI keeps its own files of them.";

pub const SESSIONS_PRUNE: &str = "\
Examples:
  agentctl sessions prune --older-than 30d --dry-run
  agentctl sessions prune --keep 100
  agentctl sessions prune --damaged --json";

pub const SESSIONS_PATH: &str = "\
Examples:
  agentctl sessions path
  AGENTCTL_STATE_DIR=/srv/agentctl agentctl sessions path";

pub const CONFIG_PATH: &str = "\
Examples:
  agentctl config path
  AGENTCTL_CONFIG=~/other.toml agentctl config path";

pub const CONFIG_SHOW: &str = "\
Examples:
  agentctl config show
  agentctl config show --profile review
  agentctl config show --json";

pub const CONFIG_INIT: &str = "\
Examples:
  agentctl config init
  AGENTCTL_CONFIG=~/other.toml agentctl config init";
