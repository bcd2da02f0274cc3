//! How a topology gets into a cluster, forms one, lets others in, and leaves.

use super::{
    Address, Body, ClusterId, ConnectFailure, Generation, Phase, Topology, TopologyAction,
    TopologyMember, TopologyMessage, TopologyRejection, TopologyStatus,
};
use crate::NodeName;

impl Topology {
    pub(super) fn search(&mut self) {
        let Phase::Searching(search) = &mut self.phase else {
            return;
        };
        if self.now >= search.next_hello {
            search.next_hello = self.now + self.config.heartbeat_every;
            let seeds: Vec<_> = search.seeds().cloned().collect();
            for to in seeds {
                self.send(to, Body::Hello(Box::new(self.me.clone())));
            }
        }
        self.form_if_due();
    }

    /// Asks those at once that it did not know.
    pub(super) fn reseed(&mut self, seeds: Vec<Address>) {
        self.config.seeds = seeds;
        if let Phase::Searching(search) = &mut self.phase {
            search.reseed(&self.config.seeds, self.now);
        }
    }

    fn form_if_due(&mut self) {
        let Phase::Searching(search) = &self.phase else {
            return;
        };
        if !search.may_form(self.now) {
            return;
        }
        let waiting: Vec<_> = search.seeds().cloned().collect();
        let cluster = ClusterId::formed_by(
            &self.me.name,
            self.me.generation.run,
            self.config.seed_value,
            self.now,
        );
        self.enter(cluster);
        self.out.push(TopologyAction::Formed { cluster });
        // Those that wait say hello again as soon as they hear of a cluster.
        let digest = self.view.digest();
        for to in waiting {
            self.send(to, Body::Digest(digest));
        }
    }

    /// From one that has no cluster.
    pub(super) fn on_searcher(&mut self, from: &Address, message: TopologyMessage) {
        match (&mut self.phase, message.body) {
            (Phase::Searching(search), Body::Hello(_)) => {
                search.asked_by(from, self.now);
                let answer = match search.pledges_itself(from, self.now) {
                    true => Body::Searching,
                    false => Body::Pong(0),
                };
                self.send(from.clone(), answer);
                self.form_if_due();
            }
            (Phase::Searching(search), Body::Searching) => {
                search.heard_searching(from, self.now);
                if message.from != self.me.name {
                    search.was_pledged(message.from, self.now);
                }
                self.form_if_due();
            }
            // It is there, and does not join what this node forms; this one may join what that one forms.
            (Phase::Searching(search), Body::Pong(_)) => {
                search.heard_searching(from, self.now);
                if search.gathers() && search.pledges_itself(from, self.now) {
                    self.send(from.clone(), Body::Searching);
                }
                self.form_if_due();
            }
            (Phase::Member(_), Body::Hello(record)) if record.name == message.from => {
                self.admit(from, &record);
            }
            _ => self.reject(from.clone(), TopologyRejection::Unexpected),
        }
    }

    /// From a member, while this node has no cluster: whatever it says, it has found one.
    pub(super) fn on_found_cluster(
        &mut self,
        from: &Address,
        cluster: ClusterId,
        message: TopologyMessage,
    ) {
        if let Body::Welcome { known_as, members } = message.body {
            self.welcomed(cluster, message.from, known_as, &members);
        } else if message.body == Body::Full {
            self.reject(from.clone(), TopologyRejection::ClusterFull);
        } else {
            self.send(from.clone(), Body::Hello(Box::new(self.me.clone())));
        }
    }

    /// From a member of another cluster. It is told so, once for each thing it says, and never in answer to being told.
    pub(super) fn on_foreigner(
        &mut self,
        from: &Address,
        ours: ClusterId,
        theirs: ClusterId,
        body: &Body,
    ) {
        if !self.foreign.contains(&theirs) {
            self.foreign.truncate(MAX_FOREIGN - 1);
            self.foreign.insert(0, theirs);
            let at = from.clone();
            self.out
                .push(TopologyAction::TwoClusters { ours, theirs, at });
        }
        self.reject(from.clone(), TopologyRejection::ForeignCluster(theirs));
        if *body != Body::Foreign {
            self.send(from.clone(), Body::Foreign);
        }
    }

    fn admit(&mut self, from: &Address, record: &TopologyMember) {
        let known = self.view.get(&record.name).map(|known| known.generation);
        if known.is_none() && self.view.len() >= self.config.max_members {
            self.reject(from.clone(), TopologyRejection::TooManyMembers);
            return self.send(from.clone(), Body::Full);
        }
        let known_as = known.filter(|known| *known > record.generation);
        if record.name == self.me.name {
            self.learn(record);
        } else if known_as.is_none() {
            self.write(record);
        }
        let members = self.acquaintances(&record.name);
        self.send(from.clone(), Body::Welcome { known_as, members });
    }

    /// This node and a few random others, so that a thousand newcomers do not all begin with the same one.
    fn acquaintances(&mut self, newcomer: &NodeName) -> Vec<TopologyMember> {
        self.refresh_ring();
        let picked = self
            .choice
            .pick(self.watches.ring(), ACQUAINTANCES, |(_, name)| {
                name != newcomer && *name != self.me.name
            });
        let others = picked
            .into_iter()
            .filter_map(|(_, name)| self.view.get(name));
        let mut room = self.config.max_message;
        let known = std::iter::once(&self.me).chain(others);
        let fitting = known.take_while(|member| {
            room = room.saturating_sub(member.encoded_len());
            room > 0
        });
        fitting.cloned().collect()
    }

