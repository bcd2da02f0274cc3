//! Why a text is not a valid id or name.
//!
//! The rejected text itself is not kept: it may be megabytes long, or secret. What is kept is enough
//! to say what is allowed.

/// A text that cannot be an id or a name. Nothing was created; the same text will be refused again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidId {
    /// The text has no bytes.
    #[error("{what} is empty: it must have 1 to {max} bytes")]
    Empty {
        /// What the text was to become, for instance `entity id`.
        what: &'static str,
        /// The longest allowed length, in bytes.
        max: usize,
    },

    /// The text is longer than allowed. It was not copied.
    #[error("{what} has {len} bytes: at most {max} are allowed")]
    TooLong {
        /// What the text was to become, for instance `entity id`.
        what: &'static str,
        /// The length of the text, in bytes.
        len: usize,
        /// The longest allowed length, in bytes.
        max: usize,
    },

    /// A character is not allowed, or not allowed at this place.
    #[error("{what} has {found:?} at byte {at}: allowed is {allowed}")]
    BadCharacter {
        /// What the text was to become, for instance `node name`.
        what: &'static str,
        /// The first offending character.
        found: char,
        /// Where it starts, in bytes.
        at: usize,
        /// What is allowed, in words.
        allowed: &'static str,
    },
}
