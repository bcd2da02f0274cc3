//! `Quorum`: who votes in a cluster of peers, and what follows from it for operators.
//!
//! It is only for people to look at: nothing is decided by it.

use ostrakon_core::{NodeName, TopologySnapshot, TopologyStatus};
use ostrakon_raft::{Members, Voice};

use crate::badge::{Badge, Duty};

/// Who takes part in deciding, as far as one peer knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quorum {
    /// Who leads.
    pub leader: Option<NodeName>,
    /// Those who vote, by name.
    pub voters: Vec<NodeName>,
    /// Those who only learn what was decided, by name.
    pub learners: Vec<NodeName>,
    /// Those who are there and host entities, by name.
    pub hosts: Vec<NodeName>,
    /// Those who are there and host nothing, by name.
    pub witnesses: Vec<NodeName>,
}

impl Quorum {
    pub(crate) fn of(
        topology: &TopologySnapshot,
        members: &Members,
        leader: Option<&Voice>,
    ) -> Self {
        let there = |duty: Duty| {
            let members = topology.members.iter();
            let there = members.filter(|member| {
                matches!(member.status, TopologyStatus::Joining | TopologyStatus::Up)
                    && Badge::of(&member.profile).is_some_and(|badge| badge.duty == duty)
            });
            sorted(there.map(|member| &member.name))
        };
        Self {
            leader: leader.map(|voice| voice.name.clone()),
            voters: sorted(members.voters.values().map(|voice| &voice.name)),
            learners: sorted(members.learners.values().map(|voice| &voice.name)),
            hosts: there(Duty::Host),
            witnesses: there(Duty::Witness),
        }
    }

    /// What operators should know about it, and what to do: two nodes have nobody who could say which of them is to go on.
    pub fn weakness(&self) -> Option<String> {
        let ([one, two], []) = (&*self.hosts, &*self.witnesses) else {
            return None;
        };
        let (first, second) = match self.voters.contains(two) {
            true => (two, one),
            false => (one, two),
        };
        Some(format!(
            "two nodes and no witness: {first} alone decides. If {second} ends, {first} goes on; if {first} ends, {second} rests until \
             {first} is back with its data directory, or both are started again. Start a third node, or a witness, which hosts nothing: \
             `ostrakon witness --help`"
        ))
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a NodeName>) -> Vec<NodeName> {
    let mut names: Vec<NodeName> = names.cloned().collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<NodeName> {
        let names = names.iter();
        names.map(|name| NodeName::new(*name).unwrap()).collect()
    }

    fn quorum(hosts: &[&str], witnesses: &[&str], voters: &[&str]) -> Quorum {
        Quorum {
            hosts: names(hosts),
            witnesses: names(witnesses),
            voters: names(voters),
            ..Quorum::default()
        }
    }

    #[test]
    fn two_nodes_without_a_witness_are_told_who_must_not_end() {
        for (voter, other) in [("a", "b"), ("b", "a")] {
            let weakness = quorum(&["a", "b"], &[], &[voter]).weakness().unwrap();
            assert!(weakness.contains(&format!("{voter} alone decides")));
            assert!(weakness.contains(&format!("{other} rests")), "{weakness}");
        }
    }

    #[test]
    fn any_third_member_is_enough_and_one_node_has_nobody_to_disagree_with() {
        for fine in [
            quorum(&["a"], &[], &["a"]),
            quorum(&["a", "b"], &["w"], &["a", "b", "w"]),
            quorum(&["a", "b", "c"], &[], &["a", "b", "c"]),
            quorum(&[], &["v", "w"], &["v"]),
        ] {
            assert_eq!(fine.weakness(), None, "{fine:?}");
        }
    }
}
