//! `Watches`: which neighbours this node listens to, which of them are silent, and how far it trusts its own ears.
//!
//! All live members stand on a ring, ordered by the hash of their names, and each watches the few after it: the cost of a
//! node does not grow with the cluster, and whoever falls silent has several observers, seldom in the same rack.
//!
//! A node that was not running itself, hears most of its neighbours fall silent at once, or was refuted, has reason to doubt
//! itself: it grants a longer silence for a while instead of accusing others (the idea of Lifeguard, Dadgar et al. 2018).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{NodeName, PhiAccrual, PhiConfig, Time, stable_hash};

/// A member on the ring.
type Place = (u64, NodeName);

/// The neighbours listened to.
#[derive(Clone, Debug)]
pub(super) struct Watches {
    phi: PhiConfig,
    beat: Duration,
    ring: Vec<Place>,
    watched: BTreeMap<NodeName, Watch>,
    /// How many beats are granted beyond what the detector allows.
    doubt: u32,
    /// Beats since the doubt last grew or shrank.
    calm: u32,
    pings: u64,
}

#[derive(Clone, Debug)]
struct Watch {
    phi: PhiAccrual,
    run: u64,
    /// The newest ping that was answered: a doubled answer is not a second sign of life.
    answered: u64,
    refused: bool,
}

impl Watches {
    const MAX_DOUBT: u32 = 8;
    const CALM_BEATS: u32 = 20;

    pub(super) const fn new(phi: PhiConfig, beat: Duration) -> Self {
        Self {
            phi,
            beat,
            ring: Vec::new(),
            watched: BTreeMap::new(),
            doubt: 0,
            calm: 0,
            pings: 0,
        }
    }

    /// The live members, this node included.
    pub(super) fn set_ring(&mut self, live: impl Iterator<Item = NodeName>) {
        self.ring = live
            .map(|name| (stable_hash(name.as_str()), name))
            .collect();
        self.ring.sort_unstable();
    }

    pub(super) fn ring(&self) -> &[Place] {
        &self.ring
    }

    /// The members after `name`, round the ring.
    pub(super) fn after(&self, name: &NodeName) -> impl Iterator<Item = &NodeName> {
        let (upto, from) = self.around(name);
        from.iter()
            .chain(upto)
            .map(|(_, other)| other)
            .filter(move |other| *other != name)
    }

    /// The members before `name`, round the ring: those that watch it.
    pub(super) fn before(&self, name: &NodeName) -> impl Iterator<Item = &NodeName> {
        let (upto, from) = self.around(name);
        let backwards = upto.iter().rev().chain(from.iter().rev());
        backwards
            .map(|(_, other)| other)
            .filter(move |other| *other != name)
    }

    fn around(&self, name: &NodeName) -> (&[Place], &[Place]) {
        let place = (stable_hash(name.as_str()), name.clone());
        self.ring
            .split_at(self.ring.partition_point(|other| *other < place))
    }

    /// Listens to exactly these runs from now on.
    pub(super) fn retarget(&mut self, now: Time, targets: &BTreeMap<NodeName, u64>) {
        self.watched
            .retain(|name, watch| targets.get(name) == Some(&watch.run));
        for (name, run) in targets {
            if !self.watched.contains_key(name) {
                self.watched
                    .insert(name.clone(), Watch::new(self.phi, *run, now));
            }
        }
    }

    /// One beat: the number to ping with, and whom.
    pub(super) fn ping(&mut self) -> (u64, Vec<NodeName>) {
        self.pings += 1;
        self.calm += 1;
        if self.doubt > 0 && self.calm >= Self::CALM_BEATS {
            self.doubt -= 1;
            self.calm = 0;
        }
        (self.pings, self.watched.keys().cloned().collect())
    }

    pub(super) fn pong(&mut self, now: Time, from: &NodeName, run: u64, ping: u64) {
        if let Some(watch) = self.watched.get_mut(from)
            && watch.run == run
            && ping > watch.answered
            && ping <= self.pings
        {
            watch.answered = ping;
            watch.refused = false;
            watch.phi.heartbeat(now);
        }
    }

    /// Nothing runs at the address of `name`, or something that does not accept. Only a hint: it shortens the wait.
    pub(super) fn refused(&mut self, name: &NodeName) {
        if let Some(watch) = self.watched.get_mut(name) {
            watch.refused = true;
        }
    }

    /// Those whose silence is too long. None, but more doubt, if those are most of all that are watched.
    pub(super) fn silent(&mut self, now: Time) -> Vec<NodeName> {
        let grace = self.beat * self.doubt;
        let each = self.watched.iter();
        let silent: Vec<_> = each
            .filter(|(_, watch)| watch.is_silent(now, grace, self.beat))
            .map(|(name, _)| name.clone())
            .collect();
        let most = self.watched.len() >= 2 && silent.len() * 2 > self.watched.len();
        if most && self.doubt < Self::MAX_DOUBT {
            self.doubt_fully();
            return Vec::new();
        }
        silent
    }

    /// How much the silence of each speaks against it.
    pub(super) fn phis(&self, now: Time) -> impl Iterator<Item = (&NodeName, f64)> {
        let watched = self.watched.iter();
        watched.map(move |(name, watch)| (name, watch.phi.phi(now)))
    }

    /// This node was not running until `now`.
    pub(super) fn overslept(&mut self, now: Time) {
        self.doubt_fully();
        for watch in self.watched.values_mut() {
            watch.phi.forgive(now);
            watch.refused = false;
        }
    }

    /// `name`, whom this node had accused, is alive.
    pub(super) fn was_wrong(&mut self, name: &NodeName) {
        self.watched.remove(name);
        self.doubt = (self.doubt + 1).min(Self::MAX_DOUBT);
        self.calm = 0;
    }

    const fn doubt_fully(&mut self) {
        self.doubt = Self::MAX_DOUBT;
        self.calm = 0;
    }
}

impl Watch {
    fn new(phi: PhiConfig, run: u64, now: Time) -> Self {
        Self {
            phi: PhiAccrual::new(phi, now).expect("the config was checked with the topology's"),
            run,
            answered: 0,
            refused: false,
        }
    }

    fn is_silent(&self, now: Time, grace: Duration, beat: Duration) -> bool {
        let refused = self.refused && self.phi.silence(now) > grace + beat;
        refused || !self.phi.is_available_with_grace(now, grace)
    }
}
