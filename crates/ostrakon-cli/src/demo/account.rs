//! `Account`: the entity that money is moved between.
//!
//! Its state lives in memory while it is active; the start hook loads it and the stop hook saves it, so that an account
//! can be stopped at any time. It counts what it did, but it judges nothing: that is for the oracle.

use std::sync::Arc;

use ostrakon::{EntityId, entity};
use serde::{Deserialize, Serialize};

use super::store::{Life, Store};

/// What every account holds in the beginning.
pub(crate) const OPENING_BALANCE: i64 = 1_000;

/// The id of the account with this number.
pub(crate) fn id(number: u32) -> String {
    format!("account-{number}")
}

pub(crate) struct Account {
    store: Arc<Store>,
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
#[error("only {balance} left; withdraw less")]
pub(crate) struct Insufficient {
    balance: i64,
}

#[entity(kind = "account")]
impl Account {
    pub(crate) fn new(store: &Arc<Store>, id: &EntityId) -> Self {
        Self {
            store: Arc::clone(store),
            id: id.clone(),
            life: None,
            statement: Statement::default(),
        }
    }

    #[start]
    async fn load(&mut self) {
        let life = self.store.begin(&self.id);
        self.statement = life.load().await;
        self.life = Some(life);
    }

    #[stop]
    async fn save(&mut self) {
        if let Some(life) = &self.life {
            life.save(self.statement).await;
        }
    }

    pub(crate) async fn deposit(&mut self, amount: i64) -> i64 {
        self.statement.balance += amount;
        self.statement.deposits += 1;
        self.statement.balance
    }

    pub(crate) async fn withdraw(&mut self, amount: i64) -> Result<i64, Insufficient> {
        let balance = self.statement.balance;
        if amount > balance {
            return Err(Insufficient { balance });
        }
        self.statement.balance -= amount;
        self.statement.withdrawals += 1;
        Ok(self.statement.balance)
    }

    /// A customer looked in and wants no answer.
    pub(crate) async fn visit(&mut self) {
        self.statement.visits += 1;
    }

    pub(crate) async fn balance(&self) -> i64 {
        self.statement.balance
    }

    pub(crate) async fn statement(&self) -> Statement {
        self.statement
    }
}
