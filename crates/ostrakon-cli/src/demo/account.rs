//! `Account`: the entity that money is moved between.
//!
//! Its state lives in memory while it is active. In one process the start hook loads it and the stop hook saves it; on several nodes
//! every effect is written into a journal before it is answered. It counts what it did, but it judges nothing: that is for the oracle.

use std::sync::Arc;

use ostrakon::{Context, EntityId, Failure, entity};
use serde::{Deserialize, Serialize};

use super::{
    journal::{self, Journal},
    oracle::Effect,
    store::{self, Store},
};

/// What every account holds in the beginning.
pub(crate) const OPENING_BALANCE: i64 = 1_000;

/// The id of the account with this number.
pub(crate) fn id(number: u32) -> String {
    format!("account-{number}")
}

/// Where accounts are kept.
#[derive(Clone)]
pub(crate) enum Books {
    /// In this process.
    Store(Arc<Store>),
    /// Where other nodes find them too.
    Journal(Arc<Journal>),
}

enum Life {
    Stored(store::Life),
    Journaled(journal::Entry),
}

pub(crate) struct Account {
    books: Books,
    id: EntityId,
    /// `None` before the start.
    life: Option<Life>,
    statement: Statement,
}

/// All that an account knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) balance: i64,
    pub(crate) deposits: u64,
    pub(crate) withdrawals: u64,
    pub(crate) visits: u64,
}

impl Default for Statement {
    fn default() -> Self {
        Self {
            balance: OPENING_BALANCE,
            deposits: 0,
            withdrawals: 0,
            visits: 0,
        }
    }
}

/// The account's own refusal: an answer, not a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("only {balance} left; withdraw less")]
    Insufficient { balance: i64 },
    /// The books could not be written, so nothing was done.
    #[error("not written: {0}")]
    Unwritten(String),
}

#[entity(kind = "account")]
impl Account {
    pub(crate) fn new(books: &Books, id: &EntityId) -> Self {
        Self {
            books: books.clone(),
            id: id.clone(),
            life: None,
            statement: Statement::default(),
        }
    }

    #[start]
    async fn load(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let (life, statement) = match &self.books {
            Books::Store(store) => {
                let life = store.begin(&self.id);
                let statement = life.load().await;
                (Life::Stored(life), statement)
            }
            Books::Journal(journal) => {
                let (entry, statement) = journal.begin(&self.id, ctx.epoch().get())?;
                (Life::Journaled(entry), statement)
            }
        };
        (self.life, self.statement) = (Some(life), statement);
        Ok(())
    }

    #[stop]
    async fn save(&mut self) {
        if let Some(Life::Stored(life)) = &self.life {
            life.save(self.statement).await;
        }
    }

    pub(crate) async fn deposit(&mut self, amount: i64) -> Result<i64, Refusal> {
        self.write(Effect::Deposit(amount))?;
        self.statement.balance += amount;
        self.statement.deposits += 1;
        Ok(self.statement.balance)
    }

    pub(crate) async fn withdraw(&mut self, amount: i64) -> Result<i64, Refusal> {
        let balance = self.statement.balance;
        if amount > balance {
            return Err(Refusal::Insufficient { balance });
        }
        self.write(Effect::Withdrawal(amount))?;
        self.statement.balance -= amount;
        self.statement.withdrawals += 1;
        Ok(self.statement.balance)
    }

    /// A customer looked in and wants no answer.
    pub(crate) async fn visit(&mut self) {
        if self.write(Effect::Visit).is_ok() {
            self.statement.visits += 1;
        }
    }

    pub(crate) async fn balance(&self) -> i64 {
        self.statement.balance
    }

    pub(crate) async fn statement(&self) -> Statement {
        self.statement
    }

    #[helper]
    fn write(&self, effect: Effect) -> Result<(), Refusal> {
        match (&self.books, &self.life) {
            (Books::Journal(journal), Some(Life::Journaled(entry))) => journal
                .record(entry, effect)
                .map_err(|refused| Refusal::Unwritten(refused.to_string())),
            _ => Ok(()),
        }
    }
}
