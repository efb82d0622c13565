//! `agentctl backends`: which there are, which are installed, and what each can do.

use super::columns::{padded, width};
use super::{print, print_json, print_painted, warn};
use crate::backend::{Backend, Feature, Support, SupportLevel, tested_versions};
use crate::catalog::Catalog;
use crate::cli::BackendsArgs;
use crate::config::{Config, Environment, Selected};
use crate::doctor::{self, Look};
use crate::error::Failure;
use crate::exit::Exit;
use crate::locate;
use owo_colors::OwoColorize;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One backend in the output of `agentctl backends --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendView {
    pub name: String,
    pub display_name: String,
    pub about: String,
    /// Whether this is the one that runs when none is named.
    pub default: bool,
    pub installed: bool,
    pub path: Option<String>,
    /// As its package tells it; null where only starting the program would.
    pub version: Option<String>,
    /// The model that it uses when none is named, if that can be told.
    pub default_model: Option<String>,
    /// What to type to install it.
    pub install: String,
    /// What each option of agentctl comes to here.
    pub features: Vec<FeatureView>,
    /// What only it has, for `--option NAME=VALUE`.
    pub options: Vec<OptionView>,
}

/// One option of a backend's own.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionView {
    pub name: String,
    pub about: String,
}

/// One cell of the matrix.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureView {
    pub feature: Feature,
    #[serde(flatten)]
    pub support: Support,
}

pub fn run(args: &BackendsArgs) -> Result<Exit, Failure> {
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let config = Config::load(Environment::of_process(), &cwd)?;
    warn(&config.warnings);
    let catalog = Catalog::of(&config)?;
    let (_, default) = config.layers(None, None)?;
    let chosen: Vec<&dyn Backend> = match &args.name {
        Some(name) => vec![catalog.find(name)?],
        None => catalog.all().collect(),
    };
    let views: Vec<BackendView> = chosen
        .iter()
        .map(|backend| view(*backend, &config, &default, &cwd))
        .collect();
    if args.json {
        return match (&args.name, views.as_slice()) {
            (Some(_), [only]) => print_json(only),
            _ => print_json(&views),
        };
    }
    match (&args.name, views.as_slice()) {
        (Some(_), [only]) => print_painted(details(only).as_bytes(), |line| match line.strip_prefix(&only.name) {
            Some(rest) => format!("{}{rest}", only.name.bold()),
            None => line.to_owned(),
        }),
        _ => print(format!("{}\n{}", table(&views), matrix(&views)).as_bytes()),
    }
}

fn view(backend: &dyn Backend, config: &Config, default: &str, cwd: &Path) -> BackendView {
    let environment = &config.environment;
    let is_default = backend.name() == default;
    let own_path = config.own_cli_path(backend.name(), Selected::when(is_default));
    let program = locate::program(backend, own_path.as_deref(), environment.search_path(), cwd).ok();
    let version = program.as_deref().and_then(|program| version(backend, program));
    let look = Look::at(
        backend,
        program.clone().unwrap_or_default(),
        PathBuf::new(),
        environment,
    );
    let own_model = config.own_model(backend.name(), Selected::when(is_default));
    BackendView {
        name: backend.name().to_owned(),
        display_name: backend.display_name().to_owned(),
        about: backend.about().to_owned(),
        default: is_default,
        installed: program.is_some(),
        path: program.map(|program| program.display().to_string()),
        version,
        default_model: own_model.or_else(|| (look.checkup.default_model)(&look.seen())),
        install: backend.install_hint().to_owned(),
        features: backend
            .capabilities()
            .rows()
            .iter()
            .map(|(feature, support)| FeatureView {
                feature: *feature,
                support: *support,
            })
            .collect(),
        options: backend
            .options()
            .iter()
            .map(|(name, about)| OptionView {
                name: (*name).to_owned(),
                about: (*about).to_owned(),
            })
            .collect(),
    }
}

/// Without starting anything.
fn version(backend: &dyn Backend, program: &Path) -> Option<String> {
    match backend.name() {
        "mock" => Some(env!("CARGO_PKG_VERSION").to_owned()),
        name => doctor::installed_version(program, tested_versions(name)?.package),
    }
}

fn table(views: &[BackendView]) -> String {
    let cells = |view: &BackendView| {
        let or_dash = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        [
            format!("{}{}", view.name, if view.default { "*" } else { "" }),
            if view.installed { "yes" } else { "no" }.to_owned(),
            or_dash(&view.version),
            or_dash(&view.default_model),
            view.about.clone(),
        ]
    };
    let header = ["NAME", "INSTALLED", "VERSION", "MODEL", "ABOUT"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(views.iter().map(cells)).collect();
    aligned(&rows)
}

fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (cells, cell) in widths.iter_mut().zip(row) {
            *cells = width(cell).max(*cells);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| padded(cell, width));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

/// Features down, backends across.
fn matrix(views: &[BackendView]) -> String {
    let mut text = format!("{:<15}", "");
    for view in views {
        let _ = write!(text, " {:<9}", view.name);
    }
    text = text.trim_end().to_owned() + "\n";
    for (position, feature) in Feature::ALL.iter().enumerate() {
        let mut line = format!("{:<15}", feature.name());
        for view in views {
            let level = view.features.get(position).map(|cell| cell.support.level);
            let _ = write!(line, " {:<9}", word(level.unwrap_or(SupportLevel::Unsupported)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("\nnative: the CLI does it; emulated: agentctl does it around the CLI; -: not there.\n");
    text.push_str("`agentctl backends NAME` tells how, `agentctl doctor` whether it is usable. * is the default.\n");
    text
}

fn word(level: SupportLevel) -> &'static str {
    match level {
        SupportLevel::Native => "native",
        SupportLevel::Emulated => "emulated",
        SupportLevel::Unsupported => "-",
    }
}

fn details(view: &BackendView) -> String {
    let dash = || "-".to_owned();
    let mut text = format!("{}  {}\n", view.name, view.about);
    let rows = [
        (
            "path",
            view.path
                .clone()
                .unwrap_or_else(|| format!("not installed: {}", view.install)),
        ),
        ("version", view.version.clone().unwrap_or_else(dash)),
        ("model", view.default_model.clone().unwrap_or_else(dash)),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "  {name:<15} {value}");
    }
    text.push('\n');
    for cell in &view.features {
        let _ = writeln!(
            text,
            "  {:<15} {:<9} {}",
            cell.feature.name(),
            word(cell.support.level),
            cell.support.note
        );
    }
    if !view.options.is_empty() {
        text.push_str("\nwith --option NAME=VALUE:\n");
    }
    for option in &view.options {
        let _ = writeln!(text, "  {:<25} {}", option.name, option.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_is_written_in_them() {
        let rows = [["大模型", "end"], ["model", "end"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "大模型  end\nmodel   end\n");
    }
}
