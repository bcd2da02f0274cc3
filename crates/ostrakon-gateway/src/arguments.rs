//! `Arguments`: what a method is called with, a JSON object by the names of its parameters.
//!
//! Each argument stays text until the method's own type reads it, so that nothing is lost on the way. Whatever does not fit is refused in words
//! that name the argument and what there is to choose from.

use std::{collections::BTreeMap, fmt};

use ostrakon::Payload;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor, value::Error as Refused},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

use crate::{kind::Method, problem::Problem};

#[derive(Default)]
pub(crate) struct Arguments(BTreeMap<String, Box<RawValue>>);

impl Arguments {
    /// Reads a body. Nothing at all means that there are none.
    pub(crate) fn read(body: &[u8], method: &Method) -> Result<Self, Problem> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let arguments: Self = serde_json::from_slice(body).map_err(|error| {
            let remedy = format!("send a JSON object; {}", method.takes());
            Problem::bad_request(format!("the body is no JSON object: {error}"), remedy)
        })?;
        let is_known = |name: &str| method.arguments.iter().any(|known| known.name == name);
        match arguments.0.keys().find(|name| !is_known(name)) {
            Some(unknown) => Err(Problem::bad_request(
                format!("there is no argument `{unknown}`"),
                method.takes(),
            )),
            None => Ok(arguments),
        }
    }

    /// The argument of this name. An optional one may be left out.
    pub(crate) fn take<T: Payload>(&mut self, name: &str, remedy: &str) -> Result<T, Problem> {
        match self.0.remove(name) {
            Some(json) => serde_json::from_str(json.get()).map_err(|error| {
                Problem::bad_request(
                    format!("the argument `{name}` does not fit: {error}"),
                    remedy,
                )
            }),
            None => T::deserialize(Missing).map_err(|_| {
                Problem::bad_request(format!("the argument `{name}` is missing"), remedy)
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Named)
    }
}

/// Reads the object, and minds that no name is there twice.
struct Named;

impl<'de> Visitor<'de> for Named {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the arguments by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
        let mut arguments = Arguments::default();
        while let Some(name) = map.next_key::<String>()? {
            if arguments.0.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is there twice")));
            }
            arguments.0.insert(name, map.next_value()?);
        }
        Ok(arguments)
    }
}

/// Stands for what was not sent: nothing but an option can be made of it.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
        Err(Refused::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
