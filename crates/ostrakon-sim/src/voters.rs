//! `Voters`: Raft as far as the control log can tell.
//!
//! A leader is elected by a majority that can reach each other, and each of them remembers the highest term it has voted in. A leader
//! appends, and knows that it leads, only with a majority that has not voted in a higher term; one that was deposed may not notice. What
//! it could not replicate to a majority is gone or is taken over by the next leader: nobody knows.

use std::rc::Rc;

use ostrakon_core::{Entry, Index, Time};

pub(crate) struct Voters {
    pub(crate) voters: Vec<Voter>,
    /// Entries that reached some voters but no majority.
    pub(crate) pending: Option<Pending>,
}

pub(crate) struct Voter {
    /// The highest term it has heard of. Survives crashes.
    pub(crate) seen: u64,
    /// The term in which it believes to lead.
    pub(crate) leads: Option<u64>,
    /// When it last heard from a leader, on its clock.
    pub(crate) contact: Time,
}

pub(crate) struct Pending {
    pub(crate) term: u64,
    pub(crate) after: Index,
    pub(crate) entries: Vec<Rc<Entry>>,
}

/// What a leader finds when it asks the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    /// A majority follows it.
    Majority,
    /// Somebody follows another.
    Deposed,
    /// Too few answer.
    TooFew,
}

impl Voters {
    pub(crate) fn new(count: usize) -> Self {
        let voter = || Voter {
            seen: 0,
            leads: None,
            contact: Time::ZERO,
        };
        Self {
            voters: std::iter::repeat_with(voter).take(count).collect(),
            pending: None,
        }
    }

    pub(crate) fn majority(&self) -> usize {
        self.voters.len() / 2 + 1
    }

    /// What the leader of a term finds when it asks those it reaches, itself included.
    pub(crate) fn support(&self, term: u64, reached: &[usize]) -> Support {
        let follows = |voter: &&usize| self.voters[**voter].seen <= term;
        if reached.iter().filter(follows).count() >= self.majority() {
            Support::Majority
        } else if reached.iter().all(|voter| self.voters[*voter].seen <= term) {
            Support::TooFew
        } else {
            Support::Deposed
        }
    }

    /// The candidate leads if those who vote are a majority.
    pub(crate) fn elect(&mut self, candidate: usize, votes: &[usize]) -> bool {
        if votes.len() < self.majority() {
            return false;
        }
        let highest = votes.iter().map(|voter| self.voters[*voter].seen).max();
        let term = highest.unwrap_or_default() + 1;
        for voter in votes {
            let voter = &mut self.voters[*voter];
            (voter.seen, voter.leads) = (term, None);
        }
        self.voters[candidate].leads = Some(term);
        true
    }
}
