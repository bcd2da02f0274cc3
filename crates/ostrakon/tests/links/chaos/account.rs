//! What became of everything that was sent, as its sender was told, and whether that was the truth.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::witness::{Handled, Sign};

/// How much later than its deadline an ask may end on a machine that is busy with other tests.
const MARGIN: Duration = Duration::from_secs(2);

/// What a caller was told about one thing that it sent.
pub(crate) struct Account {
    pub(crate) sign: Sign,
    pub(crate) entity: String,
    pub(crate) verb: Verb,
    pub(crate) ending: Ending,
    pub(crate) deadline: Duration,
    /// Until the ask was over; for a stream, until it was open.
    pub(crate) took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Ask,
    LargeAsk,
    Tell,
    Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    Replied,
    NotExecuted,
    Failed,
    Unknown,
    /// A stream that was opened and did not reach its end.
    Interrupted,
}

impl Ending {
    fn allows(self, executions: usize) -> bool {
        match self {
            Self::Replied | Self::Failed | Self::Interrupted => executions == 1,
            Self::NotExecuted => executions == 0,
            Self::Unknown => executions <= 1,
        }
    }
}

/// How many ended how, and how long the slowest took.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: BTreeMap<(Verb, Ending), usize>,
    #[expect(dead_code, reason = "printed")]
    slowest: Duration,
}

impl Tally {
    pub(crate) fn of(accounts: &[Account]) -> Self {
        let mut counts = BTreeMap::new();
        for account in accounts {
            *counts.entry((account.verb, account.ending)).or_default() += 1;
        }
        let slowest = accounts.iter().map(|account| account.took).max();
        Self {
            counts,
            slowest: slowest.unwrap_or_default(),
        }
    }

    /// Of all asks, those that were answered or failed in their handler, which is an answer as well.
    pub(crate) fn share_of_replies(&self) -> f64 {
        let asks = |wanted: fn(Ending) -> bool| -> usize {
            self.counts
                .iter()
                .filter(|((verb, ending), _)| {
                    matches!(verb, Verb::Ask | Verb::LargeAsk) && wanted(*ending)
                })
                .map(|(_, count)| count)
                .sum()
        };
        let replied = asks(|ending| matches!(ending, Ending::Replied | Ending::Failed));
        replied as f64 / asks(|_| true) as f64
    }
}

/// Compares what callers were told with what entities did.
pub(crate) fn check(accounts: &[Account], handled: &Handled) {
    let mut executions: BTreeMap<(&str, Sign), usize> = BTreeMap::new();
    for (entity, signs) in handled {
        check_order(entity, signs);
        for &sign in signs.iter().filter(|&&sign| sign != Sign::LAST) {
            *executions.entry((entity, sign)).or_default() += 1;
        }
    }
    for account in accounts {
        let Account {
            sign,
            entity,
            verb,
            ending,
            deadline,
            took,
        } = account;
        let times = executions.remove(&(entity.as_str(), *sign)).unwrap_or(0);
        assert!(
            ending.allows(times),
            "{verb:?} {sign:?} to {entity} ended {ending:?}, but it was executed {times} times"
        );
        assert!(
            *took <= *deadline + MARGIN,
            "{verb:?} {sign:?} ended {ending:?} after {took:?}"
        );
    }
    assert_eq!(
        executions,
        BTreeMap::new(),
        "executed, but never sent there"
    );
    let signs: BTreeSet<Sign> = accounts.iter().map(|account| account.sign).collect();
    assert_eq!(signs.len(), accounts.len(), "one account for each");
}

/// What one caller sends to one entity is handled in the order in which it was sent.
fn check_order(entity: &str, signs: &[Sign]) {
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for sign in signs.iter().filter(|&&sign| sign != Sign::LAST) {
        let before = last.insert(sign.caller, sign.n);
        assert!(
            before.is_none_or(|before| before < sign.n),
            "{entity} handled {sign:?} after number {before:?} of the same caller"
        );
    }
}
