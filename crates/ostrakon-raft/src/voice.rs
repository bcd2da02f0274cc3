//! `Voice`: one who takes part in the consensus.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use ostrakon_core::{Address, NodeName};
use serde::{Deserialize, Serialize};

/// Who votes, or learns in order to vote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Voice {
    /// One log, for ever: whoever begins with an empty log needs a [fresh](fresh_id) one.
    pub id: u64,
    /// The node that it belongs to.
    pub name: NodeName,
    /// Where it is called.
    pub address: Address,
}

impl fmt::Display for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ({:016x})", self.name, self.address, self.id)
    }
}

/// An id that nobody has had: a voice that forgot its votes must not be taken for the one that gave them. Never zero.
pub fn fresh_id() -> u64 {
    // Its keys come from the operating system; the rest only makes sure that no two processes with the same keys would agree.
    let random = RandomState::new().hash_one((std::process::id(), SystemTime::now()));
    random.max(1)
}

/// Openraft's own tests of stores make voices up.
#[cfg(test)]
impl Default for Voice {
    fn default() -> Self {
        Self {
            id: 0,
            name: "a".parse().expect("it is a name"),
            address: Address::new("a:1").expect("it is an address"),
        }
    }
}
