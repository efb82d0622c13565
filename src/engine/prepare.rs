//! From a request to the exact command: environment, program, plan. Nothing is made or started yet.

use crate::backend::{Backend, Feature, Plan, Site, SupportLevel};
use crate::config::{Environment, variable_name};
use crate::decide::RunSettings;
use crate::error::Failure;
use crate::request::Request;
use crate::supervise::environment::{self, Inherit, Wishes};
use crate::{decide, locate, owner, schema};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A run that could start now.
pub struct Prepared {
    pub plan: Plan,
    /// What it was planned for. Its environment is that before the changes of the plan.
    pub site: Site,
}

/// Which of the CLI's forms is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Headless,
    Interactive,
}

/// The environment that the CLI inherits.
pub fn child_environment(settings: &RunSettings, ours: &Environment) -> Result<Environment, Failure> {
    let inherit = match settings.env_clear {
        true => Inherit::Only(settings.env_pass.iter().map(variable_name).collect()),
        false => Inherit::All,
    };
    let set = settings
        .env
        .iter()
        .map(|(name, value)| (variable_name(name), value.into()))
        .collect();
    environment::build(ours.all().clone(), &Wishes { inherit, set }).map(Environment::from)
}

/// Plans a run. `scratch` is where its private files will lie.
pub fn prepare(
    backend: &dyn Backend,
    request: &Request,
    settings: &RunSettings,
    ours: &Environment,
    scratch: PathBuf,
    mode: Mode,
) -> Result<Prepared, Failure> {
    decide::tools::check_level(request, backend)?;
    let env = child_environment(settings, ours)?;
    let program = locate::program(backend, settings.cli_path.as_deref(), env.search_path(), &request.cwd)?;
    let env = env.into_all();
    let site = Site {
        program,
        scratch,
        home: home(&env, ours),
        env,
        root: owner::is_root(),
    };
    let plan = match mode {
        Mode::Headless => backend.plan(&instructed(backend, request), &site)?,
        Mode::Interactive => backend.interactive(request, &site)?,
    };
    backend.inspect(request, &site)?;
    Ok(Prepared { plan, site })
}

/// The request with the schema's instruction, for a backend that has no flag for it.
fn instructed<'a>(backend: &dyn Backend, request: &'a Request) -> std::borrow::Cow<'a, Request> {
    match &request.schema {
        Some(wanted) if backend.capabilities().of(Feature::Schema).level == SupportLevel::Emulated => {
            let mut request = request.clone();
            request.prompt.push_str(&schema::instruction(wanted));
            std::borrow::Cow::Owned(request)
        }
        _ => std::borrow::Cow::Borrowed(request),
    }
}

fn home(env: &BTreeMap<OsString, OsString>, ours: &Environment) -> PathBuf {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let theirs = env
        .get(OsStr::new(name))
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    theirs.or_else(|| ours.home()).unwrap_or_else(|| PathBuf::from("/"))
}
