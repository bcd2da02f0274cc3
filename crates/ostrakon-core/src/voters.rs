//! Which members vote on the control log when the nodes keep it themselves.
//!
//! Few, because every voter is asked for everything; an odd number, because one more than that helps nobody; and those that vote already, because
//! each change costs an agreement of the old and the new. A matter of availability, not of safety: any set of voters is a safe one.

use std::collections::{BTreeMap, BTreeSet};

/// Somebody who could vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoterCandidate {
    /// Which one: the id of its log.
    pub id: u64,
    /// When it came, in whatever unit: the smaller, the older.
    pub since: u64,
    /// It hosts nothing, and is here for its vote. Hosts are preferred to it, where there are enough of them.
    pub is_witness: bool,
}

/// So many of a number of members vote: one of one or two, because two that are both needed fail more often than one; three of at least three;
/// five of at least seven, because then two may be lost while a third is being replaced.
pub fn voters_wanted(members: usize) -> usize {
    match members {
        0 => 0,
        1..3 => 1,
        3..7 => 3,
        7.. => 5,
    }
}

/// Who shall vote, in the order of ids. Those of the `current` voters that are still there go on, as far as there is room; then come the oldest.
pub fn choose_voters(current: &[u64], candidates: &[VoterCandidate]) -> Vec<u64> {
    let current: BTreeSet<u64> = current.iter().copied().collect();
    let known: BTreeMap<u64, VoterCandidate> = candidates
        .iter()
        .map(|candidate| (candidate.id, *candidate))
        .collect();
    let mut ranked: Vec<VoterCandidate> = known.values().copied().collect();
    ranked.sort_by_key(|candidate| {
        let is_new = !current.contains(&candidate.id);
        (is_new, candidate.is_witness, candidate.since, candidate.id)
    });
    ranked.truncate(voters_wanted(known.len()));
    let mut voters: Vec<u64> = ranked.iter().map(|candidate| candidate.id).collect();
    voters.sort_unstable();
    voters
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn host(id: u64, since: u64) -> VoterCandidate {
        VoterCandidate {
            id,
            since,
            is_witness: false,
        }
    }

    fn witness(id: u64, since: u64) -> VoterCandidate {
        VoterCandidate {
            is_witness: true,
            ..host(id, since)
        }
    }

    /// Hosts with ids from one, the first being the oldest.
    fn hosts(number: u64) -> Vec<VoterCandidate> {
        (1..=number).map(|id| host(id, id)).collect()
    }

    #[test]
    fn the_number_of_voters_follows_that_of_the_members() {
        let numbers: Vec<_> = (0..=9)
            .map(|number| choose_voters(&[], &hosts(number)).len())
            .collect();
        assert_eq!(numbers, [0, 1, 1, 3, 3, 3, 3, 5, 5, 5]);
    }

    #[test]
    fn the_oldest_vote_first() {
        let candidates = [host(1, 40), host(2, 30), host(3, 20), host(4, 10)];
        assert_eq!(choose_voters(&[], &candidates), [2, 3, 4]);
    }

    #[test]
    fn whoever_votes_goes_on_and_only_the_gap_is_filled() {
        let mut candidates = hosts(6);
        assert_eq!(choose_voters(&[4, 5, 6], &candidates), [4, 5, 6]);
        candidates.retain(|candidate| candidate.id != 5);
        assert_eq!(choose_voters(&[4, 5, 6], &candidates), [1, 4, 6]);
    }

    #[test]
    fn two_hosts_and_a_witness_are_three_voters() {
        let candidates = [host(1, 1), host(2, 2), witness(3, 0)];
        assert_eq!(choose_voters(&[], &candidates), [1, 2, 3]);
        assert_eq!(choose_voters(&[1], &candidates), [1, 2, 3]);
    }

    #[test]
    fn a_host_is_preferred_to_a_witness_but_does_not_drive_it_away() {
        let candidates = [witness(1, 0), host(2, 1), host(3, 2), host(4, 3)];
        assert_eq!(choose_voters(&[], &candidates), [2, 3, 4]);
        assert_eq!(choose_voters(&[1, 2, 3], &candidates), [1, 2, 3]);
    }

    #[test]
    fn of_too_many_voters_the_youngest_and_the_witnesses_go() {
        let candidates = [
            witness(1, 0),
            host(2, 1),
            host(3, 2),
            host(4, 3),
            host(5, 4),
        ];
        assert_eq!(choose_voters(&[1, 2, 3, 4, 5], &candidates), [2, 3, 4]);
        assert_eq!(choose_voters(&[1, 4, 5], &candidates[..2]), [1]);
    }

    fn candidates() -> impl Strategy<Value = Vec<VoterCandidate>> {
        let candidate = (0..20_u64, 0..5_u64, any::<bool>());
        let candidate = candidate.prop_map(|(id, since, is_witness)| VoterCandidate {
            id,
            since,
            is_witness,
        });
        proptest::collection::vec(candidate, 0..16)
    }

    proptest! {
        #[test]
        fn the_choice_is_odd_settled_and_changes_as_few_as_it_can(
            current in proptest::collection::btree_set(0..20_u64, 0..6),
            candidates in candidates(),
        ) {
            let current: Vec<_> = current.into_iter().collect();
            let voters = choose_voters(&current, &candidates);
            let ids: BTreeSet<_> = candidates.iter().map(|candidate| candidate.id).collect();
            prop_assert!(voters.is_sorted_by(|a, b| a < b));
            prop_assert!(voters.iter().all(|id| ids.contains(id)));
            prop_assert_eq!(voters.len() % 2 == 1, !ids.is_empty());
            prop_assert_eq!(choose_voters(&voters, &candidates), voters.clone(), "settled");
            let still_there = current.iter().filter(|id| ids.contains(id)).count();
            let kept = current.iter().filter(|id| voters.contains(id)).count();
            prop_assert_eq!(kept, still_there.min(voters.len()));
            let mut reversed = candidates;
            reversed.sort_by_key(|candidate| candidate.id);
            reversed.dedup_by_key(|candidate| candidate.id);
            let in_order = choose_voters(&current, &reversed);
            reversed.reverse();
            prop_assert_eq!(choose_voters(&current, &reversed), in_order);
        }
    }
}
