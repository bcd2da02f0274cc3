//! `Search`: how a node that belongs to no cluster finds one, or becomes the one that forms it.
//!
//! It asks its seeds. Whoever is a member lets it in. If all are searching too, the one with the lowest address forms, and
//! the rest join it; so two nodes that start at the same instant, or in any order, end in one cluster. The lowest waits until
//! every other has answered or has refused the connection (so nothing runs there), or until its patience ends.
//!
//! The others have no such patience: with the lowest address gone for good they wait until somebody changes their seeds,
//! because forming on a guess is how two clusters come about. For the same reason a node that is nobody's seed leaves it to
//! its seeds, however low its own address, as long as one of them is there.
//!
//! Where it takes several nodes to form a cluster ([`TopologyConfig::forms_with`]), nobody guesses: all [pledge](super::pledges) themselves
//! to one of the seeds, and that one forms with enough pledges, whoever else is away.

use std::collections::BTreeMap;

use super::config::Forming;
use super::pledges::Pledges;
use super::{Address, Gathering, TopologyConfig};
use crate::{NodeName, Time};

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
    /// Where it takes several to form a cluster.
    pledges: Option<Pledges>,
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
            pledges: Pledges::new(config, now),
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
        if let Some(pledges) = &mut self.pledges {
            pledges.retain(|address| self.others.contains_key(address));
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
        self.heard_searching(address, now);
    }

    /// The node at `address` searches too.
    pub(super) fn heard_searching(&mut self, address: &Address, now: Time) {
        self.heard(address, Heard::Searching);
        if let Some(pledges) = &mut self.pledges
            && self.others.contains_key(address)
        {
            pledges.heard(address, now);
        }
    }

    /// Nothing runs at `address`.
    pub(super) fn refused(&mut self, address: &Address) {
        self.heard(address, Heard::Refused);
        if let Some(pledges) = &mut self.pledges {
            pledges.gone(address);
        }
    }

    /// Whether it takes several to form a cluster.
    pub(super) const fn gathers(&self) -> bool {
        self.pledges.is_some()
    }

    /// Whether this node says to the one at `address` that it will join what that one forms.
    pub(super) fn pledges_itself(&mut self, address: &Address, now: Time) -> bool {
        let is_candidate = self.candidate(now) == Some(address);
        let pledges = self.pledges.as_mut();
        pledges.is_none_or(|pledges| is_candidate && pledges.give(address, now))
    }

    /// Another node says that it will join what this one forms.
    pub(super) fn was_pledged(&mut self, from: NodeName, now: Time) {
        if let Some(pledges) = &mut self.pledges {
            pledges.received(from, now);
        }
    }

    /// This node was away itself.
    pub(super) fn overslept(&mut self, now: Time) {
        if let Some(pledges) = &mut self.pledges {
            pledges.overslept(now);
        }
    }

    /// Who is to form a cluster, where it takes several: the lowest of the seeds that are there.
    fn candidate(&self, now: Time) -> Option<&Address> {
        let lowest = self.pledges.as_ref()?.lowest(now);
        let may_form = self.is_seed && self.forming == Forming::IfLowest;
        let own = may_form.then_some(&self.own);
        lowest.into_iter().chain(own).min()
    }

    /// Whom it waits for, where it takes several to form a cluster.
    pub(super) fn gathering(&self, now: Time) -> Option<Gathering> {
        let pledges = self.pledges.as_ref()?;
        let at = self.candidate(now);
        let there = match at == Some(&self.own) {
            true => pledges.count(now).cloned().collect(),
            false => Vec::new(),
        };
        Some(Gathering {
            least: pledges.least,
            at: at.cloned(),
            there,
        })
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
        if let Some(pledges) = &self.pledges {
            return self.candidate(now) == Some(&self.own)
                && !pledges.is_bound(&self.own, now)
                && pledges.are_enough(now);
        }
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
        lowest.heard_searching(&at("b"), Time::ZERO);
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
        low.heard_searching(&at("b"), Time::ZERO);
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
        lowest.heard_searching(&at("b"), Time::ZERO);
        lowest.reseed(&[at("b")], Time::ZERO);
        assert_eq!(lowest.next_hello, late());
        lowest.reseed(&[at("a"), at("b"), at("d")], Time::ZERO);
        assert_eq!(lowest.next_hello, Time::ZERO);
        assert!(!lowest.may_form(Time::ZERO), "nothing was heard of d");
        lowest.refused(&at("d"));
        assert!(lowest.may_form(Time::ZERO));
    }

    /// A node of a cluster that three have to form.
    fn one_of_three(own: &str, seeds: &[&str]) -> Search {
        let config = TopologyConfig {
            forms_with: 3,
            ..config(own, seeds)
        };
        Search::new(&config, Time::ZERO)
    }

    fn pledged_by(search: &mut Search, names: &[&str], now: Time) {
        for name in names {
            search.was_pledged(NodeName::new(name).expect("the name is valid"), now);
        }
    }

    #[test]
    fn where_it_takes_three_a_seed_forms_with_the_pledges_of_two_others_however_late_it_is() {
        let mut lone = one_of_three("a", &["a"]);
        assert!(!lone.may_form(late()));
        pledged_by(&mut lone, &["b"], late());
        assert!(!lone.may_form(late()));
        pledged_by(&mut lone, &["c"], late());
        assert!(lone.may_form(late()));
        let mut nobodys_seed = one_of_three("a", &["b"]);
        pledged_by(&mut nobodys_seed, &["b", "c"], Time::ZERO);
        assert!(!nobodys_seed.may_form(Time::ZERO));
    }

    #[test]
    fn where_it_takes_three_a_node_pledges_itself_to_the_lowest_seed_that_is_there() {
        let mut search = one_of_three("c", &["a", "b", "c"]);
        search.heard_searching(&at("b"), Time::ZERO);
        assert!(
            !search.pledges_itself(&at("a"), Time::ZERO),
            "it is not there"
        );
        assert!(search.pledges_itself(&at("b"), Time::ZERO));
        pledged_by(&mut search, &["a", "b"], Time::ZERO);
        assert!(!search.may_form(Time::ZERO), "it leaves that to b");
        search.asked_by(&at("a"), Time::ZERO);
        assert!(
            !search.pledges_itself(&at("a"), Time::ZERO),
            "b counts on it"
        );
        assert!(!search.pledges_itself(&at("b"), Time::ZERO), "a is lower");
        search.refused(&at("b"));
        assert!(search.pledges_itself(&at("a"), Time::ZERO));
        search.asked_by(&at("stranger"), late());
        assert!(!search.pledges_itself(&at("stranger"), late()));
    }

    #[test]
    fn whoever_is_bound_to_another_forms_nothing() {
        let mut search = one_of_three("b", &["a", "b"]);
        search.asked_by(&at("a"), Time::ZERO);
        assert!(search.pledges_itself(&at("a"), Time::ZERO));
        search.reseed(&[at("b")], Time::ZERO);
        pledged_by(&mut search, &["c", "d"], Time::ZERO);
        assert!(!search.may_form(Time::ZERO));
        pledged_by(&mut search, &["c", "d"], late());
        assert!(search.may_form(late()));
    }

    #[test]
    fn a_seed_that_is_this_node_by_another_name_is_not_waited_for() {
        let mut search = search("b", &["alias-of-b"]);
        assert!(!search.may_form(Time::ZERO));
        search.is_myself(&at("alias-of-b"));
        assert!(search.may_form(Time::ZERO));
    }
}
