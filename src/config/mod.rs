//! Configuration: files and environment, read once, each value with its origin.
//!
//! Weakest first: built-in defaults, `[defaults]`, `[backends.NAME]`, the project's `.agentctl.toml` (harmless keys
//! only), the `[profiles.NAME]` of the environment, environment, the stored conversation, the profile that was typed,
//! flags.

mod environment;
mod file;
mod settings;

pub use environment::{Environment, VARIABLES, path_variable, variable_name};
pub use file::{BackendSection, ConfigFile, ProjectSearch, project_file};
pub use settings::{KEYS, Layer, Layers, Origin, PROJECT_KEYS, Settings};

use crate::error::Failure;
use crate::suggest;
use std::path::{Path, PathBuf};

/// Everything that was configured outside of the command line.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub path: PathBuf,
    pub file: ConfigFile,
    /// The project's file and what it holds.
    pub project: Option<(PathBuf, Settings)>,
    /// What the user should know about the search for it.
    pub warnings: Vec<String>,
    pub environment: Environment,
}

impl Config {
    /// Reads the user's file and the project's file of `cwd`. Files that are not there are no error.
    pub fn load(environment: Environment, cwd: &Path) -> Result<Self, Failure> {
        let path = environment.config_path();
        let file = ConfigFile::read(&path)?;
        let mut search = project_file(cwd, &environment);
        if environment.get("AGENTCTL_CONFIG").is_some() && !path.exists() {
            // A slip there would take back the limits that the file sets.
            let message = format!("AGENTCTL_CONFIG names {}, which is not there", path.display());
            search.warnings.push(message);
        }
        let project = match search.file {
            Some(path) => {
                let settings = file::read_project(&path)?;
                Some((path, settings))
            }
            None => None,
        };
        Ok(Self {
            path,
            file,
            project,
            warnings: search.warnings,
            environment,
        })
    }

    /// The profile that was asked for by flag or environment must exist.
    pub fn profile(&self, name: &str) -> Result<&Settings, Failure> {
        if name.is_empty() {
            return Err(Failure::usage("the name of the profile is empty").hint("is a variable not set?"));
        }
        self.file.profiles.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.file.profiles.keys().map(String::as_str).collect();
            let message = format!("there is no profile `{name}` in {}", self.path.display());
            Failure::usage(message).hint(match (suggest::closest(name, &known), known.as_slice()) {
                (Some(similar), _) => format!("did you mean `{similar}`?"),
                (None, []) => format!("add a section [profiles.{name}] there"),
                (None, known) => format!("the profiles are: {}", known.join(", ")),
            })
        })
    }

    /// The layers below the flags, and the backend that they are for: the one of the flag, else of the strongest layer.
    /// A profile that was typed is the last of them: it is as good as flags.
    pub fn layers(&self, profile: Option<&str>, backend_flag: Option<&str>) -> Result<(Layers, String), Failure> {
        let mut layers = Layers::default();
        layers.push(Layer::new(self.file.defaults.clone(), Origin::File(self.path.clone())));
        if let Some((path, settings)) = &self.project {
            layers.push(Layer::new(settings.clone(), Origin::Project(path.clone())));
        }
        let profile_layer = |name: String| -> Result<Layer, Failure> {
            let settings = self.profile(&name)?.clone();
            Ok(Layer::new(settings, Origin::Profile(self.path.clone(), name)))
        };
        if profile.is_none()
            && let Some(name) = self.environment.get("AGENTCTL_PROFILE")
        {
            layers.push(profile_layer(name)?);
        }
        let environment_at = layers.0.len();
        layers.push(self.environment.layer()?);
        if let Some(name) = profile {
            layers.push(profile_layer(name.to_owned())?);
        }
        let backend = backend_flag
            .map(str::to_owned)
            .or_else(|| layers.backend().cloned())
            .unwrap_or_else(|| DEFAULT_BACKEND.to_owned());
        if let Some(path) = self.environment.backend_path(&backend) {
            layers.0.insert(environment_at, path);
        }
        if let Some(section) = self.file.backends.get(&backend) {
            layers.0.insert(1, self.section(&backend, section));
        }
        Ok((layers, backend))
    }

    fn section(&self, backend: &str, section: &BackendSection) -> Layer {
        let origin = Origin::Backend(self.path.clone(), backend.to_owned());
        Layer::new(section.settings(), origin)
    }

    /// What the sections of the file say that only some runs use: those with a certain backend or profile.
    pub fn sections(&self) -> impl Iterator<Item = Layer> {
        let backends = self.file.backends.iter();
        let backends = backends.map(|(name, section)| self.section(name, section));
        let profiles = self.file.profiles.iter().map(|(name, settings)| {
            let origin = Origin::Profile(self.path.clone(), name.clone());
            Layer::new(settings.clone(), origin)
        });
        backends.chain(profiles)
    }
}

impl Config {
    /// The binary that is configured for one backend. Variables and keys for "the selected backend" are about that
    /// one alone.
    pub fn own_cli_path(&self, name: &str, selected: Selected) -> Option<PathBuf> {
        let own = self
            .environment
            .backend_path(name)
            .and_then(|layer| layer.settings.cli_path);
        match selected {
            Selected::Yes => self.layers(None, Some(name)).ok()?.0.cli_path().cloned(),
            Selected::No => own.or_else(|| self.file.backends.get(name)?.path.clone()),
        }
    }

    /// The model that is configured for one backend.
    pub fn own_model(&self, name: &str, selected: Selected) -> Option<String> {
        match selected {
            Selected::Yes => self.layers(None, Some(name)).ok()?.0.model().cloned(),
            Selected::No => self.file.backends.get(name)?.model.clone(),
        }
    }
}

/// Whether a backend is the one that a run would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    Yes,
    No,
}

impl Selected {
    pub fn when(same: bool) -> Self {
        if same { Self::Yes } else { Self::No }
    }
}

pub const DEFAULT_BACKEND: &str = "claude";
