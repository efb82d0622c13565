//! A schema applied to a value, and to what the value is made of.

use super::compile::Compiled;
use super::limits::{bounds, missing, of_any_kind, of_number};
use super::number;
use super::verdict::{Mismatch, Verdict, quoted};
use serde_json::{Map, Value};
use std::cell::RefCell;

type Keywords = Map<String, Value>;

/// Everything in which the value does not fit the schema.
pub(super) fn mismatches(schema: &Compiled<'_>, value: &Value) -> Vec<Mismatch> {
    let application = Application {
        schema,
        under_way: RefCell::default(),
    };
    application.apply(schema.root, value, "").mismatches
}

struct Application<'s> {
    schema: &'s Compiled<'s>,
    /// The references that are being followed, each with the value it is followed for.
    under_way: RefCell<Vec<(*const Value, *const Value)>>,
}

impl<'s> Application<'s> {
    fn apply<'v>(&self, schema: &'s Value, value: &'v Value, at: &str) -> Verdict<'v> {
        let mut verdict = Verdict::at(at);
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                verdict.tell(format!("nothing is allowed here, and {} is", quoted(value)));
                return verdict;
            }
            _ => return verdict,
        };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            self.follow(reference, value, &mut verdict);
            if self.schema.references_stand_alone {
                return verdict;
            }
        }
        of_any_kind(keywords, value, &mut verdict);
        match value {
            Value::Number(number) => of_number(keywords, number, &mut verdict),
            Value::String(text) => self.of_text(keywords, text, &mut verdict),
            Value::Array(items) => self.of_items(keywords, items, &mut verdict),
            Value::Object(members) => self.of_members(keywords, members, &mut verdict),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(keywords, value, &mut verdict);
        self.the_rest(keywords, value, &mut verdict);
        verdict
    }

    fn fits(&self, schema: &'s Value, value: &Value) -> bool {
        self.apply(schema, value, "").fits()
    }

    fn follow<'v>(&self, reference: &str, value: &'v Value, verdict: &mut Verdict<'v>) {
        let Some(target) = self.schema.resolve(reference) else {
            return;
        };
        let step = (std::ptr::from_ref(target), std::ptr::from_ref(value));
        if self.under_way.borrow().contains(&step) {
            verdict.tell("the schema refers to itself without end");
            return;
        }
        self.under_way.borrow_mut().push(step);
        verdict.join(self.apply(target, value, &verdict.at));
        self.under_way.borrow_mut().pop();
    }

    fn of_text(&self, keywords: &Keywords, text: &str, verdict: &mut Verdict<'_>) {
        bounds(keywords, "Length", text.chars().count(), "characters", verdict);
        if let Some(Value::String(pattern)) = keywords.get("pattern")
            && !self.schema.matches(pattern, text)
        {
            verdict.tell(format!("{} does not match {pattern:?}", quoted(&text.into())));
        }
    }

    fn of_items<'v>(&self, keywords: &'s Keywords, items: &'v [Value], verdict: &mut Verdict<'v>) {
        bounds(keywords, "Items", items.len(), "items", verdict);
        let twice = |(index, item): (usize, &Value)| items[..index].iter().any(|earlier| number::equal(earlier, item));
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) && items.iter().enumerate().any(twice) {
            verdict.tell("an item is there twice");
        }
        // Until 2020, a list of schemas was called `items`, and what came after it `additionalItems`.
        let (first, others) = match (keywords.get("prefixItems"), keywords.get("items")) {
            (None, Some(Value::Array(first))) => (first.as_slice(), keywords.get("additionalItems")),
            (first, others) => (list(first), others),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or(others) {
                let at = verdict.below(&index.to_string());
                verdict.join_part(self.apply(schema, item, &at));
                verdict.items.insert(index);
            }
        }
        if let Some(schema) = keywords.get("contains") {
            let all = items.iter().enumerate();
            let fitting: Vec<usize> = all
                .filter(|(_, item)| self.fits(schema, item))
                .map(|(index, _)| index)
                .collect();
            let least = keywords.get("minContains").map_or(1.0, number::of);
            let most = keywords.get("maxContains").map_or(f64::INFINITY, number::of);
            if (fitting.len() as f64) < least || fitting.len() as f64 > most {
                verdict.tell(format!("{} items fit {}", fitting.len(), quoted(schema)));
            }
            verdict.items.extend(fitting);
        }
    }

    fn of_members<'v>(&self, keywords: &'s Keywords, members: &'v Keywords, verdict: &mut Verdict<'v>) {
        bounds(keywords, "Properties", members.len(), "properties", verdict);
        missing(list(keywords.get("required")), members, verdict);
        for (name, value) in members {
            let listed = map(keywords, "properties").filter(|(key, _)| *key == name);
            let patterned = map(keywords, "patternProperties").filter(|(key, _)| self.schema.matches(key, name));
            let mut schemas: Vec<&Value> = listed.chain(patterned).map(|(_, schema)| schema).collect();
            if schemas.is_empty() {
                schemas.extend(keywords.get("additionalProperties"));
            }
            match schemas.as_slice() {
                [] => {}
                [Value::Bool(false)] => verdict.tell(format!("the property {name:?} is not allowed")),
                schemas => {
                    let at = verdict.below(name);
                    for schema in schemas {
                        verdict.join_part(self.apply(schema, value, &at));
                    }
                }
            }
            if !schemas.is_empty() {
                verdict.properties.insert(name);
            }
            if let Some(schema) = keywords.get("propertyNames")
                && !self.fits(schema, &Value::String(name.clone()))
            {
                verdict.tell(format!("the name {name:?} does not fit {}", quoted(schema)));
            }
        }
        for (_, names) in map(keywords, "dependentRequired").filter(|(key, _)| members.contains_key(*key)) {
            missing(list(Some(names)), members, verdict);
        }
    }

    /// The keywords that join schemas.
    fn combined<'v>(&self, keywords: &'s Keywords, value: &'v Value, verdict: &mut Verdict<'v>) {
        let here = verdict.at.clone();
        for schema in list(keywords.get("allOf")) {
            verdict.join(self.apply(schema, value, &here));
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(schemas)) = keywords.get(keyword) else {
                continue;
            };
            let verdicts = schemas.iter().map(|schema| self.apply(schema, value, &here));
            let fitting: Vec<Verdict<'v>> = verdicts.filter(Verdict::fits).collect();
            match fitting.len() {
                0 => verdict.tell(format!("{} fits none of the schemas of {keyword}", quoted(value))),
                many @ 2.. if keyword == "oneOf" => {
                    verdict.tell(format!("{} fits {many} of the schemas of oneOf", quoted(value)));
                }
                _ => {}
            }
            fitting.into_iter().for_each(|one| verdict.join(one));
        }
        if let Some(schema) = keywords.get("not")
            && self.fits(schema, value)
        {
            verdict.tell(format!("{} must not fit {}", quoted(value), quoted(schema)));
        }
        if let Some(condition) = keywords.get("if") {
            let condition = self.apply(condition, value, &here);
            let branch = keywords.get(if condition.fits() { "then" } else { "else" });
            if condition.fits() {
                verdict.join(condition);
            }
            if let Some(schema) = branch {
                verdict.join(self.apply(schema, value, &here));
            }
        }
        let Value::Object(members) = value else { return };
        let dependent = map(keywords, "dependentSchemas").chain(map(keywords, "dependencies"));
        for (_, needed) in dependent.filter(|(name, _)| members.contains_key(*name)) {
            match needed {
                Value::Array(names) => missing(names, members, verdict),
                schema => verdict.join(self.apply(schema, value, &here)),
            }
        }
    }

    /// What no other keyword spoke about.
    fn the_rest<'v>(&self, keywords: &'s Keywords, value: &'v Value, verdict: &mut Verdict<'v>) {
        match value {
            Value::Object(members) => {
                let Some(schema) = keywords.get("unevaluatedProperties") else {
                    return;
                };
                for (name, member) in members {
                    if !verdict.properties.contains(name.as_str()) && !self.fits(schema, member) {
                        verdict.tell(format!("the property {name:?} is not allowed"));
                    }
                }
                verdict.properties.extend(members.keys().map(String::as_str));
            }
            Value::Array(items) => {
                let Some(schema) = keywords.get("unevaluatedItems") else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    if !verdict.items.contains(&index) && !self.fits(schema, item) {
                        verdict.tell(format!("the item {index} is not allowed"));
                    }
                }
                verdict.items.extend(0..items.len());
            }
            _ => {}
        }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map<'s>(keywords: &'s Keywords, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}
