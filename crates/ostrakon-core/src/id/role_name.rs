//! `RoleName`: what a node is for.
//!
//! A shard group may ask for a role; then only nodes that have it hold its shards.

use serde::Serialize;
use smol_str::SmolStr;

use super::{InvalidId, check_lower_case_name};

/// The name of a role, by the same rule as [`EntityKind`](crate::EntityKind): 1 to
/// [`MAX_LEN`](Self::MAX_LEN) bytes of `a-z`, `0-9`, `_`, `.` and `-`, the first of them a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RoleName(SmolStr);

impl RoleName {
    /// The longest role name, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Checks `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
        let text = text.as_ref();
        check_lower_case_name("role name", Self::MAX_LEN, text)?;
        Ok(Self(SmolStr::new(text)))
    }
}

text_id!(RoleName);
