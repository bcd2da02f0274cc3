//! `Search`: how a node that belongs to no cluster finds one, or becomes the one that forms it.
//!
//! It asks its seeds. Whoever is a member lets it in. If all are searching too, the one with the lowest address forms, and
//! the rest join it; so two nodes that start at the same instant, or in any order, end in one cluster. The lowest waits until
//! every other has answered or has refused the connection (so nothing runs there), or until its patience ends.
//!
//! The others have no such patience: with the lowest address gone for good they wait until somebody changes their seeds,
//! because forming on a guess is how two clusters come about. For the same reason a node that is nobody's seed leaves it to
//! its seeds, however low its own address, as long as one of them is there.

use std::collections::BTreeMap;

use super::config::Forming;
use super::{Address, TopologyConfig};
use crate::Time;

/// Whom a searching node asks, and what it has heard.
#[derive(Clone, Debug)]
pub(super) struct Search {
    own: Address,
    forming: Forming,
    /// Whether this node is somebody's seed: it names itself, or was asked.
    is_seed: bool,
    others: BTreeMap<Address, Heard>,
    patience_ends: Time,
    pub(super) next_hello: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    Searching,
    Refused,
}

impl Search {
    pub(super) fn new(config: &TopologyConfig, now: Time) -> Self {
        let (own, seeds) = (&config.address, &config.seeds);
        let others = seeds.iter().filter(|seed| *seed != own);
        Self {
            own: own.clone(),
            forming: config.forming,
            is_seed: seeds.contains(own),
            others: others.map(|seed| (seed.clone(), Heard::Nothing)).collect(),
            patience_ends: now + config.form_after,
            next_hello: now,
        }
    }

    /// Goes by these seeds from now on, and forgets what it has heard of others.
    pub(super) fn reseed(&mut self, seeds: &[Address], now: Time) {
        self.is_seed |= seeds.contains(&self.own);
        let before = std::mem::take(&mut self.others);
        for seed in seeds.iter().filter(|seed| **seed != self.own) {
            let heard = before.get(seed).copied().unwrap_or(Heard::Nothing);
            self.others.insert(seed.clone(), heard);
            if !before.contains_key(seed) {
                self.next_hello = now;
            }
        }
    }

    /// Whom to ask.
    pub(super) fn seeds(&self) -> impl Iterator<Item = &Address> {
        self.others.keys()
    }

    /// The node at `address` searches too, and has asked this one. If that is news, it is asked at once: it may have started after
    /// this one last asked, and wait to hear that it is a seed.
    pub(super) fn asked_by(&mut self, address: &Address, now: Time) {
        self.is_seed = true;
        let known = self.others.get(address);
        if known.is_some_and(|heard| *heard != Heard::Searching) {
            self.next_hello = now;
        }
        self.heard_searching(address);
    }

    /// The node at `address` searches too.
    pub(super) fn heard_searching(&mut self, address: &Address) {
        self.heard(address, Heard::Searching);
    }

    /// Nothing runs at `address`.
    pub(super) fn refused(&mut self, address: &Address) {
        self.heard(address, Heard::Refused);
    }

    fn heard(&mut self, address: &Address, heard: Heard) {
        if let Some(known) = self.others.get_mut(address) {
            *known = heard;
        }
    }

    /// `address` turned out to be another way to write our own.
    pub(super) fn is_myself(&mut self, address: &Address) {
        self.is_seed |= self.others.remove(address).is_some();
    }

    /// Whether it is up to this node, now, to form a cluster.
    pub(super) fn may_form(&self, now: Time) -> bool {
        let lowest = self.others.keys().all(|other| self.own < *other);
        let all_heard = self.others.values().all(|heard| *heard != Heard::Nothing);
        let a_seed_is_there = self.others.values().any(|heard| *heard == Heard::Searching);
        self.forming == Forming::IfLowest
            && lowest
            && (all_heard || now >= self.patience_ends)
            && (self.is_seed || !a_seed_is_there)
    }

