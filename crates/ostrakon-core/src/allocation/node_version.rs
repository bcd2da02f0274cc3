//! `NodeVersion`: what a node says it runs, such as `1.10.2`.
//!
//! It is a text for people, and some numbers to compare by. It is not `Ord`, because different texts can have the same
//! numbers; and it is not [`Version`](crate::Version), which counts states of the shard map.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// What a node says it runs.
///
/// The rule is that of Shardcake: the text is split at `.` and `-`, parts that are not numbers are dropped, and what is
/// left is compared number by number, where a shorter list comes before the longer one that it begins. So `1.10` is
/// newer than `1.9`, `1.0.0-rc1` is level with `1.0.0`, `1.0.0-1` is newer than both, and all names without such
/// numbers, `v2` and most commit hashes among them, are level with each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeVersion(SmolStr);

impl NodeVersion {
    /// Any text will do; an empty one is for nodes whose version does not matter.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(SmolStr::new(text))
    }

    /// The text, as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is compared by: the greater, the newer.
    pub fn numbers(&self) -> Vec<u64> {
        let parts = self.0.split(['.', '-']);
        parts.filter_map(|part| part.parse().ok()).collect()
    }
}

impl fmt::Display for NodeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u64> {
        NodeVersion::new(text).numbers()
    }

    #[test]
    fn only_parts_that_are_numbers_count() {
        assert_eq!(numbers("1.10.2"), [1, 10, 2]);
        assert_eq!(numbers("1.0.0-rc1"), [1, 0, 0]);
        assert_eq!(numbers("1.0.0-1"), [1, 0, 0, 1]);
        assert_eq!(numbers("20260131235959"), [20_260_131_235_959]);
        for nameless in ["", "v2", "9f3c2ab", "..", "-"] {
            assert!(numbers(nameless).is_empty(), "{nameless:?}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_a_beginning_comes_first() {
        assert!(numbers("1.10") > numbers("1.9"));
        assert!(numbers("1.0") < numbers("1.0.0"));
        assert!(numbers("1.0.0-1") > numbers("1.0.0-rc1"));
        assert!(numbers("0.0.1") > numbers("v2"));
    }

    #[test]
    fn it_shows_and_travels_as_its_text() {
        let version = NodeVersion::new("1.0.0-rc1");
        assert_eq!(version.to_string(), "1.0.0-rc1");
        let json = serde_json::to_string(&version).unwrap();
        assert_eq!(json, "\"1.0.0-rc1\"");
        assert_eq!(serde_json::from_str::<NodeVersion>(&json).unwrap(), version);
    }
}
