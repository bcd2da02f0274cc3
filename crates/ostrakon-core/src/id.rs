//! The names of entities, kinds, nodes and groups: short texts, each checked once, on construction.
//!
//! Every value of these types is valid, wherever it came from: a name read off the wire passes the
//! same check as one typed by a user, and a bad one is a decode error. A text is measured before it
//! is copied, so an over-long one costs nothing. Clones are cheap: up to 23 bytes lie inline, longer
//! texts are shared.
//!
//! This file holds what the four have in common; what each allows is in its own file.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Everything but the rule itself, which each type states in its `new`.
macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// The text, as it was given.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::InvalidId;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let checked = $crate::id::CheckedText(|text| Self::new(text));
                from.deserialize_newtype_struct(stringify!($name), checked)
            }
        }
    };
}

mod entity_id;
mod entity_kind;
mod group_name;
mod invalid_id;
mod node_name;
mod role_name;

pub use entity_id::EntityId;
pub use entity_kind::EntityKind;
pub use group_name::GroupName;
pub use invalid_id::InvalidId;
pub use node_name::NodeName;
pub use role_name::RoleName;

/// Decodes a text by lending it to a constructor, so that nothing is copied before it is checked.
struct CheckedText<T>(fn(&str) -> Result<T, InvalidId>);

impl<'de, T> Visitor<'de> for CheckedText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<T, D::Error> {
        inner.deserialize_str(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

fn check_len(what: &'static str, max: usize, text: &str) -> Result<(), InvalidId> {
    match text.len() {
        0 => Err(InvalidId::Empty { what, max }),
        len if len > max => Err(InvalidId::TooLong { what, len, max }),
        _ => Ok(()),
    }
}

fn check_chars(
    what: &'static str,
    allowed: &'static str,
    text: &str,
    is_allowed: fn(usize, char) -> bool,
) -> Result<(), InvalidId> {
    match text.char_indices().find(|&(at, c)| !is_allowed(at, c)) {
        Some((at, found)) => Err(InvalidId::BadCharacter {
            what,
            found,
            at,
            allowed,
        }),
        None => Ok(()),
    }
}

/// The rule that kinds and groups share: they end up in metrics, paths and log lines.
fn check_lower_case_name(what: &'static str, max: usize, text: &str) -> Result<(), InvalidId> {
    check_len(what, max, text)?;
    check_chars(what, LOWER_CASE_NAME, text, |at, c| match c {
        'a'..='z' => true,
        '0'..='9' | '_' | '.' | '-' => at > 0,
        _ => false,
    })
}

const LOWER_CASE_NAME: &str = "a letter a-z, then a-z, 0-9, '_', '.' and '-'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_of_a_long_id_shares_its_text() {
        let id = EntityId::new("x".repeat(1000)).unwrap();
        assert_eq!(id.clone().as_str().as_ptr(), id.as_str().as_ptr());
    }

    #[test]
    fn a_decoded_name_passes_the_same_check_as_a_typed_one() {
        let too_long = format!("\"{}\"", "x".repeat(1025));
        let error = serde_json::from_str::<EntityId>(&too_long).unwrap_err();
        assert!(error.to_string().contains("at most 1024"), "{error}");
        assert!(serde_json::from_str::<EntityKind>("\"Guild\"").is_err());
        assert!(serde_json::from_str::<NodeName>("\"a/b\"").is_err());
        assert!(serde_json::from_str::<GroupName>("\"\"").is_err());
        assert!(serde_json::from_str::<EntityId>("7").is_err());
    }

    #[test]
    fn a_name_is_encoded_as_a_plain_string() {
        let kind = EntityKind::new("guild").unwrap();
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"guild\"");
    }

    #[test]
    fn a_name_can_be_the_key_of_a_json_object() {
        let map = std::collections::BTreeMap::from([(NodeName::new("node-1").unwrap(), 1)]);
        let json = serde_json::to_string(&map).unwrap();
        assert_eq!(json, r#"{"node-1":1}"#);
        assert_eq!(
            serde_json::from_str::<std::collections::BTreeMap<_, _>>(&json).unwrap(),
            map
        );
    }

    #[test]
    fn a_name_prints_as_its_text_and_honours_width() {
        let name = NodeName::new("node-1").unwrap();
        assert_eq!(
            format!("{name}|{name:>8}|{name:?}"),
            "node-1|  node-1|NodeName(\"node-1\")"
        );
    }
}
