//! `--schema`: the final answer as JSON that fits a JSON Schema. agentctl validates whatever the backend promised.
//!
//! The validator is our own: it knows drafts 4 to 2020-12 but for dynamic references, and is a tenth of the size of a
//! crate that knows everything. A test holds it against such a crate.

mod apply;
mod compile;
mod keyword;
mod limits;
mod number;
#[cfg(test)]
mod oracle_tests;
mod verdict;

use compile::Compiled;
use serde_json::Value;

/// How many mismatches a message tells.
const MISMATCHES_TOLD: usize = 5;

/// Whether this is a schema at all.
pub fn check(schema: &Value) -> Result<(), String> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err("a JSON Schema is an object".to_owned());
    }
    Compiled::new(schema)
        .map(drop)
        .map_err(|why| format!("not a JSON Schema that can be used: {why}"))
}

/// The value that the answer holds, if it fits; else what does not.
pub fn validate(schema: &Value, answer: &str, native: Option<Value>) -> Result<Value, String> {
    let value = match native {
        Some(value) => value,
        None => extract(answer).ok_or("the answer is not JSON")?,
    };
    let mismatches: Vec<String> = apply::mismatches(&Compiled::new(schema)?, &value)
        .into_iter()
        .take(MISMATCHES_TOLD)
        .map(|mismatch| match mismatch.at.as_str() {
            "" => mismatch.why,
            at => format!("at {at}: {}", mismatch.why),
        })
        .collect();
    if mismatches.is_empty() {
        Ok(value)
    } else {
        Err(mismatches.join("; "))
    }
}

/// The JSON of an answer: the whole of it, a fenced block, or the outermost braces or brackets amid other words.
fn extract(answer: &str) -> Option<Value> {
    let answer = answer.trim();
    if let Ok(value) = serde_json::from_str(answer) {
        return Some(value);
    }
    let fenced = answer
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.trim_start_matches(char::is_alphanumeric).trim());
    let spans = [('{', '}'), ('[', ']')].into_iter().filter_map(|(open, close)| {
        let (start, end) = (answer.find(open)?, answer.rfind(close)?);
        answer.get(start..=end)
    });
    fenced.chain(spans).find_map(|text| serde_json::from_str(text).ok())
}

/// What a backend without a flag for it is told, after the prompt.
pub fn instruction(schema: &Value) -> String {
    format!(
        "\n\nYour final answer must be one JSON value that is valid under this JSON Schema, and nothing else: no prose, no \
         Markdown fence.\n{schema}"
    )
}

/// What the agent is told when its answer did not fit.
pub fn repair(schema: &Value, mismatch: &str) -> String {
    format!(
        "Your last answer does not fit the required JSON Schema: {mismatch}.{}",
        instruction(schema)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_bare_fenced_and_amid_words() {
        for answer in [
            "{\"a\":1}",
            "```json\n{\"a\":1}\n```",
            "Here: {\"a\":1}. Done",
            "\n{\"a\":1}\n",
        ] {
            assert_eq!(extract(answer), Some(json!({"a": 1})), "{answer}");
        }
        assert_eq!(extract("no json here"), None);
    }

    #[test]
    fn a_mismatch_says_where() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]});
        let why = validate(&schema, "{\"a\":\"x\"}", None).unwrap_err();
        assert!(why.contains("/a") && why.contains("\"b\""), "{why}");
    }

    #[test]
    fn what_is_no_schema_is_told() {
        assert!(check(&json!({"type": 7})).is_err());
        assert!(check(&json!([])).is_err());
        assert!(check(&json!({"type": "object"})).is_ok());
    }
}
