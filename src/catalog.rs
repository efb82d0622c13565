//! The backends of this user: the built-in ones and those that the configuration declares.

use crate::backend::{self, Backend, Declaration, Declared};
use crate::config::{BackendSection, Config};
use crate::error::Failure;
use crate::suggest;
use std::path::{Path, PathBuf};

/// Every backend that can be named.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    declared: Vec<Declared>,
    config_path: PathBuf,
}

impl Catalog {
    /// The backends under this configuration, or what is wrong with a declaration.
    pub fn of(config: &Config) -> Result<Self, Failure> {
        let declared = config
            .file
            .backends
            .iter()
            .filter_map(|(name, section)| declared(name, section, &config.path).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            declared,
            config_path: config.path.clone(),
        })
    }

    /// All of them, in the order in which they are shown.
    pub fn all(&self) -> impl Iterator<Item = &dyn Backend> {
        let built_in = backend::BACKENDS.iter().map(|backend| *backend as &dyn Backend);
        built_in.chain(self.declared.iter().map(|declared| declared as &dyn Backend))
    }

    pub fn names(&self) -> Vec<String> {
        self.all().map(|backend| backend.name().to_owned()).collect()
    }

    /// The backend of this name; an unknown one is a usage error that lists the valid ones.
    pub fn find(&self, name: &str) -> Result<&dyn Backend, Failure> {
        if let Some(backend) = self.all().find(|backend| backend.name() == name) {
            return Ok(backend);
        }
        if name.is_empty() {
            return Err(Failure::usage("the name of the backend is empty").hint("is a variable not set?"));
        }
        let names = self.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let failure = Failure::usage(format!(
            "there is no backend `{name}`: the backends are {}",
            names.join(", ")
        ));
        Err(match suggest::closest(name, &names) {
            Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
            None => failure.hint(format!(
                "a backend of your own is declared by [backends.{name}] in {}",
                self.config_path.display()
            )),
        })
    }
}

/// The backend that a section declares; none, if it only has settings for a built-in one.
fn declared(name: &str, section: &BackendSection, path: &Path) -> Result<Option<Declared>, Failure> {
    let located = |failure: Failure| Failure {
        message: format!("{}: {}", path.display(), failure.message),
        ..failure
    };
    if backend::find(name).is_some() {
        return match section.declaring_keys().first() {
            None => Ok(None),
            Some(key) => Err(located(
                Failure::usage(format!(
                    "[backends.{name}]: `{key}` is for backends of your own, and {name} is built in"
                ))
                .hint(match *key {
                    "program" => "`path` names its binary".to_owned(),
                    _ => format!("leave it out, or declare a backend of another name, e.g. [backends.my-{name}]"),
                }),
            )),
        };
    }
    let Some(program) = section.program.clone() else {
        let failure = Failure::usage(format!(
            "[backends.{name}]: there is no such backend, and no `program` declares one"
        ));
        let built_in: Vec<&str> = backend::BACKENDS.iter().map(|backend| backend.name()).collect();
        return Err(located(match suggest::closest(name, &built_in) {
            Some(similar) => failure.hint(format!("did you mean [backends.{similar}]?")),
            None => failure.hint("add `program = \"…\"` and `dialect = \"…\"`"),
        }));
    };
    let declaration = Declaration {
        name: name.to_owned(),
        program,
        dialect: section.dialect.clone().unwrap_or_default(),
        display_name: section.display_name.clone(),
        about: section.about.clone(),
        install: section.install.clone(),
        login: section.login.clone(),
        prompt: section.prompt.clone(),
        literal_prefix: section.literal_prefix.clone(),
        error_marker: section.error_marker.clone(),
        args: section.args.clone(),
        session_args_new: section.session_args_new.clone(),
        session_args_resume: section.session_args_resume.clone(),
        ephemeral_args: section.ephemeral_args.clone(),
        model_args: section.model_args.clone(),
        system_args: section.system_args.clone(),
        add_dir_args: section.add_dir_args.clone(),
        max_turns_args: section.max_turns_args.clone(),
        read_only_args: section.read_only_args.clone(),
        edit_args: section.edit_args.clone(),
        full_args: section.full_args.clone(),
    };
    Declared::new(declaration).map(Some).map_err(located)
}
