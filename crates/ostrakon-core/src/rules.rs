//! `Rules`: the rules of ownership and of gossip, so that each can be left out in a simulation.
//!
//! A checker that never fails proves nothing. With the feature `mutants` a single rule can be broken on purpose, and the simulation
//! must notice; without it every rule is kept, and asking costs nothing.

/// A rule of ownership or of gossip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A node's lease counts from when it sent the renewal, not from when the answer came.
    LeaseCountsFromSending,
    /// After a takeover every node gets a full wait.
    GraceAfterTakeover,
    /// A renewal is answered only after a check of authority that began after it was heard.
    AuthorityBeforeAnswer,
    /// A node that is to be expired is never answered again.
    CondemnedIsNotAnswered,
    /// Nothing is said before it is in the log.
    CommitBeforeActing,
    /// A shard is granted only after its owner gave it up or ended.
    NoGrantByTimeout,
    /// What was given up is not taken up again.
    FloorIsKept,
    /// Holdings are for one run of a node.
    HoldingsNameTheRun,
    /// Older holdings do not replace newer ones.
    HoldingsInOrder,
    /// A shard is given up only when nothing of it acts.
    QuietBeforeReleased,
    /// An entry of a deposed coordinator is void.
    TermsFence,
    /// A coordinator that did not run does not blame others for it.
    OwnPauseIsNotTheirs,
    /// A node that does not hear its answers is given up.
    DeafNodesExpire,
    /// Of two words about the same generation of a member the worse one wins, so that the dead do not come back.
    WorseStatusWins,
}

/// Which rules are kept: all, unless a simulation says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    #[cfg(feature = "mutants")]
    broken: Option<Rule>,
}

impl Rules {
    /// All rules but one.
    #[cfg(feature = "mutants")]
    pub fn without(rule: Rule) -> Self {
        Self { broken: Some(rule) }
    }

    #[cfg(feature = "mutants")]
    pub(crate) fn keep(self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "with the feature `mutants` it matters")]
    pub(crate) const fn keep(self, _: Rule) -> bool {
        true
    }
}
