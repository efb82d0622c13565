//! The options that only Claude Code has (`--option NAME=VALUE`).

use super::protocol::BackgroundTasks;
use crate::backend::Launch;
use crate::backend::options::check;
use crate::error::Failure;
use crate::request::Request;

/// Every option by name, with what it does.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "background-tasks",
        "`on`: the agent may leave commands running; the run ends when they have",
    ),
    (
        "fallback-model",
        "the model to turn to while the chosen one is overloaded",
    ),
    ("max-budget-usd", "stop when this much was spent"),
];

/// What was asked for.
#[derive(Debug, PartialEq)]
pub struct Options<'a> {
    pub background: BackgroundTasks,
    fallback_model: Option<&'a str>,
    max_budget_usd: Option<&'a str>,
}

impl<'a> Options<'a> {
    pub fn of(request: &'a Request) -> Result<Self, Failure> {
        check("Claude", &request.options, OPTIONS)?;
        let option = |name: &str| request.options.get(name).map(String::as_str);
        Ok(Self {
            background: match option("background-tasks") {
                None | Some("off") => BackgroundTasks::Off,
                Some("on") => BackgroundTasks::Awaited,
                Some(other) => {
                    return Err(Failure::usage(format!(
                        "background-tasks is `on` or `off`, not `{other}`"
                    )));
                }
            },
            fallback_model: option("fallback-model").map(super::plan::model_name).transpose()?,
            max_budget_usd: option("max-budget-usd").map(amount).transpose()?,
        })
    }

    pub fn apply(&self, launch: &mut Launch) {
        if let Some(model) = self.fallback_model {
            launch.args(["--fallback-model", model]);
        }
        if let Some(amount) = self.max_budget_usd {
            launch.args(["--max-budget-usd", amount]);
        }
        if self.background == BackgroundTasks::Off {
            launch.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        }
    }
}

/// An amount of money, which the CLI would ignore if it were not one.
fn amount(text: &str) -> Result<&str, Failure> {
    match text.parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount.is_finite() => Ok(text),
        _ => Err(Failure::usage(format!(
            "max-budget-usd is an amount above 0, not `{text}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str, value: &str) -> Request {
        let mut request = Request::new("hello", "/project");
        request.options.insert(name.into(), value.into());
        request
    }

    #[test]
    fn an_unknown_option_is_refused() {
        assert!(Options::of(&request("fallback-modle", "x")).is_err());
    }

    #[test]
    fn values_that_the_cli_would_misread_are_refused() {
        for (name, value) in [
            ("max-budget-usd", "much"),
            ("max-budget-usd", "-1"),
            ("fallback-model", "--help"),
            ("background-tasks", "yes"),
        ] {
            assert!(Options::of(&request(name, value)).is_err(), "{name}={value}");
        }
    }
}
