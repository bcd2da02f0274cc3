//! `Teller`: a client of the bank, one of many.
//!
//! It moves money between accounts, one message after the other, and tells the oracle what was acknowledged. It only
//! uses refs, as any program would. A transfer that fails half-way stays half-way: nothing is repeated, so that what the
//! oracle sees is what the runtime did.

use std::{
    error::Error,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ostrakon::{AskError, Node, Outcome};

use super::{
    account::{self, Account, AccountRef},
    blame::Blame,
    oracle::{Effect, Oracle},
    tally::Tally,
};

/// What it means that a tell was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// It will be handled: in one process there is nothing in between.
    Sure,
    /// It may be handled: a node may die before it gets there.
    Possible,
}

/// What all tellers share.
pub(crate) struct Shift {
    node: Node,
    pub(crate) oracle: Oracle,
    tells: Promise,
    opened: Instant,
    over: AtomicBool,
    disturbed: AtomicBool,
    pub(crate) blame: Blame,
    tally: Mutex<Tally>,
}

impl Shift {
    pub(crate) fn new(node: Node, oracle: Oracle, tells: Promise) -> Self {
        let opened = Instant::now();
        Self {
            node,
            oracle,
            tells,
            opened,
            over: AtomicBool::new(false),
            disturbed: AtomicBool::new(false),
            blame: Blame::nobody_since(opened),
            tally: Mutex::default(),
        }
    }

    /// Sends everybody home after the message they are at.
    pub(crate) fn close(&self) {
        self.over.store(true, Relaxed);
    }

    /// Says whether something is done to the cluster.
    pub(crate) fn disturbed(&self, disturbed: bool) {
        self.disturbed.store(disturbed, Relaxed);
    }

    fn is_disturbed(&self) -> bool {
        self.disturbed.load(Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// What has been counted so far.
    pub(crate) fn tally(&self) -> Tally {
        self.common_tally().clone()
    }

    fn common_tally(&self) -> MutexGuard<'_, Tally> {
        let tally = self.tally.lock();
        tally.expect("nothing panics while it counts")
    }

    /// The first of the accounts that are busy at this time: the busy ones wander once around the bank.
    fn busy_from(&self, now: Instant) -> u64 {
        let accounts = u64::from(self.oracle.accounts());
        let since = now.duration_since(self.opened).as_millis() as u64;
        since % ROUND.as_millis() as u64 * accounts / ROUND.as_millis() as u64
    }
}

pub(crate) struct Teller {
    shift: Arc<Shift>,
    dice: Dice,
    tally: Tally,
    /// The latest moment this teller knows of, to save looking at the clock.
    now: Instant,
    answered: Instant,
    handed_in: Instant,
}

impl Teller {
    pub(crate) fn new(number: u32, shift: Arc<Shift>) -> Self {
        let now = Instant::now();
        Self {
            shift,
            dice: Dice(u64::from(number)),
            tally: Tally::default(),
            now,
            answered: now,
            handed_in: now,
        }
    }

    /// Works until the shift is over.
    pub(crate) async fn work(mut self) {
        while !self.shift.is_over() {
            self.transfer().await;
            if self.dice.below(VISIT_ONE_IN) == 0 {
                self.visit().await;
            }
            if self.dice.below(AUDIT_ONE_IN) == 0 {
                self.audit().await;
            }
            if self.now.duration_since(self.handed_in) > HAND_IN_EVERY {
                self.hand_in();
            }
        }
        // Who was not answered in the end has waited all the same.
        self.note_gap();
        self.hand_in();
    }

    async fn transfer(&mut self) {
        let (from, to) = (self.busy_account(), self.busy_account());
        let amount = 1 + self.dice.below(LARGEST_TRANSFER) as i64;
        let account = self.account(from);
        let answer = self.timed(account.withdraw(amount)).await;
        if !self.note(from, Effect::Withdrawal(amount), answer) {
            return;
        }
        self.tally.in_transit += amount;
        let account = self.account(to);
        let answer = self.timed(account.deposit(amount)).await;
        if self.note(to, Effect::Deposit(amount), answer) {
            self.tally.in_transit -= amount;
        }
    }

