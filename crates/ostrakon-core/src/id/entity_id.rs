//! `EntityId`: which entity of its kind.
//!
//! The one name that users' data decides, so the characters are free and only the length is bounded.
//! It says nothing about where the entity lives; [`shard_of`](crate::shard_of) does.

use serde::Serialize;
use smol_str::SmolStr;

use super::{InvalidId, check_len};

/// Which entity of its kind: any text of 1 to [`MAX_LEN`](Self::MAX_LEN) bytes.
///
/// Two ids are the same only if their bytes are: there is no trimming, case folding or Unicode
/// normalisation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EntityId(SmolStr);

impl EntityId {
    /// The longest id, in bytes of UTF-8.
    pub const MAX_LEN: usize = 1024;

    /// Checks the length of `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
        let text = text.as_ref();
        check_len("entity id", Self::MAX_LEN, text)?;
        Ok(Self(SmolStr::new(text)))
    }
}

text_id!(EntityId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_counted_in_bytes() {
        assert!(EntityId::new("é".repeat(512)).is_ok());
        let error = EntityId::new("é".repeat(513)).unwrap_err();
        assert_eq!(
            error,
            InvalidId::TooLong {
                what: "entity id",
                len: 1026,
                max: 1024
            }
        );
        assert_eq!(
            error.to_string(),
            "entity id has 1026 bytes: at most 1024 are allowed"
        );
    }

    #[test]
    fn an_empty_id_is_refused() {
        assert_eq!(
            EntityId::new("").unwrap_err().to_string(),
            "entity id is empty: it must have 1 to 1024 bytes"
        );
    }

    #[test]
    fn any_character_is_allowed() {
        for text in [" ", "a/b", "\0", "\n", "日本", "👋"] {
            assert_eq!(EntityId::new(text).unwrap().as_str(), text);
        }
    }
}
