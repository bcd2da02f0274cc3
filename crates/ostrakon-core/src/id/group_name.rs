//! `GroupName`: the shard group a kind belongs to.
//!
//! Kinds of one group share one set of shards, hence one shard count and one hash. A kind that names
//! no group is in the default one.

use serde::Serialize;
use smol_str::SmolStr;

use super::{InvalidId, check_lower_case_name};

/// The name of a shard group, by the same rule as [`EntityKind`](crate::EntityKind): 1 to
/// [`MAX_LEN`](Self::MAX_LEN) bytes of `a-z`, `0-9`, `_`, `.` and `-`, the first of them a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupName(SmolStr);

impl GroupName {
    /// The longest group name, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
        let text = text.as_ref();
        check_lower_case_name("group name", Self::MAX_LEN, text)?;
        Ok(Self(SmolStr::new(text)))
    }
}

/// The group of every kind that names none: `default`.
impl Default for GroupName {
    fn default() -> Self {
        Self(SmolStr::new_static("default"))
    }
}

text_id!(GroupName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_group_is_an_ordinary_name() {
        assert_eq!(GroupName::new("default"), Ok(GroupName::default()));
    }
}
