//! `Store`: the keys of a cluster, and the transactions on them.
//!
//! Every call is one transaction, except those that move snapshots. Nothing is remembered between calls: conditions are on the values
//! themselves, so there is nothing that could be out of date.

mod appending;
mod compacting;
mod leasing;
mod reading;

use std::time::Duration;

use etcd_client::{Compare, CompareOp, KeyValue, Txn, TxnOp};
use ostrakon_core::{Index, Term};
use ostrakon_storage::backend::FORMAT;
use ostrakon_storage::{Head, OpenError};

use crate::address::Address;
use crate::failure::Failure;
use crate::keys::Keys;
use crate::servers::{Outcome, Servers};
use crate::trouble::Trouble;

pub(crate) struct Store {
    pub(crate) servers: Servers,
    pub(crate) keys: Keys,
    pub(crate) place: String,
}

impl Store {
    pub(crate) fn of(address: Address, cluster: &str, deadline: Duration) -> Self {
        let servers = Servers::of(address, deadline);
        Self {
            place: format!("etcd at {}", servers.names()),
            servers,
            keys: Keys::of(cluster),
        }
    }

    /// Begins an empty log, unless there is one already.
    pub(crate) async fn create(&self) -> Result<(), OpenError> {
        let format = self.keys.format();
        let zero = |key| TxnOp::put(key, "0", None);
        let txn = Txn::new()
            .when([Compare::version(format.clone(), CompareOp::Equal, 0)])
            .and_then([
                TxnOp::put(format.clone(), FORMAT.to_string(), None),
                zero(self.keys.last()),
                zero(self.keys.term()),
                zero(self.keys.beat()),
            ])
            .or_else([get(format)]);
        let outcome = self.servers.in_time(self.servers.transact(txn)).await;
        let outcome = outcome.map_err(|failure: Failure| failure.open(&self.place))?;
        match outcome.held {
            true => Ok(()),
            false => self.check_format(&outcome.found[0]),
        }
    }

    fn check_format(&self, found: &[KeyValue]) -> Result<(), OpenError> {
        let place = self.place.clone();
        let known = FORMAT;
        match self.number("`format`", found) {
            Ok(format) if format <= u64::from(known) => Ok(()),
            Ok(format) => Err(OpenError::NewerFormat {
                place,
                found: u32::try_from(format).unwrap_or(u32::MAX),
                known,
            }),
            Err(trouble) => Err(OpenError::Unavailable {
                source: trouble.storage(&place, "open").into(),
                place,
            }),
        }
    }

    pub(crate) async fn head(&self) -> Result<Head, Trouble> {
        let gets = [self.keys.last(), self.keys.term(), self.keys.beat()].map(get);
        let found = self.look(gets).await?.found;
        Ok(Head {
            last: self.last_in(&found[0])?,
            term: Term::new(self.number("`term`", &found[1])?),
            beat: self.number("`beat`", &found[2])?,
        })
    }

    /// The end of the log, and the revision of the store at which that was so.
    pub(crate) async fn last(&self) -> Result<(Index, i64), Trouble> {
        let seen = self.look([get(self.keys.last())]).await?;
        Ok((self.last_in(&seen.found[0])?, seen.revision))
    }

    pub(crate) async fn beat(&self, term: Term, count: u64) -> Result<(), Trouble> {
        let term = Compare::value(self.keys.term(), CompareOp::Equal, term.get().to_string());
        let beat = TxnOp::put(self.keys.beat(), count.to_string(), None);
        let txn = Txn::new().when([term]).and_then([beat]);
        self.servers.transact(txn).await?;
        Ok(())
    }

    pub(crate) fn last_in(&self, found: &[KeyValue]) -> Result<Index, Trouble> {
        self.number("`last`", found).map(Index::new)
    }

    /// Reads at one moment. It is linearizable: etcd asks a quorum who leads before it answers.
    async fn look(&self, gets: impl Into<Vec<TxnOp>>) -> Result<Outcome, Failure> {
        let txn = Txn::new().and_then(gets);
        self.servers.transact(txn).await
    }

    fn number(&self, what: &str, found: &[KeyValue]) -> Result<u64, Trouble> {
        let unreadable = |why: &str| Trouble::unreadable(&self.place, what, why);
        let value = found.first().ok_or_else(|| unreadable("it is not there"))?;
        let text = self.text(what, value)?;
        text.parse().map_err(|_| unreadable("it is not a number"))
    }

    fn text<'a>(&self, what: &str, value: &'a KeyValue) -> Result<&'a str, Trouble> {
        std::str::from_utf8(value.value())
            .map_err(|error| Trouble::unreadable(&self.place, what, error))
    }
}

fn get(key: String) -> TxnOp {
    TxnOp::get(key, None)
}
