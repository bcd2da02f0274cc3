//! Calm: the faults are over, and all must be well in time.
//!
//! One coordinator leads; the members are the processes that run; every shard is owned by one of them that acts; every node has its
//! part of each group, rounded down or up; all see the same members; and everybody gets a reply to whatever is asked. Where managers
//! may go away, they do so once in between.

use std::collections::BTreeMap;

use ostrakon_core::{Epoch, Incarnation, Ownership, Route, ShardKey};

use super::World;
use crate::{
    agenda::{Moment, SECOND},
    event::Event,
    invariant::Checked,
    oracle::Kind,
    setup::{node_of, process_of},
};

/// How long asks have at the end.
const LAST_ASKS: Moment = 60 * SECOND;
/// What was begun before takes so long.
const LONG_HANDLERS: Moment = 60 * SECOND;

impl World {
    pub(super) fn calm(&mut self) {
        self.is_calm = true;
        self.network.calm();
        self.storage.calm();
        for site in 0..self.sites.len() {
            let process = self.sites[site].process;
            self.agenda.note(self.now, Event::Resume { site, process });
            self.agenda.note(self.now, Event::Restart { site, process });
        }
        if let Some(deaf) = self.setup.deaf {
            for site in 0..=self.setup.storage_site() {
                self.network.cut(site, deaf);
            }
        }
        self.finish_update();
        if let Some(gone) = self.setup.gone {
            self.goes(gone);
        }
        self.agenda.note(self.now + LONG_HANDLERS, Event::Look);
    }

    /// Nodes that are still of the old version are started again: as long as there are two, shards need not be spread evenly.
    fn finish_update(&mut self) {
        let version = self.setup.version(self.now);
        for site in 0..self.setup.nodes {
            let began = self.nodes[site].as_ref().map(|node| node.began);
            if began.is_some_and(|began| self.setup.version(began) != version) {
                self.ends(site);
            }
        }
    }

    /// A node ends for good, in good order or not.
    fn goes(&mut self, site: usize) {
        match self.sites[site].runs() && self.dice.chance(500) {
            true => self.leave(site),
            false => self.crash(site),
        }
    }

    /// Looks every second until all is well; then asks every shard from every node.
    pub(super) fn look(&mut self) {
        if self.now + LAST_ASKS > self.setup.ends_at {
            if let (None, Err(what)) = (&self.proof, self.is_well()) {
                self.oracle
                    .judge(self.now, "all is well in time", Err(what));
            }
            return;
        }
        let managers_are_away = self.look_at_absence();
        if self.proof.is_none() && !managers_are_away {
            match self.is_well() {
                Ok(()) => {
                    self.trace.write(self.now, || "    all is well".to_owned());
                    self.ask_everything();
                }
                Err(_) => self.want_everything(),
            }
        }
        self.agenda.note(self.now + SECOND, Event::Look);
    }

    /// The nodes that run and hear at the end.
    pub(super) fn hearing(&self) -> impl Iterator<Item = usize> + use<> {
        let without = [self.setup.deaf, self.setup.gone];
        (0..self.setup.nodes).filter(move |node| !without.contains(&Some(*node)))
    }

    fn ask_everything(&mut self) {
        let mut asks = Vec::new();
        for node in self.hearing() {
            for shard in 0..self.setup.keys.len() {
                asks.extend(self.say(node, shard, Kind::Ask));
                self.pump(node, shard);
            }
        }
        self.proof = Some(asks);
    }

    /// A shard that gets its owner at first access must be accessed.
    fn want_everything(&mut self) {
        let node = self.dice.index(self.setup.nodes);
        for shard in 0..self.setup.keys.len() {
            let owned = self.oracle.state.ownership(&self.setup.keys[shard]);
            if owned.is_none_or(|owned| owned.owner().is_none()) {
                self.say(node, shard, Kind::Tell);
                self.pump(node, shard);
            }
        }
    }

    /// At the end.
    pub(super) fn must_be_well(&mut self) {
        let checked = self.is_well();
        self.oracle.judge(self.now, "all is well in time", checked);
        let proof = self.proof.take().unwrap_or_default();
        let open: Vec<usize> = self.oracle.one_outcome.open().collect();
        let unanswered = proof.iter().find(|ask| !self.oracle.was_replied(**ask));
        if let Some(ask) = unanswered {
            let what = format!("ask {ask}, sent when all was well, got no reply");
            self.oracle
                .judge(self.now, "all is well in time", Err(what));
        }
        let forgotten = open
            .iter()
            .find(|ask| self.oracle.sent_at(**ask) + LAST_ASKS < self.now);
        if let Some(ask) = forgotten {
            let what = format!("ask {ask} never ended");
            self.oracle.judge(self.now, "one true outcome", Err(what));
        }
    }

