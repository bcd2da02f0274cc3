//! `Pledges`: how searching nodes agree on the one that forms a cluster, where that takes several of them.
//!
//! Each pledges itself to the lowest of its seeds that is there, itself among them, and forms a cluster only with enough pledges of others. What
//! each knows of the others may be anything; this does not decide who is asked, only what an answer is worth. Invariant: who has
//! pledged itself is bound for longer than its pledge counts, and is pledged to one at a time. So of two nodes that both need more than half
//! of all, one does not get them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Address, TopologyConfig};
use crate::{NodeName, Time};

/// What a searching node has promised, and has been promised.
#[derive(Clone, Debug)]
pub(super) struct Pledges {
    pub(super) least: usize,
    bound_for: Duration,
    counts_for: Duration,
    there_for: Duration,
    /// To whom this node has pledged itself, and until when it is bound.
    given: Option<(Address, Time)>,
    /// Who has pledged itself to this node, and until when that counts.
    received: BTreeMap<NodeName, Time>,
    /// The seeds that were heard, and until when they are taken to be there.
    there: BTreeMap<Address, Time>,
    /// What arrives before has waited for this node, and is older than it looks.
    deaf_until: Time,
}

impl Pledges {
    /// None where a node may form a cluster on its own.
    pub(super) fn new(config: &TopologyConfig, now: Time) -> Option<Self> {
        (config.forms_with > 1).then(|| Self {
            least: config.forms_with,
            bound_for: config.form_after,
            counts_for: config.heartbeat_every * 2,
            there_for: config.heartbeat_every * 4,
            given: None,
            received: BTreeMap::new(),
            there: BTreeMap::new(),
            deaf_until: now,
        })
    }

    /// The seed at `address` has said something.
    pub(super) fn heard(&mut self, address: &Address, now: Time) {
        self.there.insert(address.clone(), now + self.there_for);
    }

    /// Nothing runs at `address`: nobody there counts on this node.
    pub(super) fn gone(&mut self, address: &Address) {
        self.there.remove(address);
        self.given.take_if(|(to, _)| to == address);
    }

    pub(super) fn retain(&mut self, is_seed: impl Fn(&Address) -> bool) {
        self.there.retain(|address, _| is_seed(address));
    }

    /// The lowest seed that is there.
    pub(super) fn lowest(&self, now: Time) -> Option<&Address> {
        let mut there = self.there.iter();
        there.find_map(|(address, until)| (*until > now).then_some(address))
    }

    /// Pledges itself to the node at `address`, unless it is bound to another.
    pub(super) fn give(&mut self, address: &Address, now: Time) -> bool {
        if self.is_bound(address, now) {
            return false;
        }
        self.given = Some((address.clone(), now + self.bound_for));
        true
    }

    /// Whether it is pledged to another than this one.
    pub(super) fn is_bound(&self, but_to: &Address, now: Time) -> bool {
        let given = self.given.as_ref();
        given.is_some_and(|(to, until)| to != but_to && *until > now)
    }

    /// Another node has pledged itself to this one.
    pub(super) fn received(&mut self, from: NodeName, now: Time) {
        self.received.retain(|_, until| *until > now);
        let is_room = self.received.len() < self.least || self.received.contains_key(&from);
        if now >= self.deaf_until && is_room {
            self.received.insert(from, now + self.counts_for);
        }
    }

    /// Those who are pledged to this node.
    pub(super) fn count(&self, now: Time) -> impl Iterator<Item = &NodeName> {
        let received = self.received.iter();
        received.filter_map(move |(name, until)| (*until > now).then_some(name))
    }

    pub(super) fn are_enough(&self, now: Time) -> bool {
        self.count(now).count() + 1 >= self.least
    }

    /// This node was away itself: what it was told before, and what waits for it now, may not hold any more.
    pub(super) fn overslept(&mut self, now: Time) {
        self.received.clear();
        self.deaf_until = now + self.counts_for;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Address {
        Address::new(text).expect("the address is valid")
    }

    fn name(text: &str) -> NodeName {
        NodeName::new(text).expect("the name is valid")
    }

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn pledges(least: usize) -> Pledges {
        let mut config = TopologyConfig::new(name("a"), at("a"), 1);
        config.forms_with = least;
        Pledges::new(&config, Time::ZERO).expect("it takes several")
    }

    #[test]
    fn a_node_is_pledged_to_one_at_a_time_and_bound_for_longer_than_it_counts() {
        let mut bound = pledges(2);
        assert!(bound.give(&at("b"), ms(0)));
        assert!(!bound.give(&at("a"), ms(4_999)));
        assert!(bound.give(&at("b"), ms(4_999)), "once more to the same");
        assert!(!bound.give(&at("a"), ms(9_998)));
        assert!(bound.give(&at("a"), ms(9_999)));

        let mut counting = pledges(2);
        counting.received(name("b"), ms(0));
        assert!(counting.are_enough(ms(999)));
        assert!(!counting.are_enough(ms(1_000)));
    }

    #[test]
    fn nobody_is_bound_to_where_nothing_runs() {
        let mut pledges = pledges(2);
        pledges.give(&at("b"), ms(0));
        pledges.gone(&at("c"));
        assert!(pledges.is_bound(&at("a"), ms(1)));
        pledges.gone(&at("b"));
        assert!(!pledges.is_bound(&at("a"), ms(1)));
    }

    #[test]
    fn a_name_counts_once_and_only_as_many_are_kept_as_it_takes() {
        let mut pledges = pledges(3);
        pledges.received(name("b"), ms(0));
        pledges.received(name("b"), ms(1));
        assert!(!pledges.are_enough(ms(1)));
        for other in ["c", "d", "e", "f"] {
            pledges.received(name(other), ms(1));
        }
        assert!(pledges.are_enough(ms(1)));
        assert_eq!(pledges.received.len(), 3);
    }

    #[test]
    fn what_has_waited_for_a_node_that_was_away_does_not_count() {
        let mut pledges = pledges(2);
        pledges.received(name("b"), ms(0));
        pledges.overslept(ms(500));
        pledges.received(name("c"), ms(501));
        assert!(!pledges.are_enough(ms(501)));
        pledges.received(name("c"), ms(1_500));
        assert!(pledges.are_enough(ms(1_500)));
    }

    #[test]
    fn the_lowest_seed_counts_that_was_heard_lately() {
        let mut pledges = pledges(2);
        assert_eq!(pledges.lowest(ms(0)), None);
        pledges.heard(&at("b"), ms(0));
        pledges.heard(&at("c"), ms(1_000));
        assert_eq!(pledges.lowest(ms(1_999)), Some(&at("b")));
        assert_eq!(pledges.lowest(ms(2_000)), Some(&at("c")));
        pledges.retain(|address| *address != at("c"));
        assert_eq!(pledges.lowest(ms(2_000)), None);
    }
}
