//! `NodeName`: what operators call a node, such as `node-1`.
//!
//! A name outlives the process: a restarted node keeps it. It is neither an address nor an owner;
//! only one run of a node, its [`Incarnation`](crate::Incarnation), can own a shard.

use serde::Serialize;
use smol_str::SmolStr;

use super::{InvalidId, check_chars, check_len};

/// What operators call a node: 1 to [`MAX_LEN`](Self::MAX_LEN) bytes of visible ASCII without `/`.
///
/// `/` is left free so that a name can be one segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NodeName(SmolStr);

impl NodeName {
    /// The longest node name, in bytes.
    pub const MAX_LEN: usize = 128;

    /// Checks `text`, and only then copies it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
        let text = text.as_ref();
        check_len("node name", Self::MAX_LEN, text)?;
        check_chars("node name", ALLOWED, text, |_, c| {
            c.is_ascii_graphic() && c != '/'
        })?;
        Ok(Self(SmolStr::new(text)))
    }
}

text_id!(NodeName);

const ALLOWED: &str = "visible ascii without spaces and '/'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_pod_names_are_accepted() {
        for text in ["node-1", "Node_1", "10.0.0.1:7000", "[::1]:7000", "!", "~"] {
            assert_eq!(NodeName::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn slashes_blanks_controls_and_non_ascii_are_refused() {
        for text in ["a/b", "a b", "a\tb", "a\u{7f}", "é"] {
            assert!(
                matches!(NodeName::new(text), Err(InvalidId::BadCharacter { .. })),
                "{text:?}"
            );
        }
        assert_eq!(
            NodeName::new("a\nb").unwrap_err().to_string(),
            r"node name has '\n' at byte 1: allowed is visible ascii without spaces and '/'"
        );
    }
}
