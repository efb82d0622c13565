//! The keywords of JSON Schema that are understood, and what their values must look like.

use serde_json::Value;

/// What the value of a keyword must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Schema,
    Schemas,
    SchemaOrSchemas,
    SchemaMap,
    /// The keys are regular expressions.
    PatternMap,
    /// Names that need other names, or a schema for the whole.
    NeedsMap,
    Names,
    NamesMap,
    Types,
    Values,
    Count,
    Number,
    PositiveNumber,
    /// Draft 4 has a boolean beside `maximum`, later ones a number.
    NumberOrBool,
    Bool,
    Pattern,
    Reference,
}

/// Keywords that are not here are annotations, as `title` and `format` are, and hold for everything.
const KEYWORDS: &[(&str, Shape)] = &[
    ("$defs", Shape::SchemaMap),
    ("$ref", Shape::Reference),
    ("additionalItems", Shape::Schema),
    ("additionalProperties", Shape::Schema),
    ("allOf", Shape::Schemas),
    ("anyOf", Shape::Schemas),
    ("contains", Shape::Schema),
    ("definitions", Shape::SchemaMap),
    ("dependencies", Shape::NeedsMap),
    ("dependentRequired", Shape::NamesMap),
    ("dependentSchemas", Shape::SchemaMap),
    ("else", Shape::Schema),
    ("enum", Shape::Values),
    ("exclusiveMaximum", Shape::NumberOrBool),
    ("exclusiveMinimum", Shape::NumberOrBool),
    ("if", Shape::Schema),
    ("items", Shape::SchemaOrSchemas),
    ("maxContains", Shape::Count),
    ("maxItems", Shape::Count),
    ("maxLength", Shape::Count),
    ("maxProperties", Shape::Count),
    ("maximum", Shape::Number),
    ("minContains", Shape::Count),
    ("minItems", Shape::Count),
    ("minLength", Shape::Count),
    ("minProperties", Shape::Count),
    ("minimum", Shape::Number),
    ("multipleOf", Shape::PositiveNumber),
    ("not", Shape::Schema),
    ("oneOf", Shape::Schemas),
    ("pattern", Shape::Pattern),
    ("patternProperties", Shape::PatternMap),
    ("prefixItems", Shape::Schemas),
    ("properties", Shape::SchemaMap),
    ("propertyNames", Shape::Schema),
    ("required", Shape::Names),
    ("then", Shape::Schema),
    ("type", Shape::Types),
    ("unevaluatedItems", Shape::Schema),
    ("unevaluatedProperties", Shape::Schema),
    ("uniqueItems", Shape::Bool),
];

/// Keywords that decide something which cannot be decided here. A schema that has one is refused, not half obeyed.
pub(super) const REFUSED: &[&str] = &["$dynamicRef", "$recursiveRef"];

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// What the value of this keyword must be; nothing for an annotation.
pub(super) fn shape(keyword: &str) -> Option<Shape> {
    let at = KEYWORDS.binary_search_by_key(&keyword, |(name, _)| *name).ok()?;
    Some(KEYWORDS[at].1)
}

impl Shape {
    /// Whether a value looks like this from the outside; the schemas in it are looked at on their own.
    pub(super) fn fits(self, value: &Value) -> bool {
        let is_schema = |value: &Value| value.is_object() || value.is_boolean();
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let are = |value: &Value, of: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(of));
        match self {
            Self::Schema => is_schema(value),
            Self::Schemas => value.as_array().is_some_and(|list| !list.is_empty()),
            Self::SchemaOrSchemas => is_schema(value) || value.is_array(),
            Self::SchemaMap | Self::PatternMap | Self::NeedsMap => value.is_object(),
            Self::Names => are(value, Value::is_string),
            Self::NamesMap => value
                .as_object()
                .is_some_and(|map| map.values().all(|names| are(names, Value::is_string))),
            Self::Types => is_type(value) || value.as_array().is_some_and(|list| list.iter().all(is_type)),
            Self::Values => value.is_array(),
            Self::Count => value.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0),
            Self::Number => value.is_number(),
            Self::PositiveNumber => value.as_f64().is_some_and(|number| number > 0.0),
            Self::NumberOrBool => value.is_number() || value.is_boolean(),
            Self::Bool => value.is_boolean(),
            Self::Pattern | Self::Reference => value.is_string(),
        }
    }

    /// In words, for a message.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Schema => "a schema (an object, true or false)",
            Self::Schemas => "a list of schemas, not empty",
            Self::SchemaOrSchemas => "a schema, or a list of them",
            Self::SchemaMap => "an object whose values are schemas",
            Self::PatternMap => "an object whose keys are regular expressions and whose values are schemas",
            Self::NeedsMap => "an object whose values are schemas or lists of names",
            Self::Names => "a list of strings",
            Self::NamesMap => "an object whose values are lists of strings",
            Self::Types => "one of array, boolean, integer, null, number, object and string, or a list of them",
            Self::Values => "a list of values",
            Self::Count => "a whole number, not below 0",
            Self::Number => "a number",
            Self::PositiveNumber => "a number above 0",
            Self::NumberOrBool => "a number, or true or false",
            Self::Bool => "true or false",
            Self::Pattern => "a regular expression",
            Self::Reference => "a reference to a schema",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found() {
        for (name, wanted) in KEYWORDS {
            assert_eq!(shape(name), Some(*wanted), "{name} is not in its place");
        }
        assert_eq!(shape("title"), None);
    }
}
