//! The process's environment, taken once: the variables that agentctl reads as settings, and what its agents inherit.

use super::settings::{Layer, Origin, Settings};
use crate::error::Failure;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Every variable with what it means, for `agentctl help environment`.
pub const VARIABLES: &[(&str, &str)] = &[
    ("AGENT_BACKEND", "the backend (--backend); default: claude"),
    (
        "BACKEND_CLI_PATH",
        "the binary of the selected backend (--cli-path); default: the one on PATH",
    ),
    (
        "AGENTCTL_<NAME>_PATH",
        "the binary of one backend, e.g. AGENTCTL_CLAUDE_PATH",
    ),
    ("BACKEND_MODEL", "the model (--model); default: the backend's own"),
    (
        "BACKEND_MAX_TURNS",
        "the turn limit (--max-turns), 0 is none; default: 25",
    ),
    (
        "ALLOWED_TOOLS",
        "the tools, comma-separated (--allow-tool); default: all of the level",
    ),
    (
        "AGENTCTL_PERMISSION",
        "the permission level (--permission); default: full",
    ),
    (
        "AGENTCTL_TIMEOUT",
        "most time for the whole run (--timeout); default: 30m",
    ),
    ("AGENTCTL_PROFILE", "the profile (--profile), below the other variables"),
    (
        "AGENTCTL_CONFIG",
        "the configuration file, which `agentctl config path` tells; default on Linux: agentctl/config.toml in \
         $XDG_CONFIG_HOME or ~/.config",
    ),
    (
        "AGENTCTL_STATE_DIR",
        "where conversations are stored, which `agentctl sessions path` tells; default on Linux: agentctl in \
         $XDG_STATE_HOME or ~/.local/state",
    ),
    (
        "AGENTCTL_MAX_DEPTH",
        "how deep agents may start agents through agentctl; default: 5",
    ),
    ("NO_COLOR, CLICOLOR_FORCE", "colour off, colour on (--color)"),
];

const STATE_DIR: &str = "AGENTCTL_STATE_DIR";

/// A snapshot of the process's environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    pub fn of_process() -> Self {
        let mut environment = Self::from_pairs(std::env::vars_os());
        // The agent, and an agentctl that it starts, may work in another directory and must find the same place.
        if let Some(state) = environment.variables.get_mut(OsStr::new(STATE_DIR))
            && let Ok(absolute) = std::path::absolute(&*state)
        {
            *state = absolute.into_os_string();
        }
        environment
    }

    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self {
            variables: pairs
                .into_iter()
                .map(|(key, value)| (variable_name(key), value.into()))
                .collect(),
        }
    }

    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(variable_name(name), value.into());
    }

    pub fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    pub fn into_all(self) -> BTreeMap<OsString, OsString> {
        self.variables
    }

    /// Where programs are looked for.
    pub fn search_path(&self) -> Option<&OsStr> {
        self.variables.get(OsStr::new("PATH")).map(OsString::as_os_str)
    }

    /// A variable that is set, is text and is not empty.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.path(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
            .or_else(|| directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()))
    }

    /// The user who became root with sudo.
    pub fn sudoer(&self) -> Option<u32> {
        self.get("SUDO_UID")?.parse().ok()
    }

    /// `$AGENTCTL_CONFIG`, else `config.toml` in the platform's configuration directory.
    pub fn config_path(&self) -> PathBuf {
        self.path("AGENTCTL_CONFIG")
            .unwrap_or_else(|| match directories::ProjectDirs::from("", "", "agentctl") {
                Some(dirs) => dirs.config_dir().join("config.toml"),
                None => PathBuf::from("/nonexistent/agentctl/config.toml"),
            })
    }

    /// `$AGENTCTL_STATE_DIR`, else the platform's state directory. `None` without a home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.path(STATE_DIR).or_else(|| {
            let dirs = directories::ProjectDirs::from("", "", "agentctl")?;
            Some(dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned())
        })
    }

    /// The settings that the environment makes.
    pub fn layer(&self) -> Result<Layer, Failure> {
        let mut settings = Settings::default();
        let mut origins = BTreeMap::new();
        let mut note = |key: &'static str, variable: &str| {
            origins.insert(key, Origin::Environment(variable.to_owned()));
        };
        if let Some(value) = self.get("AGENT_BACKEND") {
            settings.backend = Some(value);
            note("backend", "AGENT_BACKEND");
        }
        if let Some(value) = self.path("BACKEND_CLI_PATH") {
            settings.cli_path = Some(value);
            note("cli_path", "BACKEND_CLI_PATH");
        }
        if let Some(value) = self.get("BACKEND_MODEL") {
            settings.model = Some(value);
            note("model", "BACKEND_MODEL");
        }
        if let Some(value) = self.get("BACKEND_MAX_TURNS") {
            let turns = value.trim().parse().map_err(|_| {
                Failure::usage(format!(
                    "BACKEND_MAX_TURNS is `{value}`, which is not a number of turns"
                ))
                .hint("set it to a whole number, e.g. BACKEND_MAX_TURNS=25, or unset it")
            })?;
            settings.max_turns = Some(turns);
            note("max_turns", "BACKEND_MAX_TURNS");
        }
        if let Some(value) = self.get("ALLOWED_TOOLS") {
            let tools = split_tools(&value);
            // Taken for no list, it would allow everything.
            if tools.is_empty() {
                return Err(
                    Failure::usage(format!("ALLOWED_TOOLS is `{value}`, which names no tool"))
                        .hint("name tools, e.g. ALLOWED_TOOLS=read,search, or unset it"),
                );
            }
            settings.allow_tools = Some(tools);
            note("allow_tools", "ALLOWED_TOOLS");
        }
        if let Some(value) = self.get("AGENTCTL_PERMISSION") {
            settings.permission = Some(value);
            note("permission", "AGENTCTL_PERMISSION");
        }
        if let Some(value) = self.get("AGENTCTL_TIMEOUT") {
            settings.timeout = Some(value);
            note("timeout", "AGENTCTL_TIMEOUT");
        }
        Ok(Layer::with_origins(settings, origins))
    }

    /// `AGENTCTL_<NAME>_PATH`.
    pub fn backend_path(&self, backend: &str) -> Option<Layer> {
        let variable = path_variable(backend);
        let settings = Settings {
            cli_path: Some(self.path(&variable)?),
            ..Settings::default()
        };
        Some(Layer::new(settings, Origin::Environment(variable)))
    }
}

