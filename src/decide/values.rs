//! Values that files and variables give as text: what they stand for, and whom it is told if they stand for nothing.

use super::tools;
use crate::catalog::Catalog;
use crate::cli::{ColorArg, OutputFormat};
use crate::config::{Layer, Layers, Origin};
use crate::duration;
use crate::error::Failure;
use crate::request::{Effort, Permission};
use crate::suggest;
use clap::ValueEnum as _;
use std::time::Duration;

/// Who set a value, for complaining about it: the flag, or the key with its origin.
pub fn asked_by(layers: &Layers, key: &str, flag: &str) -> String {
    place(layers.origin(key), key).unwrap_or_else(|| flag.to_owned())
}

/// The failure with the place where its value stands, unless that was typed.
pub fn located(failure: Failure, origin: Option<&Origin>, key: &str) -> Failure {
    match place(origin, key) {
        Some(place) => Failure {
            message: format!("{place}: {}", failure.message),
            ..failure
        },
        None => failure,
    }
}

/// The failure of a value that has a flag too.
pub fn asked(failure: Failure, layers: &Layers, key: &str, flag: &str) -> Failure {
    Failure {
        message: format!("{}: {}", asked_by(layers, key, flag), failure.message),
        ..failure
    }
}

fn place(origin: Option<&Origin>, key: &str) -> Option<String> {
    match origin {
        None | Some(Origin::Flag) => None,
        Some(origin) => Some(format!("`{key}` ({origin})")),
    }
}

pub fn effort(name: &str) -> Result<Effort, Failure> {
    let names: Vec<&str> = Effort::ALL.iter().map(|effort| effort.name()).collect();
    let effort = Effort::ALL.iter().copied().find(|effort| effort.name() == name);
    effort.ok_or_else(|| unknown("effort", name, &names))
}

/// The permission level of this name.
pub fn permission(name: &str) -> Result<Permission, Failure> {
    if name == "ask" {
        return Err(Failure::usage(
            "the permission level `ask` is reserved: approvals over the CLIs' own protocols are not built yet",
        )
        .hint("use read-only, edit or full"));
    }
    let names: Vec<&str> = Permission::ALL.iter().map(|level| level.name()).collect();
    let level = Permission::ALL.iter().copied().find(|level| level.name() == name);
    level.ok_or_else(|| unknown("permission level", name, &names))
}

pub fn output_format(name: &str) -> Result<OutputFormat, Failure> {
    OutputFormat::from_str(name, false).map_err(|_| unknown("output format", name, &["text", "json", "stream-json"]))
}

pub fn color(name: &str) -> Result<ColorArg, Failure> {
    ColorArg::from_str(name, false).map_err(|_| unknown("colour mode", name, &["auto", "always", "never"]))
}

/// A duration of which zero means none. `key` is what it is called in a file; the flag has the same name.
pub fn bounded(
    layers: &Layers,
    key: &str,
    value: Option<&String>,
    default: Option<Duration>,
) -> Result<Option<Duration>, Failure> {
    let Some(text) = value else { return Ok(default) };
    duration::parse(text).map_err(|why| {
        let flag = format!("--{}", key.replace('_', "-"));
        asked(Failure::usage(why), layers, key, &flag)
    })
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
    let failure = Failure::usage(format!("there is no {what} `{name}`"));
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    let there = format!("{} and {last}", others.join(", "));
    match suggest::closest(name, known) {
        Some(similar) => failure.hint(format!("did you mean `{similar}`? There are {there}")),
        None => failure.hint(format!("there are {there}")),
    }
}

/// What is wrong with the values of one layer, whether a run would come to use them or not.
pub fn mistakes(layer: &Layer, catalog: &Catalog) -> Vec<Failure> {
    let settings = &layer.settings;
    let mut mistakes = Vec::new();
    let mut check = |key: &str, checked: Result<(), Failure>| {
        mistakes.extend(
            checked
                .err()
                .map(|failure| located(failure, Some(layer.origin_of(key)), key)),
        );
    };
    let text = |text: &Option<String>, of: &dyn Fn(&str) -> Result<(), Failure>| text.as_deref().map_or(Ok(()), of);
    check("backend", text(&settings.backend, &|name| catalog.find(name).map(drop)));
    check("effort", text(&settings.effort, &|name| effort(name).map(drop)));
    check(
        "permission",
        text(&settings.permission, &|name| permission(name).map(drop)),
    );
    check(
        "output_format",
        text(&settings.output_format, &|name| output_format(name).map(drop)),
    );
    check("color", text(&settings.color, &|name| color(name).map(drop)));
    for (key, value) in [
        ("timeout", &settings.timeout),
        ("idle_timeout", &settings.idle_timeout),
        ("retry_for", &settings.retry_for),
        ("wait", &settings.wait),
    ] {
        check(
            key,
            text(value, &|value| duration::parse(value).map(drop).map_err(Failure::usage)),
        );
    }
    for (key, value) in [
        ("allow_tools", &settings.allow_tools),
        ("deny_tools", &settings.deny_tools),
    ] {
        check(key, tools::rules(value.iter().flatten().cloned()).map(drop));
    }
    mistakes
}
