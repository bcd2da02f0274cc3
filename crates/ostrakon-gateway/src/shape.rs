//! What JSON a type takes, as JSON Schema, as far as its `Deserialize` shows it.
//!
//! A type shows what it wants by what it asks its deserializer for. So it is run against one that writes the request down and then refuses it: once
//! for the type itself, and once more for each part of it, along a path that leads there. No value is ever made up. What cannot be found
//! out this way, or lies too deep, is `{}`: anything.

mod probe;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use self::probe::Found;

/// How deep it looks.
const DEEPEST: usize = 8;
/// How often a type is run: enough for large ones, an end for recursive ones.
const RUNS: usize = 256;

/// What JSON a `T` takes.
pub(crate) fn of<T: DeserializeOwned>() -> Value {
    let mut explorer = Explorer {
        find: probe::find::<T>,
        runs: RUNS,
        path: Vec::new(),
    };
    explorer.here()
}

struct Explorer {
    /// Runs the type and returns what it asks for at the end of a path.
    find: fn(&[usize]) -> Option<Found>,
    runs: usize,
    /// The part that is looked at: which part of which part.
    path: Vec<usize>,
}

impl Explorer {
    /// The shape of the part that is looked at.
    fn here(&mut self) -> Value {
        if self.path.len() > DEEPEST || self.runs == 0 {
            return json!({});
        }
        self.runs -= 1;
        match (self.find)(&self.path) {
            None => json!({}),
            Some(Found::Plain(shape)) => shape,
            Some(Found::Same) => self.part(0),
            Some(Found::Option) => json!({"anyOf": [self.part(0), {"type": "null"}]}),
            Some(Found::Sequence) => json!({"type": "array", "items": self.part(0)}),
            Some(Found::Map) => json!({"type": "object", "additionalProperties": self.part(0)}),
            Some(Found::Tuple(length)) => tuple(length),
            Some(Found::Fields(names)) => self.fields(names),
            Some(Found::Variants(names)) => self.variants(names),
        }
    }

    fn part(&mut self, index: usize) -> Value {
        self.path.push(index);
        let shape = self.here();
        self.path.pop();
        shape
    }

    fn fields(&mut self, names: &[&str]) -> Value {
        let parts = names.iter().enumerate();
        let properties = parts.map(|(index, name)| ((*name).to_owned(), self.part(index)));
        let properties: Map<String, Value> = properties.collect();
        json!({"type": "object", "properties": properties})
    }

    /// A variant is its name, or an object in which its name leads to what it holds.
    fn variants(&mut self, names: &[&str]) -> Value {
        let all = names.iter().enumerate().map(|(index, name)| {
            let held = self.part(index);
            if held.is_null() {
                return json!({"const": name});
            }
            json!({"type": "object", "properties": {*name: held}, "required": [name]})
        });
        let all: Vec<Value> = all.collect();
        let constants: Option<Vec<&Value>> = all.iter().map(|shape| shape.get("const")).collect();
        match constants {
            Some(names) => json!({"enum": names}),
            None => json!({"oneOf": all}),
        }
    }
}

fn tuple(length: usize) -> Value {
    json!({"type": "array", "minItems": length, "maxItems": length})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape counts")]
    struct Order {
        number: u32,
        lines: Vec<Line>,
        note: Option<String>,
        paid: Paid,
        tags: BTreeMap<String, bool>,
        at: std::net::IpAddr,
        #[serde(rename = "type")]
        kind: Size,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape counts")]
    struct Line(String, f64);

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape counts")]
    enum Paid {
        Not,
        Cash(i64),
        Card { number: String },
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape counts")]
    struct Tree {
        left: Option<Box<Self>>,
        right: Option<Box<Self>>,
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its shape counts")]
    enum Either {
        Number(i64),
        Text(String),
    }

    #[test]
    fn plain_types_are_what_they_are_in_json() {
        assert_eq!(of::<i64>(), json!({"type": "integer"}));
        assert_eq!(of::<u8>(), json!({"type": "integer", "minimum": 0}));
        assert_eq!(of::<f32>(), json!({"type": "number"}));
        assert_eq!(of::<bool>(), json!({"type": "boolean"}));
        assert_eq!(of::<String>(), json!({"type": "string"}));
        assert_eq!(of::<()>(), json!({"type": "null"}));
        assert_eq!(of::<ostrakon::EntityId>(), json!({"type": "string"}));
        let small = json!({"enum": ["small", "large"]});
        assert_eq!(of::<Size>(), small);
        assert_eq!(
            of::<(u8, u8)>(),
            json!({"type": "array", "minItems": 2, "maxItems": 2})
        );
    }

    #[test]
    fn what_has_parts_shows_them() {
        let shape = of::<Order>();
        let part = |name: &str| shape["properties"][name].clone();
        assert_eq!(part("number"), json!({"type": "integer", "minimum": 0}));
        assert_eq!(part("lines")["items"]["maxItems"], 2);
        let text = json!({"type": "string"});
        assert_eq!(part("note"), json!({"anyOf": [text, {"type": "null"}]}));
        assert_eq!(
            part("tags")["additionalProperties"],
            json!({"type": "boolean"})
        );
        assert_eq!(part("at"), text, "it is read from a text");
        assert_eq!(part("type")["enum"], json!(["small", "large"]));
        let paid = part("paid");
        assert_eq!(paid["oneOf"][0], json!({"const": "Not"}));
        assert_eq!(
            paid["oneOf"][1]["properties"]["Cash"],
            json!({"type": "integer"})
        );
        assert_eq!(
            paid["oneOf"][2]["properties"]["Card"]["properties"]["number"],
            text
        );
    }

    #[test]
    fn what_cannot_be_known_is_anything() {
        assert_eq!(of::<Value>(), json!({}));
        assert_eq!(of::<Either>(), json!({}));
    }

    #[test]
    fn a_type_within_itself_has_an_end() {
        let shape = of::<Tree>();
        assert_eq!(shape["type"], "object");
        assert!(shape.to_string().len() < 100_000);
    }
}