    /// A message that wants no answer.
    async fn visit(&mut self) {
        let account = self.busy_account();
        match self.account(account).tell().visit().await {
            Ok(()) => {
                self.tally.tells += 1;
                match self.shift.tells {
                    Promise::Sure => self.shift.oracle.acknowledged(account, Effect::Visit),
                    Promise::Possible => self.shift.oracle.unknown(account, Effect::Visit),
                }
            }
            Err(_) => self.tally.not_answered(Outcome::NotExecuted),
        }
    }

    /// Looks at any account, also one that has been asleep for long.
    async fn audit(&mut self) {
        let accounts = u64::from(self.shift.oracle.accounts());
        let number = self.dice.below(accounts) as u32;
        let account = self.account(number);
        // The answer is of no interest before everything has come to rest.
        let _ = self.timed(account.balance()).await;
    }

    /// Waits for an answer and counts what came of it.
    async fn timed<T, E: Error + 'static>(
        &mut self,
        answer: impl Future<Output = Result<T, AskError<E>>>,
    ) -> Result<T, AskError<E>> {
        let asked = Instant::now();
        let answer = answer.await;
        self.now = Instant::now();
        match &answer {
            Ok(_) => self.answered(asked),
            Err(AskError::Rejected(_)) => {
                self.tally.refused += 1;
                self.answered(asked);
            }
            Err(error) => self.tally.not_answered(error.outcome()),
        }
        answer
    }

    fn answered(&mut self, asked: Instant) {
        let took = self.now.duration_since(asked);
        match self.shift.is_disturbed() {
            true => self.tally.answered_disturbed(took),
            false => self.tally.answered(took),
        }
        self.note_gap();
        self.answered = self.now;
    }

    fn note_gap(&mut self) {
        let gap = self.now.duration_since(self.answered);
        self.tally.gap(gap, self.shift.blame.kill(self.answered));
    }

    /// Tells the oracle what an answer promises. `true`: the effect was acknowledged.
    fn note<T, E: Error + 'static>(
        &self,
        account: u32,
        effect: Effect,
        answer: Result<T, AskError<E>>,
    ) -> bool {
        let oracle = &self.shift.oracle;
        let error = match answer {
            Ok(_) => {
                oracle.acknowledged(account, effect);
                return true;
            }
            Err(AskError::Rejected(_)) => return false,
            Err(error) => error,
        };
        match error.outcome() {
            Outcome::NotExecuted => {}
            Outcome::Executed | Outcome::FailedInHandler | Outcome::Unknown => {
                oracle.unknown(account, effect);
            }
        }
        false
    }

    fn account(&self, number: u32) -> AccountRef {
        self.shift.node.entity::<Account>(account::id(number))
    }

    fn busy_account(&mut self) -> u32 {
        let accounts = u64::from(self.shift.oracle.accounts());
        let busy = (accounts / BUSY_ONE_IN).max(1);
        let number = self.shift.busy_from(self.now) + self.dice.below(busy);
        (number % accounts) as u32
    }

    fn hand_in(&mut self) {
        *self.shift.common_tally() += &self.tally;
        self.tally = Tally::default();
        self.handed_in = self.now;
    }
}

/// A small generator of random numbers (splitmix64): good enough for a bank that is not one.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// How long the busy accounts take to wander around the bank.
const ROUND: Duration = Duration::from_secs(4);

/// Which part of the accounts is busy at a time.
const BUSY_ONE_IN: u64 = 4;

const VISIT_ONE_IN: u64 = 16;
const AUDIT_ONE_IN: u64 = 200;

/// Large enough that an account runs out of money now and then.
const LARGEST_TRANSFER: u64 = 400;

const HAND_IN_EVERY: Duration = Duration::from_millis(100);
