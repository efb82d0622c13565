//! Numbers as JSON Schema sees them: 1 and 1.0 are the same, and 1.0 is whole.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// How far a quotient of two fractions may be from a whole number: they are seldom what they seem in binary.
const TOLERANCE: f64 = 1e-9;

/// The number that a keyword's value is; zero for what is none.
pub(super) fn of(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

pub(super) fn is_whole(number: &Number) -> bool {
    whole(number).is_some() || approximate(number).fract() == 0.0
}

/// Exactly, where both are written as whole numbers.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        // JSON has no number that cannot be compared.
        _ => approximate(one)
            .partial_cmp(&approximate(other))
            .unwrap_or(Ordering::Equal),
    }
}

pub(super) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    if let (Some(number), Some(divisor)) = (whole(number), whole(divisor)) {
        return divisor != 0 && number % divisor == 0;
    }
    let quotient = approximate(number) / approximate(divisor);
    quotient.is_finite() && (quotient - quotient.round()).abs() <= TOLERANCE * quotient.abs().max(1.0)
}

/// Whether two values are the same for `enum`, `const` and `uniqueItems`.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other).is_eq(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| equal(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

fn approximate(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}