    fn welcomed(
        &mut self,
        cluster: ClusterId,
        via: NodeName,
        known_as: Option<Generation>,
        members: &[TopologyMember],
    ) {
        if let Some(known) = known_as.filter(|known| known.run >= self.me.generation.run) {
            self.me.generation = known.next_run();
        }
        self.enter(cluster);
        for record in members {
            self.learn(record);
        }
        let digest = self.view.digest();
        self.tell(&via, Body::Digest(digest));
        self.out.push(TopologyAction::Joined { cluster, via });
    }

    /// The first beat and the first round come at a random moment, so that nodes started together do not speak together.
    fn enter(&mut self, cluster: ClusterId) {
        self.phase = Phase::Member(cluster);
        self.me.status = TopologyStatus::Up;
        self.me.generation = self.me.generation.next_revision();
        self.next_gossip = self.now
            + self
                .config
                .gossip_every
                .mul_f64(self.choice.below(1000) as f64 / 1000.0);
        self.next_beat = self.now
            + self
                .config
                .heartbeat_every
                .mul_f64(self.choice.below(1000) as f64 / 1000.0);
        self.speak();
    }

    pub(super) fn unreachable(&mut self, address: &Address, failure: ConnectFailure) {
        match (&mut self.phase, failure) {
            (_, ConnectFailure::NoAnswer) | (Phase::Gone, _) => {}
            (Phase::Searching(search), ConnectFailure::Refused) => search.refused(address),
            (Phase::Searching(search), ConnectFailure::Myself) => search.is_myself(address),
            (Phase::Member(_) | Phase::Leaving { .. }, ConnectFailure::Myself) => {}
            (Phase::Member(_) | Phase::Leaving { .. }, ConnectFailure::Refused) => {
                let member = self.view.iter().find(|member| member.address == *address);
                if let Some(name) = member.map(|member| member.name.clone()) {
                    self.watches.refused(&name);
                }
            }
        }
        self.form_if_due();
    }

    pub(super) fn leave(&mut self) {
        match self.phase {
            Phase::Searching(_) => self.end(TopologyAction::Left),
            Phase::Member(cluster) => self.take_leave(cluster, TopologyStatus::Leaving),
            Phase::Leaving { .. } | Phase::Gone => {}
        }
    }

    /// A leaving node takes leave twice: when it goes, and when it has gone. Each time it stays until those have heard it whom it has told, who tell
    /// the rest; or until it has waited for long enough.
    pub(super) fn leave_if_due(&mut self) {
        let Phase::Leaving {
            cluster,
            until,
            unheard,
        } = &self.phase
        else {
            return;
        };
        if self.now < *until && !unheard.is_empty() {
            return;
        }
        if self.me.status == TopologyStatus::Removed || self.watches.ring().len() <= 1 {
            return self.end(TopologyAction::Left);
        }
        self.take_leave(*cluster, TopologyStatus::Removed);
    }

    /// Whoever answers a ping has heard what was said before it: that is how wires are, and where they are not, gossip makes up for it.
    fn take_leave(&mut self, cluster: ClusterId, status: TopologyStatus) {
        self.me.status = status;
        self.me.generation = self.me.generation.next_revision();
        self.speak();
        self.refresh_ring();
        let (me, ring) = (self.me.clone(), self.watches.ring());
        let told = self
            .choice
            .pick(ring, ACQUAINTANCES, |(_, name)| *name != me.name);
        let told: Vec<_> = told.into_iter().map(|(_, name)| name.clone()).collect();
        self.spread(&me, &told);
        for name in &told {
            self.tell(name, Body::Ping(farewell(status)));
        }
        self.phase = Phase::Leaving {
            cluster,
            until: self.now + self.config.linger,
            unheard: told.into_iter().collect(),
        };
    }

    /// Somebody has answered a ping, perhaps that of a farewell.
    pub(super) fn heard_farewell(&mut self, by: &NodeName, ping: u64) {
        if let Phase::Leaving { unheard, .. } = &mut self.phase
            && ping == farewell(self.me.status)
        {
            unheard.remove(by);
        }
    }

    /// After sleeping for so long that others may have forgotten what this node still believes.
    pub(super) fn start_afresh(&mut self) {
        self.refresh_ring();
        let peers = self
            .choice
            .pick(self.watches.ring(), ACQUAINTANCES, |(_, name)| {
                *name != self.me.name
            });
        let known = peers
            .into_iter()
            .filter_map(|(_, name)| self.view.get(name))
            .map(|member| member.address.clone());
        let ask: Vec<_> = known
            .chain(
                self.config
                    .seeds
                    .iter()
                    .filter(|seed| **seed != self.me.address)
                    .cloned(),
            )
            .collect();
        self.view = super::view::View::new();
        self.since.clear();
        self.me.generation = self.me.generation.next_revision();
        self.speak();
        let digest = self.view.digest();
        for to in ask {
            self.send(to, Body::Digest(digest));
        }
    }
}

/// What a leaving node pings with: no heartbeat ever counts as far.
const fn farewell(status: TopologyStatus) -> u64 {
    match status {
        TopologyStatus::Removed => u64::MAX,
        TopologyStatus::Joining
        | TopologyStatus::Up
        | TopologyStatus::Leaving
        | TopologyStatus::Down => u64::MAX - 1,
    }
}

/// How many members a newcomer is told about at first, and how many a leaving one tells.
const ACQUAINTANCES: usize = 16;

/// How many foreign clusters are remembered as reported.
const MAX_FOREIGN: usize = 16;
