//! The keywords that hold no schemas: types, values, sizes.

use super::number;
use super::verdict::{Verdict, quoted};
use serde_json::{Map, Number, Value};

type Keywords = Map<String, Value>;

/// The keywords that ask nothing about what a value is made of.
pub(super) fn of_any_kind(keywords: &Keywords, value: &Value, verdict: &mut Verdict<'_>) {
    if let Some(types) = keywords.get("type") {
        let names = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
        if !names
            .iter()
            .filter_map(Value::as_str)
            .any(|name| is_of_type(value, name))
        {
            verdict.tell(format!("{} is not of the type {types}", quoted(value)));
        }
    }
    if let Some(values) = keywords.get("enum")
        && !values
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| number::equal(one, value))
    {
        verdict.tell(format!("{} is none of {}", quoted(value), quoted(values)));
    }
    if let Some(constant) = keywords.get("const")
        && !number::equal(constant, value)
    {
        verdict.tell(format!("{} is not {}", quoted(value), quoted(constant)));
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || name == "integer" && number::is_whole(number),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

pub(super) fn of_number(keywords: &Keywords, value: &Number, verdict: &mut Verdict<'_>) {
    let limit = |keyword: &str| keywords.get(keyword).and_then(Value::as_number);
    let excluded = |keyword: &str| keywords.get(keyword) == Some(&Value::Bool(true));
    let mut require = |keyword: &str, holds: &dyn Fn(&Number) -> bool| {
        if let Some(limit) = limit(keyword).filter(|limit| !holds(limit)) {
            verdict.tell(format!("{value} does not keep to {keyword} {limit}"));
        }
    };
    let order = |limit: &Number| number::compare(value, limit);
    require("minimum", &|least| match excluded("exclusiveMinimum") {
        true => order(least).is_gt(),
        false => order(least).is_ge(),
    });
    require("maximum", &|most| match excluded("exclusiveMaximum") {
        true => order(most).is_lt(),
        false => order(most).is_le(),
    });
    require("exclusiveMinimum", &|below| order(below).is_gt());
    require("exclusiveMaximum", &|above| order(above).is_lt());
    require("multipleOf", &|divisor| number::is_multiple(value, divisor));
}

/// `minLength` and its like.
pub(super) fn bounds(keywords: &Keywords, what: &str, count: usize, unit: &str, verdict: &mut Verdict<'_>) {
    let limit = |side: &str| keywords.get(&format!("{side}{what}")).map(number::of);
    if let Some(least) = limit("min").filter(|least| (count as f64) < *least) {
        verdict.tell(format!("{count} {unit}, and {least} are the least"));
    }
    if let Some(most) = limit("max").filter(|most| count as f64 > *most) {
        verdict.tell(format!("{count} {unit}, and {most} are the most"));
    }
}

/// Tells which of these names are not there.
pub(super) fn missing(names: &[Value], members: &Keywords, verdict: &mut Verdict<'_>) {
    for name in names.iter().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            verdict.tell(format!("the property {name:?} is missing"));
        }
    }
}