    /// When to be asked again.
    pub(super) fn next_wakeup(&self, now: Time) -> Time {
        match self.patience_ends {
            end if end > now => end.min(self.next_hello),
            _ => self.next_hello,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::NodeName;

    fn at(text: &str) -> Address {
        Address::new(text).expect("the address is valid")
    }

    fn config(own: &str, seeds: &[&str]) -> TopologyConfig {
        let name = NodeName::new(own).expect("the name is valid");
        TopologyConfig::new(name, at(own), 1).with_seeds(seeds.iter().map(|seed| at(seed)))
    }

    fn search(own: &str, seeds: &[&str]) -> Search {
        Search::new(&config(own, seeds), Time::ZERO)
    }

    fn late() -> Time {
        Time::ZERO + Duration::from_secs(5)
    }

    #[test]
    fn a_node_without_seeds_forms_at_once() {
        assert!(search("a", &[]).may_form(Time::ZERO));
        assert!(search("a", &["a"]).may_form(Time::ZERO));
    }

    #[test]
    fn the_lowest_forms_once_all_have_answered_or_refused() {
        let mut lowest = search("a", &["a", "b", "c"]);
        assert!(!lowest.may_form(Time::ZERO));
        lowest.heard_searching(&at("b"));
        assert!(!lowest.may_form(Time::ZERO));
        lowest.refused(&at("c"));
        assert!(lowest.may_form(Time::ZERO));
    }

    #[test]
    fn the_lowest_loses_patience_and_the_others_never_do() {
        let lowest = search("a", &["b"]);
        assert!(!lowest.may_form(Time::ZERO));
        assert!(lowest.may_form(late()));
        let mut other = search("b", &["a"]);
        other.refused(&at("a"));
        assert!(!other.may_form(late()));
    }

    #[test]
    fn a_node_that_is_nobodys_seed_leaves_it_to_a_seed_that_is_there() {
        let mut low = search("a", &["b", "c"]);
        low.heard_searching(&at("b"));
        low.refused(&at("c"));
        assert!(!low.may_form(late()));
        low.asked_by(&at("b"), Time::ZERO);
        assert!(low.may_form(Time::ZERO), "somebody names it as a seed");
    }

    #[test]
    fn a_seed_that_starts_later_is_asked_as_soon_as_it_is_heard_and_only_once() {
        let mut first = search("b", &["a"]);
        first.refused(&at("a"));
        first.next_hello = late();
        first.asked_by(&at("a"), Time::ZERO);
        assert_eq!(first.next_hello, Time::ZERO);
        first.next_hello = late();
        for other in ["a", "stranger"] {
            first.asked_by(&at(other), Time::ZERO);
            assert_eq!(first.next_hello, late(), "{other}");
        }
    }

    #[test]
    fn a_node_that_must_not_form_never_does() {
        let config = TopologyConfig {
            forming: Forming::Never,
            ..config("a", &["b"])
        };
        let mut search = Search::new(&config, Time::ZERO);
        search.refused(&at("b"));
        assert!(!search.may_form(late()));
    }

    #[test]
    fn new_seeds_are_asked_at_once_and_what_the_others_said_still_counts() {
        let mut lowest = search("a", &["b", "c"]);
        lowest.next_hello = late();
        lowest.heard_searching(&at("b"));
        lowest.reseed(&[at("b")], Time::ZERO);
        assert_eq!(lowest.next_hello, late());
        lowest.reseed(&[at("a"), at("b"), at("d")], Time::ZERO);
        assert_eq!(lowest.next_hello, Time::ZERO);
        assert!(!lowest.may_form(Time::ZERO), "nothing was heard of d");
        lowest.refused(&at("d"));
        assert!(lowest.may_form(Time::ZERO));
    }

    #[test]
    fn a_seed_that_is_this_node_by_another_name_is_not_waited_for() {
        let mut search = search("b", &["alias-of-b"]);
        assert!(!search.may_form(Time::ZERO));
        search.is_myself(&at("alias-of-b"));
        assert!(search.may_form(Time::ZERO));
    }
}
