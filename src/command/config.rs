//! `agentctl config`: where configuration comes from, and what it resolves to.

use super::columns::{padded, width};
use super::{print, print_json, warn};
use crate::cli::{ConfigAction, ConfigArgs};
use crate::config::{Config, Environment, Layer, Layers, Origin, project_file};
use crate::decide;
use crate::error::Failure;
use crate::exit::Exit;
use crate::mask::{self, Mask};
use serde::Serialize;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

pub fn run(args: &ConfigArgs) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    match &args.action {
        None => show(environment, &cwd, None, Form::Text),
        Some(ConfigAction::Show { profile, json }) => show(
            environment,
            &cwd,
            profile.as_deref(),
            if *json { Form::Json } else { Form::Text },
        ),
        Some(ConfigAction::Path) => path(&environment, &cwd),
        Some(ConfigAction::Init) => init(&environment.config_path()),
    }
}

#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    config: String,
    project: Option<String>,
    profiles: Vec<String>,
    values: Vec<ValueView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValueView {
    key: &'static str,
    value: Value,
    origin: String,
}

fn show(environment: Environment, cwd: &Path, profile: Option<&str>, form: Form) -> Result<Exit, Failure> {
    let config = Config::load(environment, cwd)?;
    warn(&config.warnings);
    let catalog = crate::catalog::Catalog::of(&config)?;
    let (mut layers, backend) = config.layers(profile, None)?;
    let mistakes = layers.0.iter().flat_map(|layer| decide::mistakes(layer, &catalog));
    warn(&mistakes.map(|failure| failure.message).collect::<Vec<_>>());
    layers
        .0
        .insert(0, Layer::new(decide::default_settings(&backend), Origin::Default));
    let view = View {
        config: config.path.display().to_string(),
        project: config.project.as_ref().map(|(path, _)| path.display().to_string()),
        profiles: config.file.profiles.keys().cloned().collect(),
        values: values(&layers)?,
    };
    match form {
        Form::Json => print_json(&view),
        Form::Text => print(table(&view).as_bytes()),
    }
}

/// What a run would use. Levels of rights, denials and maps are not simply the strongest layer's.
fn values(layers: &Layers) -> Result<Vec<ValueView>, Failure> {
    let permission = decide::permission_of(layers)?.name();
    let mut values = Vec::new();
    for (key, value, origin) in layers.resolved() {
        let mut origin = origin.to_string();
        let value = match key {
            "permission" => {
                let source = layers
                    .0
                    .iter()
                    .rev()
                    .find(|layer| layer.settings.permission.as_deref() == Some(permission));
                origin = source.map_or(origin, |layer| layer.origin_of("permission").to_string());
                Value::from(permission)
            }
            "deny_tools" => Value::from(layers.all_denied_tools()),
            "env" => masked(layers.merged_map(|settings| settings.env.as_ref())),
            "options" => masked(layers.merged_map(|settings| settings.options.as_ref())),
            "args" => masked_arguments(layers.args().map_or(&[], Vec::as_slice)),
            _ => value,
        };
        values.push(ValueView { key, value, origin });
    }
    Ok(values)
}

/// Secrets are never shown.
fn masked(map: std::collections::BTreeMap<String, String>) -> Value {
    let shown = map.into_iter().map(|(name, value)| {
        let value = if mask::is_secret(OsStr::new(&name)) {
            "***".to_owned()
        } else {
            value
        };
        (name, Value::from(value))
    });
    Value::Object(shown.collect())
}

fn masked_arguments(arguments: &[String]) -> Value {
    let words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let mask = Mask::of_arguments(&words);
    arguments.iter().map(|word| mask.apply(word)).collect()
}

fn table(view: &View) -> String {
    let rows: Vec<(&str, String, &str)> = view
        .values
        .iter()
        .map(|value| (value.key, value.value.to_string(), value.origin.as_str()))
        .collect();
    let keys = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let values = rows.iter().map(|row| width(&row.1)).max().unwrap_or(0).min(40);
    rows.iter()
        .map(|(key, value, origin)| format!("{key:<keys$}  {}  # {origin}\n", padded(value, values)))
        .collect()
}

fn path(environment: &Environment, cwd: &Path) -> Result<Exit, Failure> {
    let own = environment.config_path();
    let mut text = format!(
        "{}{}\n",
        own.display(),
        if own.is_file() { "" } else { "  (not there)" }
    );
    let search = project_file(cwd, environment);
    warn(&search.warnings);
    if let Some(project) = search.file {
        text.push_str(&format!("{}\n", project.display()));
    }
    print(text.as_bytes())
}

/// Writes the commented file, unless there is one.
fn init(path: &Path) -> Result<Exit, Failure> {
    let unwritable = |error: std::io::Error| {
        Failure::usage(format!("cannot write {}: {error}", path.display()))
            .hint("name another place with AGENTCTL_CONFIG")
    };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(unwritable)?;
    }
    let mut file = match std::fs::File::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{} is there already", path.display()))
                .hint("`agentctl config show` prints what it comes to"));
        }
        Err(error) => return Err(unwritable(error)),
    };
    file.write_all(TEMPLATE.as_bytes()).map_err(unwritable)?;
    print(format!("{}\n", path.display()).as_bytes())
}

/// The file that `init` writes: every key, with a comment for what it means.
pub const TEMPLATE: &str = include_str!("config.template.toml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFile, KEYS};

    #[test]
    fn the_template_is_a_valid_file_that_changes_nothing() {
        let file = ConfigFile::parse(TEMPLATE, Path::new("config.toml")).unwrap();
        assert_eq!(file.defaults, crate::config::Settings::default());
        assert!(file.backends.is_empty() && file.profiles.is_empty());
    }

    /// The template with all its values.
    fn uncommented() -> Config {
        let text: String = TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.starts_with(' ') && !rest.is_empty() => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        Config {
            file: ConfigFile::parse(&text, Path::new("config.toml")).unwrap(),
            ..Config::default()
        }
    }

    #[test]
    fn every_line_of_the_template_that_is_a_value_is_a_valid_one() {
        let config = uncommented();
        let set = serde_json::to_value(&config.file.defaults).unwrap();
        for (key, _) in KEYS {
            assert!(set.get(key).is_some(), "{key} is not in the template");
        }
        let sections = serde_json::to_value(crate::config::BackendSection::default()).unwrap();
        for key in sections.as_object().unwrap().keys() {
            assert!(
                TEMPLATE.contains(&format!("\n#{key} = ")),
                "{key} is not in the template"
            );
        }
        let catalog = crate::catalog::Catalog::of(&config).unwrap();
        for name in ["qwen", "mine"] {
            assert!(catalog.find(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_options_of_the_template_are_taken_by_its_backend() {
        let config = uncommented();
        let (layers, backend) = config.layers(None, None).unwrap();
        let catalog = crate::catalog::Catalog::of(&config).unwrap();
        let site = crate::backend::Site {
            program: "/bin/agent".into(),
            scratch: "/tmp/scratch".into(),
            home: "/home/user".into(),
            env: std::collections::BTreeMap::new(),
            root: false,
        };
        let mut request = crate::request::Request::new("hello", "/tmp");
        request.options = layers.merged_map(|settings| settings.options.as_ref());
        assert!(!request.options.is_empty());
        catalog.find(&backend).unwrap().plan(&request, &site).unwrap();
    }
}
