//! `Segment`: a fixed part of the view, with the vector clock of just that part.
//!
//! A view is cut into [`SEGMENTS`] by the hash of the name, so that two nodes compare a few numbers and then exchange only
//! the parts in which they differ, whatever the size of the cluster.
//!
//! The digest says *whether* two segments differ, the clock says *who knows more* and should speak, and the merge of the
//! records alone makes them equal. The clock may thus be pruned, or even wrong, and cost no more than a round.

use serde::{Deserialize, Serialize};

use super::TopologyMember;
use super::TopologyStatus;
use super::peer_choice::mix;
use crate::{NodeName, VectorClock, stable_hash};

/// Into how many parts a view is cut. With 1,000 members, the list of digests and one part are about equally long.
pub(super) const SEGMENTS: u8 = 64;

/// The part of a view in which these members lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub(super) clock: VectorClock,
    /// Sorted by name, each once.
    members: Vec<TopologyMember>,
}

impl Segment {
    /// Which segment a node lies in.
    pub(super) fn of(name: &NodeName) -> u8 {
        (stable_hash(name.as_str()) % u64::from(SEGMENTS)) as u8
    }

    /// Records that come without a history.
    pub(super) fn of_records(clock: VectorClock, members: Vec<TopologyMember>) -> Self {
        Self { clock, members }
    }

    pub(super) fn members(&self) -> &[TopologyMember] {
        &self.members
    }

    pub(super) fn get(&self, name: &NodeName) -> Option<&TopologyMember> {
        self.position(name).ok().map(|at| &self.members[at])
    }

    /// Merges one record, and says whether that taught anything.
    pub(super) fn merge(&mut self, record: &TopologyMember) -> bool {
        match self.position(&record.name) {
            Err(at) => {
                self.members.insert(at, record.clone());
                true
            }
            Ok(at) if *record == self.members[at] => false,
            Ok(at) => {
                let before = self.members[at].clone();
                self.members[at].merge(record);
                before != self.members[at]
            }
        }
    }

    pub(super) fn forget(&mut self, name: &NodeName) {
        self.members.retain(|member| member.name != *name);
    }

    /// Differs, but for a chance of 1 in 2⁶⁴, where the records differ. Zero if there are none.
    ///
    /// Removed members do not count: each node forgets them in its own time, and that is no difference worth a word.
    pub(super) fn digest(&self) -> u64 {
        let counted = self
            .members
            .iter()
            .filter(|member| member.status < TopologyStatus::Removed);
        counted.map(fingerprint).fold(0, u64::wrapping_add)
    }

    fn position(&self, name: &NodeName) -> Result<usize, usize> {
        self.members
            .binary_search_by(|member| member.name.cmp(name))
    }
}

fn fingerprint(member: &TopologyMember) -> u64 {
    let TopologyMember {
        name,
        generation,
        status,
        accusers,
        ..
    } = member;
    let accused = accusers
        .iter()
        .map(|name| stable_hash(name.as_str()))
        .fold(0, u64::wrapping_add);
    [generation.run, generation.revision, *status as u64, accused]
        .into_iter()
        .fold(stable_hash(name.as_str()), |print, part| {
            mix(print ^ part).wrapping_add(part)
        })
}
