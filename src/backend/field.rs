//! Fields of JSON that another program wrote: absent, `null` or of another type in an older or newer version of it, and
//! never a reason to lose the line around them.

use super::wire::parse_text;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A string field that may be absent, `null` or of another type: then it is empty. Borrows where it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsText;

        impl<'de> Visitor<'de> for AsText {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_none<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_any(self)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(AsText)
    }
}

/// A field of a type that may not be what we expect: then it is the default, and the line around it is still read. The
/// value must be syntactically sound JSON.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let raw = <&serde_json::value::RawValue>::deserialize(deserializer)?;
    Ok(parse_text(raw.get()).unwrap_or_default())
}

/// What a field of numbers or truth values may hold. Unlike [`lenient`], it is read in one go.
enum Scalar {
    Unsigned(u64),
    Truth(bool),
    Other,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsScalar;

        impl<'de> Visitor<'de> for AsScalar {
            type Value = Scalar;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar::Unsigned(number))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }

            fn visit_bool<E>(self, truth: bool) -> Result<Scalar, E> {
                Ok(Scalar::Truth(truth))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }

            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Scalar, A::Error> {
                IgnoredAny.visit_seq(items).map(|_| Scalar::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Scalar, A::Error> {
                IgnoredAny.visit_map(entries).map(|_| Scalar::Other)
            }
        }

        deserializer.deserialize_any(AsScalar)
    }
}

/// A count; 0 if it is anything else.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(match Scalar::deserialize(deserializer)? {
        Scalar::Unsigned(number) => number,
        _ => 0,
    })
}

/// A truth value; false if it is anything else.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(Scalar::deserialize(deserializer)?, Scalar::Truth(true)))
}

/// An object whose fields are all lenient themselves; nothing if it is anything else.
pub fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct AsObject<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for AsObject<T> {
        type Value = Option<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(entries)).map(Some)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
            IgnoredAny.visit_seq(items).map(|_| None)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(AsObject(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Fields<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        #[serde(deserialize_with = "lenient")]
        number: u32,
        #[serde(deserialize_with = "count")]
        count: u64,
        #[serde(deserialize_with = "flag")]
        flag: bool,
        #[serde(borrow, deserialize_with = "object")]
        object: Option<Inner<'a>>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner<'a> {
        #[serde(borrow)]
        text: Text<'a>,
    }

    #[test]
    fn fields_are_what_they_say() {
        let line = r#"{"text":"a","number":1,"count":2,"flag":true,"object":{"text":"b","more":[]}}"#;
        let expected = Fields {
            text: Text("a".into()),
            number: 1,
            count: 2,
            flag: true,
            object: Some(Inner { text: Text("b".into()) }),
        };
        assert_eq!(serde_json::from_str::<Fields<'_>>(line).unwrap(), expected);
    }

    #[test]
    fn a_field_of_another_type_is_its_default() {
        for value in [
            "null",
            "[1,{}]",
            r#""x\n""#,
            "1.5",
            "-1",
            "7",
            "true",
            r#"{"a":[1]}"#,
            "99999999999999999999",
        ] {
            for field in ["text", "number", "count", "flag", "object"] {
                let line = format!(r#"{{"{field}":{value}}}"#);
                let fields: Fields<'_> = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
                let fits = match field {
                    "text" => value.starts_with(['"', '7', '1', '-', '9']),
                    "number" | "count" => value == "7",
                    "flag" => value == "true",
                    _ => value.starts_with('{'),
                };
                assert_eq!(fields == Fields::default(), !fits, "{line}: {fields:?}");
            }
        }
    }
}
