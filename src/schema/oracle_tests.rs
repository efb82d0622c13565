//! Our verdicts against those of a validator that knows all of JSON Schema, over schemas and values made at random from
//! few pieces, so that they often meet.

use super::apply;
use super::compile::Compiled;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b", "ab", "a1", "é", "10"]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(2),
        json!(-3),
        json!(0.5),
        json!(1e2),
        json!(u64::MAX),
    ])
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A keyword that needs no other schema.
fn simple_keyword() -> BoxedStrategy<(&'static str, Value)> {
    let types = vec!["array", "boolean", "integer", "null", "number", "object", "string"];
    let counted = vec![
        "maxItems",
        "minItems",
        "maxLength",
        "minLength",
        "maxProperties",
        "minProperties",
        "minContains",
        "maxContains",
    ];
    let limiting = vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    prop_oneof![
        4 => prop::sample::subsequence(types, 1..4).prop_map(|names| ("type", json!(names))),
        1 => vec(value(), 1..4).prop_map(|values| ("enum", json!(values))),
        1 => value().prop_map(|value| ("const", value)),
        3 => (prop::sample::select(counted), 0..3_u8).prop_map(|(keyword, count)| (keyword, json!(count))),
        3 => (prop::sample::select(limiting), number()).prop_map(|(keyword, limit)| (keyword, limit)),
        1 => prop::sample::select(vec![json!(1), json!(2), json!(0.5), json!(0.1)]).prop_map(|by| ("multipleOf", by)),
        1 => any::<bool>().prop_map(|unique| ("uniqueItems", json!(unique))),
        1 => pattern().prop_map(|pattern| ("pattern", json!(pattern))),
        2 => vec(text(), 0..3).prop_map(|mut names| { names.sort(); names.dedup(); ("required", json!(names)) }),
        1 => (text(), text()).prop_map(|(name, other)| ("dependentRequired", json!({name: [other]}))),
    ]
    .boxed()
}

fn pattern() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["^a", "b$", "^[ab]*$", r"\d", "^.$", ""]).prop_map(str::to_owned)
}

fn object(keywords: Vec<(&'static str, Value)>) -> Value {
    Value::Object(
        keywords
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn keyword(schema: BoxedStrategy<Value>) -> BoxedStrategy<(&'static str, Value)> {
    let one = vec![
        "not",
        "if",
        "then",
        "else",
        "items",
        "contains",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
    ];
    let several = vec!["allOf", "anyOf", "oneOf", "prefixItems"];
    let named = vec!["properties", "dependentSchemas"];
    prop_oneof![
        6 => simple_keyword(),
        4 => (prop::sample::select(one), schema.clone()),
        3 => (prop::sample::select(several), vec(schema.clone(), 1..3)).prop_map(|(name, list)| (name, json!(list))),
        4 => (prop::sample::select(named), btree_map(text(), schema.clone(), 0..3))
            .prop_map(|(name, map)| (name, Value::Object(map.into_iter().collect::<Map<_, _>>()))),
        1 => (pattern(), schema).prop_map(|(pattern, schema)| ("patternProperties", json!({pattern: schema}))),
        1 => Just(("$ref", json!("#/$defs/one"))),
        1 => Just(("$ref", json!("#two"))),
    ]
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    let simple = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        5 => vec(simple_keyword(), 0..3).prop_map(object),
    ];
    let any = simple
        .clone()
        .prop_recursive(3, 24, 4, |inner| vec(keyword(inner.boxed()), 1..5).prop_map(object));
    let keywords = vec(keyword(any.boxed()), 1..5).prop_map(object);
    (keywords, simple.clone(), vec(simple_keyword(), 0..3)).prop_map(|(mut schema, one, two)| {
        let mut two = object(two);
        two["$anchor"] = json!("two");
        schema["$defs"] = json!({"one": one, "two": two});
        schema
    })
}

/// What we and the oracle say; none where the oracle does not take the schema.
fn verdicts(schema: &Value, value: &Value) -> Option<(bool, bool)> {
    let oracle = jsonschema::validator_for(schema).ok()?;
    let compiled = Compiled::new(schema).unwrap_or_else(|why| panic!("{why}\n{schema}"));
    Some((apply::mismatches(&compiled, value).is_empty(), oracle.is_valid(value)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn we_judge_as_a_complete_validator_does(schema in schema(), values in vec(value(), 8)) {
        for value in values {
            let (ours, theirs) = verdicts(&schema, &value).expect("a schema that the oracle takes");
            prop_assert_eq!(ours, theirs, "{} under {}", value, schema);
        }
    }

    #[test]
    fn no_schema_makes_us_panic(schema in value(), value in value()) {
        if let Ok(compiled) = Compiled::new(&schema) {
            apply::mismatches(&compiled, &value);
        }
    }
}

#[test]
fn references_lead_where_the_complete_validator_goes() {
    let tree = json!({"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}, "required": ["name"]});
    let older = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://example.com/root.json",
        "definitions": {"a/b": {"$id": "#count", "type": "integer"}, "list": {"items": [{"type": "null"}], "additionalItems": false}},
        "properties": {
            "escaped": {"$ref": "#/definitions/a~1b", "maximum": 3}, "whole": {"$ref": "http://example.com/root.json#/definitions/list"},
            "named": {"$ref": "#count"}, "percent": {"$ref": "#/definitions/a%7E1b"},
        },
        "dependencies": {"escaped": ["named"], "whole": {"required": ["escaped"]}},
    });
    let draft_4 = json!({
        "$schema": "http://json-schema.org/draft-04/schema#", "id": "http://example.com/4",
        "properties": {"n": {"minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}},
    });
    let cases = [
        (&tree, json!({"name": 1, "children": [{"name": 2, "children": []}]})),
        (&tree, json!({"name": 1, "children": [{"children": []}]})),
        (&older, json!({"escaped": 9, "named": 1, "percent": 2})),
        (&older, json!({"escaped": 9})),
        (&older, json!({"whole": [null]})),
        (&older, json!({"whole": [null, 1], "escaped": 1, "named": 1})),
        (&older, json!({"named": "x"})),
        (&older, json!({"percent": "x"})),
        (&draft_4, json!({"n": 1})),
        (&draft_4, json!({"n": 5})),
        (&draft_4, json!({"n": 5.5})),
    ];
    for (schema, value) in cases {
        let (ours, theirs) = verdicts(schema, &value).expect("a schema that the oracle takes");
        assert_eq!(ours, theirs, "{value} under {schema}");
    }
}

#[test]
fn what_cannot_be_judged_is_refused_beforehand() {
    for (schema, why) in [
        (
            json!({"properties": {"a": {"$dynamicRef": "#node"}}}),
            "$dynamicRef is not supported",
        ),
        (json!({"$ref": "https://example.com/elsewhere"}), "not in this schema"),
        (json!({"$ref": "#/$defs/missing"}), "not in this schema"),
        (json!({"items": {"pattern": "(?=a)"}}), "at /items/pattern"),
        (json!({"properties": {"a": {"type": "text"}}}), "at /properties/a/type"),
        (json!({"required": "a"}), "a list of strings"),
        (json!({"allOf": []}), "not empty"),
        (json!({"properties": {"a": 7}}), "at /properties/a"),
    ] {
        let told = Compiled::new(&schema).expect_err("a schema that is refused");
        assert!(told.contains(why), "{told}\nunder {schema}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_without_end_comes_to_an_end() {
    let schema = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    let found = apply::mismatches(&Compiled::new(&schema).unwrap(), &json!(1));
    assert_eq!(found.len(), 1);
    assert!(found[0].why.contains("without end"), "{found:?}");
}
