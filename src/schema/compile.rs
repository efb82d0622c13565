//! A JSON Schema, looked through once: what is wrong with it, where its references lead, its regular expressions.

use super::keyword::{REFUSED, Shape, shape};
use regex_lite::Regex;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A schema that can be applied.
#[derive(Debug)]
pub(super) struct Compiled<'s> {
    pub(super) root: &'s Value,
    /// Before 2019, what stands beside a `$ref` does not count.
    pub(super) references_stand_alone: bool,
    patterns: HashMap<&'s str, Regex>,
    /// By `$id` and by `#anchor`.
    named: HashMap<String, &'s Value>,
}

impl<'s> Compiled<'s> {
    /// Fails with what is wrong with the schema, and where.
    pub(super) fn new(root: &'s Value) -> Result<Self, String> {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let mut compiled = Self {
            root,
            references_stand_alone: dialect.contains("draft-0"),
            patterns: HashMap::new(),
            named: HashMap::new(),
        };
        let mut walk = Walk::default();
        walk.schema(root, "", &mut compiled)?;
        // A reference may lead to a place that no keyword leads to, and that place has references of its own.
        while let Some((reference, from)) = walk.references.pop() {
            let target = compiled
                .resolve(reference)
                .ok_or_else(|| format!("at {from}: $ref leads to {reference:?}, which is not in this schema"))?;
            walk.schema(target, reference, &mut compiled)?;
        }
        Ok(compiled)
    }

    /// The schema that a `$ref` leads to.
    pub(super) fn resolve(&self, reference: &str) -> Option<&'s Value> {
        if let Some(named) = self.named.get(reference) {
            return Some(named);
        }
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = match document {
            "" => self.root,
            name => self.named.get(name)?,
        };
        match decoded(fragment)?.as_str() {
            "" => Some(document),
            pointer => document.pointer(pointer),
        }
    }

    /// Whether a text has a match of one of the schema's regular expressions.
    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        self.patterns.get(pattern).is_some_and(|regex| regex.is_match(text))
    }

    fn learn_pattern(&mut self, pattern: &'s str) -> Result<(), String> {
        if !self.patterns.contains_key(pattern) {
            let regex = Regex::new(pattern).map_err(|error| {
                format!("{pattern:?} is no regular expression that can be used here (look-around, back-references and \\p classes are not): {error}")
            })?;
            self.patterns.insert(pattern, regex);
        }
        Ok(())
    }

    fn learn_names(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>) {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        if let Some(id) = text("$id").or_else(|| text("id")) {
            self.named.insert(id.trim_end_matches('#').to_owned(), schema);
        }
        if let Some(anchor) = text("$anchor") {
            self.named.insert(format!("#{anchor}"), schema);
        }
    }
}

/// A fragment without its percent signs; nothing if what they stand for is no text.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let [first, more @ ..] = rest {
        let escaped = (*first == b'%').then(|| more.get(..2)).flatten();
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).ok()
}

/// What is still to be looked at, and what was.
#[derive(Default)]
struct Walk<'s> {
    seen: HashSet<*const Value>,
    /// Each with the place that it stands in.
    references: Vec<(&'s str, String)>,
}

impl<'s> Walk<'s> {
    fn schema(&mut self, schema: &'s Value, at: &str, compiled: &mut Compiled<'s>) -> Result<(), String> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(_) => return Ok(()),
            _ => return Err(format!("at {at}: a schema is an object, true or false, not {schema}")),
        };
        if !self.seen.insert(schema) {
            return Ok(());
        }
        compiled.learn_names(schema, keywords);
        for (keyword, value) in keywords {
            if REFUSED.contains(&keyword.as_str()) {
                return Err(format!("at {at}/{keyword}: {keyword} is not supported"));
            }
            let Some(shape) = shape(keyword) else { continue };
            let at = format!("{at}/{keyword}");
            if !shape.fits(value) {
                return Err(format!("at {at}: this must be {}", shape.description()));
            }
            self.value(shape, value, &at, compiled).map_err(|why| {
                if why.starts_with("at ") {
                    why
                } else {
                    format!("at {at}: {why}")
                }
            })?;
        }
        Ok(())
    }

    /// What the value of a keyword holds.
    fn value(&mut self, shape: Shape, value: &'s Value, at: &str, compiled: &mut Compiled<'s>) -> Result<(), String> {
        match (shape, value) {
            (Shape::Reference, Value::String(reference)) => self.references.push((reference, at.to_owned())),
            (Shape::Pattern, Value::String(pattern)) => compiled.learn_pattern(pattern)?,
            (Shape::Schemas | Shape::SchemaOrSchemas, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.schema(schema, &format!("{at}/{index}"), compiled)?;
                }
            }
            (Shape::SchemaMap | Shape::PatternMap | Shape::NeedsMap, Value::Object(map)) => {
                for (key, schema) in map {
                    if shape == Shape::PatternMap {
                        compiled.learn_pattern(key)?;
                    }
                    let names = shape == Shape::NeedsMap && Shape::Names.fits(schema);
                    if !names {
                        self.schema(schema, &format!("{at}/{key}"), compiled)?;
                    }
                }
            }
            (Shape::Schema | Shape::SchemaOrSchemas, schema) => self.schema(schema, at, compiled)?,
            _ => {}
        }
        Ok(())
    }
}
