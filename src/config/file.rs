//! `config.toml` and a project's `.agentctl.toml`.

use super::environment::Environment;
use super::settings::{KEYS, PROJECT_KEYS, Settings};
use crate::error::Failure;
use crate::owner;
use crate::suggest::closest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PROJECT_FILE: &str = ".agentctl.toml";

/// The user's configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    pub defaults: Settings,
    pub backends: BTreeMap<String, BackendSection>,
    pub profiles: BTreeMap<String, Settings>,
}

/// `[backends.NAME]`: settings of a built-in backend, or the declaration of one's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackendSection {
    pub path: Option<PathBuf>,
    pub model: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub options: BTreeMap<String, String>,
    pub max_turns: Option<u32>,
    pub permission: Option<String>,
    // The rest declares a backend: see `backend::Declaration`.
    pub program: Option<String>,
    pub dialect: Option<String>,
    pub display_name: Option<String>,
    pub about: Option<String>,
    pub install: Option<String>,
    pub login: Option<String>,
    pub prompt: Option<String>,
    pub literal_prefix: Option<String>,
    pub error_marker: Option<String>,
    pub session_args_new: Option<Vec<String>>,
    pub session_args_resume: Option<Vec<String>>,
    pub ephemeral_args: Option<Vec<String>>,
    pub model_args: Option<Vec<String>>,
    pub system_args: Option<Vec<String>>,
    pub add_dir_args: Option<Vec<String>>,
    pub max_turns_args: Option<Vec<String>>,
    pub read_only_args: Option<Vec<String>>,
    pub edit_args: Option<Vec<String>>,
    pub full_args: Option<Vec<String>>,
}

impl BackendSection {
    /// The keys that are set and only make sense in a declaration.
    pub fn declaring_keys(&self) -> Vec<&'static str> {
        let set = [
            ("program", self.program.is_some()),
            ("dialect", self.dialect.is_some()),
            ("display_name", self.display_name.is_some()),
            ("about", self.about.is_some()),
            ("install", self.install.is_some()),
            ("login", self.login.is_some()),
            ("prompt", self.prompt.is_some()),
            ("literal_prefix", self.literal_prefix.is_some()),
            ("error_marker", self.error_marker.is_some()),
            ("session_args_new", self.session_args_new.is_some()),
            ("session_args_resume", self.session_args_resume.is_some()),
            ("ephemeral_args", self.ephemeral_args.is_some()),
            ("model_args", self.model_args.is_some()),
            ("system_args", self.system_args.is_some()),
            ("add_dir_args", self.add_dir_args.is_some()),
            ("max_turns_args", self.max_turns_args.is_some()),
            ("read_only_args", self.read_only_args.is_some()),
            ("edit_args", self.edit_args.is_some()),
            ("full_args", self.full_args.is_some()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(key, _)| key).collect()
    }

    /// The part that is a layer of settings. Arguments of a declared backend are its command line, not additions.
    pub fn settings(&self) -> Settings {
        Settings {
            cli_path: self.path.clone(),
            model: self.model.clone(),
            max_turns: self.max_turns,
            permission: self.permission.clone(),
            env: (!self.env.is_empty()).then(|| self.env.clone()),
            options: (!self.options.is_empty()).then(|| self.options.clone()),
            args: (self.program.is_none() && !self.args.is_empty()).then(|| self.args.clone()),
            ..Settings::default()
        }
    }
}

impl ConfigFile {
    /// What the file holds; nothing, if it is not there.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        match read_text(path)? {
            Some(text) => Self::parse(&text, path),
            None => Ok(Self::default()),
        }
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| explain(&error, path))
    }
}

/// What the search for a project's file came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSearch {
    pub file: Option<PathBuf>,
    /// Files that were passed over, and why.
    pub warnings: Vec<String>,
}

/// The nearest `.agentctl.toml` of `cwd` and its parents. The search ends at a repository's root and at the home
/// directory: what lies above is not the project's. A file that somebody else could have put there is passed over.
pub fn project_file(cwd: &Path, environment: &Environment) -> ProjectSearch {
    let home = environment.home();
    let mut search = ProjectSearch::default();
    for directory in cwd.ancestors() {
        let candidate = directory.join(PROJECT_FILE);
        if candidate.is_file() {
            match owner::distrust(&candidate, environment.sudoer()) {
                None => {
                    search.file = Some(candidate);
                    break;
                }
                Some(why) => search
                    .warnings
                    .push(format!("{} is not read: {why}", candidate.display())),
            }
        }
        if Some(directory) == home.as_deref() || directory.join(".git").exists() {
            break;
        }
    }
    search
}

/// A project's file. A repository must not raise permissions or name a program, so other keys are errors.
pub fn read_project(path: &Path) -> Result<Settings, Failure> {
    let Some(text) = read_text(path)? else {
        return Ok(Settings::default());
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| explain(&error, path))?;
    if let Some(key) = table.keys().find(|key| !PROJECT_KEYS.contains(&key.as_str())) {
        let message = format!("{}: `{key}` cannot be set by a project", path.display());
        return Err(Failure::usage(message).hint(project_hint(key)));
    }
    toml::from_str(&text).map_err(|error| explain(&error, path))
}

