//! `Mutant`: one thing done wrong on purpose.
//!
//! A checker that never fails proves nothing, so each rule can be left out, and a good checker notices. Some are mistakes of the
//! rules themselves ([`Rule`]), the others of whoever drives them.

use std::fmt;

use ostrakon_core::{Rule, Rules};

use crate::setup::Plane;

/// One thing done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A rule of the core is left out.
    Without(Rule),
    /// Others wait as if all clocks ran alike.
    WaitWithoutDrift,
    /// Others wait as if nothing ran on at the end of a lease.
    WaitWithoutSlack,
    /// Others wait exactly as long as the lease.
    NoMargin,
    /// A drained entity goes on.
    EndlessTermination,
    /// Ownership is looked at when a message arrives, not when it is handled.
    CheckOutsideTheLock,
    /// The log takes whatever comes at its end, and terms do not matter.
    LogTakesAll,
    /// A leader among peers does not ask the others whether it still is one.
    LeaderWithoutQuorum,
    /// Who does not answer is called dead.
    SilenceIsDeath,
    /// An append of which nobody knows is taken for done.
    UnknownIsDone,
    /// An append of which nobody knows is tried again, wherever the log ends by then.
    UnknownIsRetried,
    /// The log takes whatever comes at its end; terms still matter.
    LogWithoutIndexes,
    /// Whatever expires a run does not name how far it had counted its lease.
    ExpireWithoutCount,
    /// Whoever counts again is expired all the same, by its newest count.
    AbsolvedIsStillExpired,
}

/// Every mutant; the checker has to catch all that do harm.
pub const MUTANTS: [Mutant; 27] = [
    Mutant::Without(Rule::LeaseCountsFromSending),
    Mutant::Without(Rule::GraceAfterTakeover),
    Mutant::Without(Rule::AuthorityBeforeAnswer),
    Mutant::Without(Rule::CondemnedIsNotAnswered),
    Mutant::Without(Rule::CommitBeforeActing),
    Mutant::Without(Rule::NoGrantByTimeout),
    Mutant::Without(Rule::FloorIsKept),
    Mutant::Without(Rule::HoldingsNameTheRun),
    Mutant::Without(Rule::HoldingsInOrder),
    Mutant::Without(Rule::QuietBeforeReleased),
    Mutant::Without(Rule::TermsFence),
    Mutant::Without(Rule::OwnPauseIsNotTheirs),
    Mutant::Without(Rule::DeafNodesExpire),
    Mutant::Without(Rule::WorseStatusWins),
    Mutant::WaitWithoutDrift,
    Mutant::WaitWithoutSlack,
    Mutant::NoMargin,
    Mutant::EndlessTermination,
    Mutant::CheckOutsideTheLock,
    Mutant::LogTakesAll,
    Mutant::LeaderWithoutQuorum,
    Mutant::SilenceIsDeath,
    Mutant::UnknownIsDone,
    Mutant::UnknownIsRetried,
    Mutant::LogWithoutIndexes,
    Mutant::ExpireWithoutCount,
    Mutant::AbsolvedIsStillExpired,
];

impl Mutant {
    /// The rules that coordinators and regions follow.
    pub(crate) fn rules(self) -> Rules {
        match self {
            Self::Without(rule) => Rules::without(rule),
            Self::LogTakesAll => Rules::without(Rule::TermsFence),
            Self::WaitWithoutDrift
            | Self::WaitWithoutSlack
            | Self::NoMargin
            | Self::EndlessTermination
            | Self::CheckOutsideTheLock
            | Self::LeaderWithoutQuorum
            | Self::SilenceIsDeath
            | Self::UnknownIsDone
            | Self::UnknownIsRetried
            | Self::LogWithoutIndexes
            | Self::ExpireWithoutCount
            | Self::AbsolvedIsStillExpired => Rules::default(),
        }
    }

    /// Whether anything goes wrong by it. Where not, another rule does the work of the one that was left out.
    ///
    /// - Floors: a node is told all that it shall hold, for its run and with the index of the log, so word of a grant that it has given up
    ///   since is never news.
    /// - Terms: an append goes behind a named index, and a deposed coordinator names one that is taken.
    ///
    /// An entry that the log takes at the wrong index is void by its term, and a command applied twice is applied once; but a storage that
    /// keeps leases ends that of a run with the entry that says so, void or not, and then nobody can expire the run
    /// ([`Self::LogWithoutIndexes`], [`Self::UnknownIsRetried`]).
    pub fn harms(self) -> bool {
        !matches!(self, Self::Without(Rule::FloorIsKept | Rule::TermsFence))
    }

    /// Whether the mistake can be made only where nodes count their leases in the storage.
    pub(crate) fn needs_shared_storage(self) -> bool {
        matches!(
            self,
            Self::ExpireWithoutCount | Self::AbsolvedIsStillExpired
        )
    }

    /// The only plane in which the mistake can be made, if there is one.
    pub fn only_in(self) -> Option<Plane> {
        match self {
            Self::LeaderWithoutQuorum | Self::Without(Rule::WorseStatusWins) => Some(Plane::Peer),
            Self::LogTakesAll
            | Self::LogWithoutIndexes
            | Self::UnknownIsRetried
            | Self::ExpireWithoutCount
            | Self::AbsolvedIsStillExpired => Some(Plane::Managed),
            Self::Without(_)
            | Self::WaitWithoutDrift
            | Self::WaitWithoutSlack
            | Self::NoMargin
            | Self::EndlessTermination
            | Self::CheckOutsideTheLock
            | Self::SilenceIsDeath
            | Self::UnknownIsDone => None,
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Without(rule) = self {
            write!(f, "without {rule:?}")
        } else {
            write!(f, "{self:?}")
        }
    }
}