/// Variables that were taken from an environment, or belong into one.
impl From<BTreeMap<OsString, OsString>> for Environment {
    fn from(variables: BTreeMap<OsString, OsString>) -> Self {
        match cfg!(windows) {
            true => Self::from_pairs(variables),
            false => Self { variables },
        }
    }
}

/// The name under which a variable is found. Windows does not tell `Path` from `PATH`, so there all names are upper case.
pub fn variable_name(name: impl Into<OsString>) -> OsString {
    let name = name.into();
    match cfg!(windows) {
        true => name.to_ascii_uppercase(),
        false => name,
    }
}

/// The variable that names the binary of one backend.
pub fn path_variable(backend: &str) -> String {
    format!("AGENTCTL_{}_PATH", backend.to_uppercase().replace('-', "_"))
}

/// Splits at commas that are not inside parentheses: `Bash(git *, ls),Read` names two tools.
pub fn split_tools(list: &str) -> Vec<String> {
    let mut tools = Vec::new();
    let mut depth = 0_usize;
    let mut tool = String::new();
    for character in list.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                tools.push(std::mem::take(&mut tool));
                continue;
            }
            _ => {}
        }
        tool.push(character);
    }
    tools.push(tool);
    tools
        .iter()
        .map(|tool| tool.trim().to_owned())
        .filter(|tool| !tool.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_inside_parentheses_do_not_split_a_tool_pattern() {
        assert_eq!(split_tools("Bash(git *, ls), read,,"), ["Bash(git *, ls)", "read"]);
    }

    #[test]
    fn a_turn_limit_that_is_no_number_is_a_usage_error_that_names_the_variable() {
        let environment = Environment::from_pairs([("BACKEND_MAX_TURNS", "many")]);
        let failure = environment.layer().unwrap_err();
        assert!(failure.message.contains("BACKEND_MAX_TURNS"), "{failure}");
    }

    #[test]
    fn programs_are_looked_for_where_path_says_however_windows_spells_it() {
        let found = |name: &str| Environment::from_pairs([(name, "/bin")]).search_path().is_some();
        assert!(found("PATH"));
        assert_eq!(found("Path"), cfg!(windows));
    }

    #[test]
    fn an_empty_variable_is_as_good_as_none() {
        let environment = Environment::from_pairs([("AGENT_BACKEND", "")]);
        assert_eq!(environment.layer().unwrap().settings, Settings::default());
    }
}
