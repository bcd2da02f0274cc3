//! The counters that tell old from new: [`Index`], [`Incarnation`], [`Epoch`], [`Version`] and [`Term`].
//!
//! Each is a type of its own, because comparing one with another is always a mistake; and each only
//! grows, because something is refused for carrying a smaller one than has been seen. None of them
//! measures time. Zero is before the first.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(u64);

        impl $name {
            /// The counter at this value.
            pub const fn new(value: u64) -> Self {
                Self(value)
            }

            /// The value.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The one after this.
            ///
            /// # Panics
            ///
            /// After 2⁶⁴ - 1, which counting does not reach. Stopping is the safe answer: a counter
            /// that wrapped or stood still would let the old pass for the new.
            #[must_use = "the counter itself does not change"]
            pub const fn next(self) -> Self {
                Self(self.0.checked_add(1).expect("a counter never reaches 2^64 by counting"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

counter! {
    /// Which run of a node. Every start of a node's process has a higher one; only a run can own a
    /// shard, a name cannot.
    ///
    /// Guards against a process believed dead being taken for its successor of the same name.
    /// Prints as `i3`.
    Incarnation, "i"
}

counter! {
    /// Which ownership of a shard. Every new owner has a higher one, and every message and every
    /// write for the shard carries it.
    ///
    /// Guards against an old owner that still acts: whoever has seen a higher epoch refuses it.
    /// Prints as `e7`.
    Epoch, "e"
}

counter! {
    /// Which state of the shard map. Every change of the map has a higher one.
    ///
    /// Guards against putting an older map, which arrived late, over a newer one. Prints as `v9`.
    Version, "v"
}

counter! {
    /// Which leadership. Every election has a higher one.
    ///
    /// Guards against two leaders deciding at once: the decisions of the lower term are refused.
    /// Prints as `t2`.
    Term, "t"
}

counter! {
    /// Which entry of the control log. Entries are numbered without end, and a number is never used twice.
    ///
    /// Incarnations, epochs and terms are the indexes of the entries that began them, which is why they never repeat.
    /// Prints as `#5`.
    Index, "#"
}

impl From<Index> for Incarnation {
    fn from(index: Index) -> Self {
        Self(index.0)
    }
}

impl From<Index> for Epoch {
    fn from(index: Index) -> Self {
        Self(index.0)
    }
}

impl From<Index> for Term {
    fn from(index: Index) -> Self {
        Self(index.0)
    }
}

/// The map as the entries up to this one have made it.
impl From<Index> for Version {
    fn from(index: Index) -> Self {
        Self(index.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_prints_with_its_own_letter() {
        let (i, e) = (Incarnation::new(3), Epoch::new(7));
        let (v, t) = (Version::new(9), Term::new(2));
        assert_eq!(format!("{i} {e} {v} {t}"), "i3 e7 v9 t2");
    }

    #[test]
    fn the_next_one_is_greater() {
        assert_eq!(Epoch::default().next(), Epoch::new(1));
        assert!(Epoch::new(9).next() > Epoch::new(9));
    }

    #[test]
    #[should_panic(expected = "a counter never reaches 2^64 by counting")]
    fn the_last_one_has_no_next() {
        let _ = Term::new(u64::MAX).next();
    }

    #[test]
    fn it_is_encoded_as_a_plain_number() {
        assert_eq!(serde_json::to_string(&Version::new(9)).unwrap(), "9");
        assert_eq!(
            serde_json::from_str::<Version>("9").unwrap(),
            Version::new(9)
        );
    }
}
