//! `EntityKind`: the family an entity belongs to, such as `guild`.
//!
//! A kind is written by programmers and read by operators: it appears in metrics, paths and logs, so
//! its characters are few. It is not a Rust type name, which may change when code moves.

use serde::Serialize;
use smol_str::SmolStr;

use super::{InvalidId, check_lower_case_name};

/// The family an entity belongs to: 1 to [`MAX_LEN`](Self::MAX_LEN) bytes of `a-z`, `0-9`, `_`, `.`
/// and `-`, the first of them a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EntityKind(SmolStr);

impl EntityKind {
    /// The longest kind, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
        let text = text.as_ref();
        check_lower_case_name("entity kind", Self::MAX_LEN, text)?;
        Ok(Self(SmolStr::new(text)))
    }
}

text_id!(EntityKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_names_are_accepted() {
        for text in ["g", "guild", "guild.v2", "a_b-c", "a9"] {
            assert_eq!(EntityKind::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn the_first_character_must_be_a_letter() {
        for text in ["9a", "-a", "_a", ".a"] {
            assert!(
                matches!(
                    EntityKind::new(text),
                    Err(InvalidId::BadCharacter { at: 0, .. })
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn the_error_points_at_the_bad_character_and_says_what_is_allowed() {
        assert_eq!(
            EntityKind::new("guild hall").unwrap_err().to_string(),
            "entity kind has ' ' at byte 5: allowed is a letter a-z, then a-z, 0-9, '_', '.' and '-'"
        );
    }
}
