//! `Roster`: who shall take part in the consensus.
//!
//! Every member of the topology learns the log, so that each can tell nodes and operators what is in it; a few of them
//! [vote](choose_voters). Whoever is only silent keeps its vote, for silence proves nothing; it loses it when its run is over in the
//! log, when a later run has its name, or when it has gone. A matter of availability, not of safety: the consensus sees to that.

use std::collections::BTreeMap;

use ostrakon_core::{
    Incarnation, NodeName, TopologyMember, TopologySnapshot, TopologyStatus, VoterCandidate,
    choose_voters,
};
use ostrakon_raft::{Members, Voice};

use crate::badge::{Badge, Duty};

/// What is known when it is decided who shall take part.
pub(crate) struct Roster<'a> {
    pub(crate) topology: &'a TopologySnapshot,
    /// The latest run of each node that is registered in the log.
    pub(crate) runs: &'a BTreeMap<NodeName, Incarnation>,
    /// Who takes part now.
    pub(crate) current: &'a Members,
    /// Who leads: another election would cost more than anything else here.
    pub(crate) leader: u64,
}

impl Roster<'_> {
    /// Who shall take part.
    pub(crate) fn wanted(&self) -> Members {
        let known = self.topology.members.iter();
        let mut wanted: BTreeMap<u64, (Voice, VoterCandidate)> = known
            .filter(|member| self.is_there(member))
            .filter_map(|member| self.candidate(member))
            .map(|(voice, candidate)| (voice.id, (voice, candidate)))
            .collect();
        for voice in self.current.voters.values() {
            if self.is_only_unseen(voice) {
                let candidate = self.host(voice);
                wanted.insert(voice.id, (voice.clone(), candidate));
            }
        }
        let current: Vec<u64> = self.current.voters.keys().copied().collect();
        let candidates: Vec<_> = wanted.values().map(|(_, candidate)| *candidate).collect();
        let voters = choose_voters(&current, &candidates);
        let (voters, learners) = wanted
            .into_iter()
            .map(|(id, (voice, _))| (id, voice))
            .partition(|(id, _)| voters.contains(id));
        Members { voters, learners }
    }

    fn is_there(&self, member: &TopologyMember) -> bool {
        match member.status {
            TopologyStatus::Joining | TopologyStatus::Up => true,
            // It goes, and does so the sooner the less depends on it.
            TopologyStatus::Leaving | TopologyStatus::Removed => false,
            TopologyStatus::Down => {
                let badge = Badge::of(&member.profile);
                let votes = badge.is_some_and(|one| self.current.voters.contains_key(&one.voice));
                let is_witness = badge.is_some_and(|badge| badge.duty == Duty::Witness);
                votes && (is_witness || self.runs.contains_key(&member.name))
            }
        }
    }

    fn candidate(&self, member: &TopologyMember) -> Option<(Voice, VoterCandidate)> {
        let badge = Badge::of(&member.profile)?;
        let voice = Voice {
            id: badge.voice,
            name: member.name.clone(),
            address: member.address.clone(),
        };
        let candidate = VoterCandidate {
            is_witness: badge.duty == Duty::Witness,
            ..self.host(&voice)
        };
        Some((voice, candidate))
    }

    fn host(&self, voice: &Voice) -> VoterCandidate {
        let run = self.runs.get(&voice.name);
        let since = run.map_or(u64::MAX, |run| run.get());
        VoterCandidate {
            id: voice.id,
            since: if voice.id == self.leader { 0 } else { since },
            is_witness: false,
        }
    }

    /// Gossip does not know it, perhaps not yet, but its run is not over: after all have been restarted, for instance.
    fn is_only_unseen(&self, voice: &Voice) -> bool {
        let mut seen = self.topology.members.iter();
        !seen.any(|member| member.name == voice.name) && self.runs.contains_key(&voice.name)
    }
}

#[cfg(test)]
mod tests;
