//! The account of `docs/gateway.md`.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use ostrakon::entity;
use serde::{Deserialize, Serialize};

#[derive(Default)]
pub(crate) struct Account {
    balance: i64,
    history: Vec<i64>,
}

#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("only {balance} there")]
pub(crate) struct Insufficient {
    balance: i64,
}

#[entity(kind = "account")]
impl Account {
    /// Puts money in.
    ///
    /// Answers with what is there then.
    async fn deposit(&mut self, amount: i64) -> i64 {
        self.book(amount);
        self.balance
    }

    async fn withdraw(&mut self, amount: i64) -> Result<i64, Insufficient> {
        if amount > self.balance {
            return Err(Insufficient {
                balance: self.balance,
            });
        }
        self.book(-amount);
        Ok(self.balance)
    }

    async fn balance(&self) -> i64 {
        self.balance
    }

    fn history(&self, from: usize) -> impl Stream<Item = i64> {
        Items(self.history.iter().skip(from).copied().collect())
    }

    fn book(&mut self, amount: i64) {
        self.balance += amount;
        self.history.push(amount);
    }
}

/// A stream of what is there.
struct Items(VecDeque<i64>);

impl Stream for Items {
    type Item = i64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<i64>> {
        Poll::Ready(self.0.pop_front())
    }
}