/// What to do about a key that a project must not set.
fn project_hint(key: &str) -> String {
    let is_known = KEYS.iter().any(|(known, _)| *known == key);
    match (key, closest(key, PROJECT_KEYS)) {
        ("defaults", _) => "a project's keys are not in a section: leave out [defaults]".to_owned(),
        ("backends" | "profiles" | "cli_path" | "program", _) => {
            "a project cannot name programs or backends: that is for your own file, see `agentctl config path`"
                .to_owned()
        }
        (_, Some(similar)) if !is_known => format!("did you mean `{similar}`?"),
        _ => format!("a project may set: {}", PROJECT_KEYS.join(", ")),
    }
}

fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => {
            let hint = match (error.kind(), path.file_name()) {
                (std::io::ErrorKind::InvalidData, _) => "it has to be UTF-8: convert it, e.g. with iconv",
                (_, Some(name)) if name == PROJECT_FILE => "mend the file's permissions, or move it away",
                _ => "mend the file's permissions, or name another with AGENTCTL_CONFIG",
            };
            Err(Failure::usage(format!("cannot read {}: {error}", path.display())).hint(hint))
        }
    }
}

/// The parser's own words, with file, line and the key that was probably meant.
fn explain(error: &toml::de::Error, path: &Path) -> Failure {
    let failure = Failure::usage(format!("{}: {}", path.display(), error.to_string().trim_end()));
    if !error.message().contains("unknown field") {
        return failure;
    }
    let mut words = error.message().split('`').skip(1).step_by(2);
    let hint = words
        .next()
        .and_then(|unknown| key_hint(unknown, &words.collect::<Vec<_>>()));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What was meant by an unknown key in the place of the known ones.
fn key_hint(unknown: &str, known: &[&str]) -> Option<String> {
    let is_setting = KEYS.iter().any(|(key, _)| *key == unknown);
    match closest(unknown, known) {
        _ if is_setting && known.contains(&"defaults") => Some("put it under [defaults]".to_owned()),
        Some(similar) => Some(format!("did you mean `{similar}`?")),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> Failure {
        ConfigFile::parse(text, Path::new("config.toml")).unwrap_err()
    }

    #[test]
    fn an_unknown_key_is_an_error_with_file_line_and_suggestion() {
        let failure = error_of("[defaults]\nmodle = \"x\"\n");
        assert!(
            failure.message.contains("config.toml") && failure.message.contains("line 2"),
            "{failure}"
        );
        assert_eq!(failure.hint.as_deref(), Some("did you mean `model`?"));
    }

    #[test]
    fn a_setting_outside_of_a_section_is_sent_to_its_section() {
        for text in ["permission = \"edit\"\n", "backend = \"codex\"\n"] {
            assert_eq!(error_of(text).hint.as_deref(), Some("put it under [defaults]"));
        }
    }

    #[test]
    fn a_project_is_told_what_is_not_its_business() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".agentctl.toml");
        for (text, told) in [
            ("[backends.x]\nprogram = \"x\"\n", "cannot name programs or backends"),
            ("cli_path = \"x\"\n", "cannot name programs or backends"),
            ("[defaults]\nmodel = \"x\"\n", "leave out [defaults]"),
            ("modle = \"x\"\n", "did you mean `model`?"),
            ("system_file = \"x\"\n", "a project may set: "),
        ] {
            std::fs::write(&path, text).unwrap();
            let hint = read_project(&path).unwrap_err().hint.unwrap();
            assert!(hint.contains(told), "{text}: {hint}");
        }
    }

    #[test]
    fn a_project_file_that_cannot_be_read_is_told_what_helps_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        std::fs::write(&path, b"model = \"\xff\"\n").unwrap();
        assert!(read_project(&path).unwrap_err().hint.unwrap().contains("UTF-8"));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let hint = read_project(&path).unwrap_err().hint.unwrap();
        assert!(!hint.contains("AGENTCTL_CONFIG"), "{hint}");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error_with_its_line() {
        let failure = error_of("[defaults]\n\nmax_turns = \"ten\"\n");
        assert!(failure.message.contains("line 3"), "{failure}");
    }

    #[test]
    fn a_project_cannot_raise_rights_or_name_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".agentctl.toml");
        for key in [
            "cli_path",
            "allow_tools",
            "args",
            "env",
            "options",
            "mcp_config",
            "add_dirs",
            "system_file",
        ] {
            std::fs::write(&path, format!("{key} = []\n")).unwrap();
            assert!(read_project(&path).unwrap_err().message.contains(key));
        }
        std::fs::write(&path, "model = \"small\"\n").unwrap();
        assert_eq!(read_project(&path).unwrap().model.as_deref(), Some("small"));
    }

    #[test]
    fn the_search_for_a_project_file_ends_at_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("repository/sub");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join("repository/.git")).unwrap();
        std::fs::write(folder.path().join(".agentctl.toml"), "").unwrap();
        let found = || project_file(&inner, &Environment::default()).file;
        assert_eq!(found(), None);
        std::fs::write(folder.path().join("repository/.agentctl.toml"), "").unwrap();
        assert_eq!(found(), Some(folder.path().join("repository/.agentctl.toml")));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_anybody_could_write_is_passed_over_with_a_warning() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let [above, open] = [folder.path(), &inner].map(|directory| directory.join(".agentctl.toml"));
        std::fs::write(&above, "").unwrap();
        std::fs::write(&open, "").unwrap();
        let environment = Environment::default();
        assert_eq!(project_file(&inner, &environment).file.as_ref(), Some(&open));
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o666)).unwrap();
        let search = project_file(&inner, &environment);
        assert_eq!(
            search.file,
            Some(above),
            "the next one above counts as if it were alone"
        );
        assert_eq!(
            search.warnings,
            [format!("{} is not read: every user can write to it", open.display())]
        );
    }
}
