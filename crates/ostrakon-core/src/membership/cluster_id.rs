//! `ClusterId`: which cluster a message belongs to.
//!
//! Chosen once, by the node that forms the cluster, and carried in every message, so that two clusters which happen to know
//! each other's addresses never mix. It is not a secret and proves nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::peer_choice::mix;
use crate::{NodeName, Time, stable_hash};

/// Which cluster. Prints as sixteen hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClusterId(u64);

impl ClusterId {
    /// The id of the cluster that the run `run` of `former` forms at `now`. Its seed value sets it apart from the clusters
    /// that nodes of the same name form elsewhere.
    pub(super) fn formed_by(former: &NodeName, run: u64, seed_value: u64, now: Time) -> Self {
        [run, seed_value, now.as_nanos()]
            .into_iter()
            .fold(Self(stable_hash(former.as_str())), |id, part| {
                Self(mix(id.0 ^ part))
            })
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
