//! `Oracle`: knows from outside what every account must hold.
//!
//! It is told of each effect that was acknowledged, and of those whose fate is unknown. It never asks an entity how it
//! fared: in the end it compares. An effect that was acknowledged and is not there is *lost*; one that is there more
//! often than it was acknowledged, or might have been, is *duplicated*.

use std::{
    ops::AddAssign,
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
};

use super::account::{OPENING_BALANCE, Statement};

pub(crate) struct Oracle {
    /// By the account's number.
    accounts: Vec<Expected>,
}

/// Something done to an account.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    Deposit(i64),
    Withdrawal(i64),
    Visit,
}

impl Oracle {
    pub(crate) fn new(accounts: u32) -> Self {
        let accounts = (0..accounts).map(|_| Expected::default()).collect();
        Self { accounts }
    }

    /// How many accounts there are.
    pub(crate) fn accounts(&self) -> u32 {
        self.accounts.len() as u32
    }

    /// The effect was promised: it must be there, once.
    pub(crate) fn acknowledged(&self, account: u32, effect: Effect) {
        let expected = &self.accounts[account as usize];
        expected.count(effect).sure.fetch_add(1, Relaxed);
        let change = match effect {
            Effect::Deposit(amount) => amount,
            Effect::Withdrawal(amount) => -amount,
            Effect::Visit => 0,
        };
        expected.change.fetch_add(change, Relaxed);
    }

    /// The effect may be there, once, or not.
    pub(crate) fn unknown(&self, account: u32, effect: Effect) {
        let expected = &self.accounts[account as usize];
        expected.count(effect).unknown.fetch_add(1, Relaxed);
    }

    /// Compares what an account says it holds with what it must hold.
    pub(crate) fn check(&self, account: u32, found: &Statement) -> Findings {
        let expected = &self.accounts[account as usize];
        let mut findings = Findings {
            money: found.balance,
            ..Findings::default()
        };
        findings += expected.deposits.compare(found.deposits);
        findings += expected.withdrawals.compare(found.withdrawals);
        findings += expected.visits.compare(found.visits);
        if findings.lost + findings.duplicated == 0 && expected.is_certain() {
            findings += expected.compare_balance(found.balance);
        }
        findings
    }
}

/// What one account must hold.
#[derive(Default)]
struct Expected {
    change: AtomicI64,
    deposits: Count,
    withdrawals: Count,
    visits: Count,
}

impl Expected {
    fn count(&self, effect: Effect) -> &Count {
        match effect {
            Effect::Deposit(_) => &self.deposits,
            Effect::Withdrawal(_) => &self.withdrawals,
            Effect::Visit => &self.visits,
        }
    }

    /// Whether the balance can be told to the penny.
    fn is_certain(&self) -> bool {
        let unknown = [&self.deposits, &self.withdrawals];
        unknown.iter().all(|count| count.unknown.load(Relaxed) == 0)
    }

    /// The right number of effects with the wrong sum is one effect too few or too many.
    fn compare_balance(&self, found: i64) -> Findings {
        let expected = OPENING_BALANCE + self.change.load(Relaxed);
        Findings {
            lost: u64::from(found < expected),
            duplicated: u64::from(found > expected),
            ..Findings::default()
        }
    }
}

/// How often one kind of effect must be there, and how often it may be besides.
#[derive(Default)]
struct Count {
    sure: AtomicU64,
    unknown: AtomicU64,
}

impl Count {
    fn compare(&self, found: u64) -> Findings {
        let least = self.sure.load(Relaxed);
        let most = least + self.unknown.load(Relaxed);
        Findings {
            lost: least.saturating_sub(found),
            duplicated: found.saturating_sub(most),
            ..Findings::default()
        }
    }
}

/// What a comparison brought to light.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Effects that were acknowledged and are not there.
    pub(crate) lost: u64,
    /// Effects that are there more often than they may be.
    pub(crate) duplicated: u64,
    /// Accounts that did not say what they hold.
    pub(crate) unchecked: u64,
    /// The sum of what the others hold.
    pub(crate) money: i64,
}

impl Findings {
    /// An account did not answer.
    pub(crate) fn unchecked() -> Self {
        Self {
            unchecked: 1,
            ..Self::default()
        }
    }
}

impl AddAssign for Findings {
    fn add_assign(&mut self, more: Self) {
        self.lost += more.lost;
        self.duplicated += more.duplicated;
        self.unchecked += more.unchecked;
        self.money += more.money;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One account: 50 deposited, 20 and 10 withdrawn, visited once.
    fn oracle() -> Oracle {
        let oracle = Oracle::new(1);
        for effect in [
            Effect::Deposit(50),
            Effect::Withdrawal(20),
            Effect::Withdrawal(10),
            Effect::Visit,
        ] {
            oracle.acknowledged(0, effect);
        }
        oracle
    }

    fn statement(balance: i64, deposits: u64, withdrawals: u64, visits: u64) -> Statement {
        Statement {
            balance,
            deposits,
            withdrawals,
            visits,
        }
    }

    fn lost_and_duplicated(oracle: &Oracle, found: Statement) -> (u64, u64) {
        let findings = oracle.check(0, &found);
        (findings.lost, findings.duplicated)
    }

    #[test]
    fn what_was_acknowledged_and_is_there_is_fine() {
        let findings = oracle().check(0, &statement(1_020, 1, 2, 1));
        let fine = Findings {
            money: 1_020,
            ..Findings::default()
        };
        assert_eq!(findings, fine);
    }

    #[test]
    fn an_effect_that_is_missing_is_lost() {
        let oracle = oracle();
        assert_eq!(
            lost_and_duplicated(&oracle, statement(970, 0, 2, 1)),
            (1, 0)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_050, 1, 0, 1)),
            (2, 0)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_020, 1, 2, 0)),
            (1, 0)
        );
    }

    #[test]
    fn an_effect_that_is_there_twice_is_duplicated() {
        let oracle = oracle();
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_070, 2, 2, 1)),
            (0, 1)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_010, 1, 3, 1)),
            (0, 1)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_020, 1, 2, 3)),
            (0, 2)
        );
    }

    #[test]
    fn one_lost_and_one_doubled_do_not_cancel_out() {
        assert_eq!(
            lost_and_duplicated(&oracle(), statement(960, 0, 3, 1)),
            (1, 1)
        );
    }

    #[test]
    fn a_state_that_went_back_to_an_older_one_is_lost() {
        let found = Statement::default();
        assert_eq!(lost_and_duplicated(&oracle(), found), (4, 0));
    }

    #[test]
    fn the_right_number_of_effects_with_the_wrong_sum_is_seen() {
        let oracle = oracle();
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_019, 1, 2, 1)),
            (1, 0)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_021, 1, 2, 1)),
            (0, 1)
        );
    }

    #[test]
    fn an_effect_of_unknown_fate_may_be_there_once() {
        let oracle = oracle();
        oracle.unknown(0, Effect::Deposit(5));
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_020, 1, 2, 1)),
            (0, 0)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_025, 2, 2, 1)),
            (0, 0)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(1_030, 3, 2, 1)),
            (0, 1)
        );
        assert_eq!(
            lost_and_duplicated(&oracle, statement(970, 0, 2, 1)),
            (1, 0)
        );
    }
}
