//! `Tally`: how much happened.

use ostrakon_core::Change;

/// How much happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Shards that got an owner.
    pub grants: u64,
    /// Hand-overs that began.
    pub moves: u64,
    /// Shards that were given up or lost.
    pub freed: u64,
    /// Runs whose lease ran out.
    pub expiries: u64,
    /// Runs that were known to be over.
    pub deaths: u64,
    /// Coordinators that began to lead.
    pub takeovers: u64,
    /// Runs that began.
    pub registrations: u64,
    /// Clusters that were formed; more than one in a schedule is an accident.
    pub clusters: u64,
    /// Times that a node began to take another for down.
    pub suspicions: u64,
    /// Messages that clients sent.
    pub sent: u64,
    /// Messages that entities handled.
    pub handled: u64,
    /// Asks with a reply.
    pub replies: u64,
    /// Asks that were surely not handled.
    pub not_handled: u64,
    /// Asks of which nobody knows.
    pub unknown: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, change: &Change) {
        match change {
            Change::TookOver { .. } => self.takeovers += 1,
            Change::Registered { .. } => self.registrations += 1,
            Change::Ended { proof: None, .. } => self.expiries += 1,
            Change::Ended { proof: Some(_), .. } => self.deaths += 1,
            Change::MoveBegan { .. } => self.moves += 1,
            Change::Freed { .. } => self.freed += 1,
            Change::Granted { .. } => self.grants += 1,
            Change::Leaving { .. } | Change::PolicySet | Change::GroupCreated { .. } => {}
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.grants += other.grants;
        self.moves += other.moves;
        self.freed += other.freed;
        self.expiries += other.expiries;
        self.deaths += other.deaths;
        self.takeovers += other.takeovers;
        self.registrations += other.registrations;
        self.clusters += other.clusters;
        self.suspicions += other.suspicions;
        self.sent += other.sent;
        self.handled += other.handled;
        self.replies += other.replies;
        self.not_handled += other.not_handled;
        self.unknown += other.unknown;
    }
}