    pub(super) fn is_well(&self) -> Checked {
        let leading = self.leading();
        let [leader] = leading[..] else {
            return Err(format!("managers {leading:?} lead"));
        };
        let leads = self.managers[leader]
            .as_ref()
            .and_then(|one| one.coordinator.leads());
        if leads != Some(self.log.term()) {
            return Err(format!(
                "manager {leader} leads in {leads:?}, not in {}",
                self.log.term()
            ));
        }
        let members = self.members_run()?;
        self.shards_are_served(&members)?;
        self.shards_are_balanced(&members)?;
        self.all_agree()
    }

    /// The members, by run, with their nodes: exactly those that run and hear.
    fn members_run(&self) -> Result<BTreeMap<Incarnation, usize>, String> {
        let mut members = BTreeMap::new();
        for (run, member) in self.oracle.state.members() {
            let node = node_of(&member.registration.name);
            let place = &self.sites[node];
            if place.process != process_of(member.registration.nonce) || !place.is_alive {
                return Err(format!("{run} of node-{node} is a member and does not run"));
            }
            let own = self.nodes[node]
                .as_ref()
                .and_then(|node| node.region.incarnation());
            if own != Some(run) && self.setup.deaf != Some(node) {
                return Err(format!(
                    "{run} of node-{node} is a member, and it takes itself for {own:?}"
                ));
            }
            members.insert(run, node);
        }
        let is_member = |node: &usize| members.values().any(|member| member == node);
        match self.hearing().find(|node| !is_member(node)) {
            Some(node) => Err(format!("node-{node} is no member")),
            None => Ok(members),
        }
    }

    fn shards_are_served(&self, members: &BTreeMap<Incarnation, usize>) -> Checked {
        for key in &self.setup.keys {
            let owned = self.oracle.state.ownership(key);
            let Some(Ownership::Owned { by, epoch }) = owned else {
                return Err(format!("{key} is {owned:?}"));
            };
            let node = members.get(&by).copied().unwrap_or_default();
            let region = self.nodes[node].as_ref().map(|node| &node.region);
            let acts = region.and_then(|region| region.acts(key, self.local(node)));
            if self.setup.deaf == Some(node) {
                return Err(format!("{key} is {by}'s at {epoch}, which hears nothing"));
            }
            if acts != Some(epoch) {
                return Err(format!(
                    "{key} is {by}'s at {epoch}, and node-{node} acts at {acts:?}"
                ));
            }
            self.everybody_knows(key, epoch)?;
        }
        Ok(())
    }

    fn everybody_knows(&self, key: &ShardKey, epoch: Epoch) -> Checked {
        for node in self.hearing() {
            let route = self.nodes[node].as_ref().map(|node| node.region.route(key));
            let known = match route {
                Some(Route::Here(epoch)) => Some(epoch),
                Some(Route::There(owner)) => Some(owner.epoch),
                Some(Route::Nowhere) | None => None,
            };
            if known != Some(epoch) {
                return Err(format!(
                    "{key} is owned at {epoch}, and node-{node} knows {known:?}"
                ));
            }
        }
        Ok(())
    }

    fn shards_are_balanced(&self, members: &BTreeMap<Incarnation, usize>) -> Checked {
        for group in self.oracle.state.groups() {
            let can_hold = |run: &Incarnation| {
                let member = self.oracle.state.member(*run);
                let deaf = self.setup.deaf == members.get(run).copied();
                member.filter(|member| member.can_hold(&group.spec) && !deaf)
            };
            let holders = members
                .keys()
                .filter_map(|run| Some((*run, can_hold(run)?)));
            let weights: BTreeMap<_, _> = holders
                .map(|(run, member)| (run, member.registration.weight as usize))
                .collect();
            let mut counts = BTreeMap::<_, usize>::new();
            for (by, _) in group.shards.iter().filter_map(Ownership::owner) {
                *counts.entry(by).or_default() += 1;
            }
            let (all, total) = (group.shards.len(), weights.values().sum::<usize>());
            let is_fair = |(run, weight): (&Incarnation, &usize)| {
                let has = counts.get(run).copied().unwrap_or_default();
                (all * weight / total..=(all * weight).div_ceil(total)).contains(&has)
            };
            if !weights.iter().all(is_fair) {
                return Err(format!(
                    "the shards of {} are spread as {counts:?} over nodes that weigh {weights:?}",
                    group.spec.name
                ));
            }
        }
        Ok(())
    }
}
