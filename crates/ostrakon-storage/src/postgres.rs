//! `Postgres`: the log in a PostgreSQL database.
//!
//! One row per entry, in the schema `ostrakon`, which is created when it is not there. The row of a cluster holds the end of its log;
//! whoever appends changes it from the index that it expects, so two cannot. An append counts when its transaction has been committed with
//! `synchronous_commit`; behind a failover to an asynchronous standby that is not enough, and only the operator can know of one.

mod connections;
mod listener;
mod schema;
mod sql;
mod staging;
mod trouble;

use std::str::FromStr;
use std::sync::Arc;

use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use sqlx::postgres::PgConnectOptions;
use tokio::time::{Instant, timeout, timeout_at};

use crate::backend::{Batch, Compaction, Known, Limits, NoAnswer};
use crate::{
    Append, AppendError, BoxFuture, Cause, Head, OpenError, Read, Renewal, Renewed, Storage,
    StorageError, StorageSettings,
};
use connections::{Connections, Lent};
use listener::Listener;
use trouble::{Refused, Trouble};

/// A log in a database.
pub struct Postgres {
    place: String,
    cluster: String,
    connections: Connections,
    known: Arc<Known>,
    settings: StorageSettings,
    _listener: Listener,
}

impl Postgres {
    /// Connects, and creates what is not there.
    pub async fn open(
        url: &str,
        cluster: &str,
        settings: StorageSettings,
    ) -> Result<Self, OpenError> {
        let options = PgConnectOptions::from_str(url).map_err(|error| OpenError::InvalidUrl {
            url: crate::open::without_password(url),
            reason: error.to_string(),
        })?;
        let options = options.application_name("ostrakon");
        let place = place(&options);
        let connections = Connections::to(options.clone(), settings.deadline);
        let opening = schema::open(&connections, &place, cluster, settings);
        let late = |_| OpenError::Unavailable {
            place: place.clone(),
            source: NoAnswer(settings.deadline).into(),
        };
        let head = timeout(settings.deadline, opening).await.map_err(late)??;
        let known = Arc::new(Known::default());
        known.hear(head.last);
        let listener = Listener::start(options, cluster, Arc::clone(&known), settings.deadline);
        Ok(Self {
            place,
            cluster: cluster.to_owned(),
            connections,
            known,
            settings,
            _listener: listener,
        })
    }

    async fn within<T>(
        &self,
        tried: &'static str,
        work: impl Future<Output = Result<T, Trouble>> + Send,
    ) -> Result<T, StorageError> {
        let deadline = self.settings.deadline;
        let ended = timeout(deadline, work).await;
        let ended = ended.unwrap_or(Err(Trouble::Late(NoAnswer(deadline))));
        ended.map_err(|trouble| StorageError::Unavailable {
            place: self.place.clone(),
            tried,
            source: trouble.into(),
        })
    }

    /// Everything of an append but its commit: as long as that was not sent, nothing counts.
    async fn stage(&self, append: &Append<'_>, batch: &Batch) -> Result<Lent<'_>, Refused> {
        let mut lent = self.connections.get().await?;
        staging::begin(&mut lent).await?;
        match staging::stage(&mut lent, &self.cluster, append, batch).await {
            Ok(()) => Ok(lent),
            Err(refused @ Refused::Failed(_)) => Err(refused),
            Err(refused) => {
                staging::rollback(&mut lent).await?;
                lent.give_back();
                Err(refused)
            }
        }
    }

    fn unavailable(&self, source: impl Into<Cause>) -> AppendError {
        AppendError::Unavailable {
            place: self.place.clone(),
            source: source.into(),
        }
    }

    fn unknown(&self, source: impl Into<Cause>) -> AppendError {
        AppendError::Unknown {
            place: self.place.clone(),
            source: source.into(),
        }
    }

    async fn write(&self, append: &Append<'_>) -> Result<(), AppendError> {
        let batch = Batch::of(append, &self.place, Limits::default())?;
        let late = NoAnswer(self.settings.deadline);
        let deadline = Instant::now() + self.settings.deadline;
        let staged = timeout_at(deadline, self.stage(append, &batch)).await;
        let mut lent = match staged {
            Ok(Ok(lent)) => lent,
            Ok(Err(Refused::Conflict)) => {
                let after = append.after;
                return Err(AppendError::Conflict { after });
            }
            Ok(Err(Refused::Renewed(incarnation))) => {
                return Err(AppendError::Renewed { incarnation });
            }
            Ok(Err(Refused::Failed(trouble))) => return Err(self.unavailable(trouble)),
            Err(_) => return Err(self.unavailable(late)),
        };
        match timeout_at(deadline, staging::commit(&mut lent)).await {
            Ok(Ok(())) => {
                lent.give_back();
                self.known.hear(batch.last);
                Ok(())
            }
            Ok(Err(trouble)) if trouble.undid_the_transaction() => Err(self.unavailable(trouble)),
            Ok(Err(trouble)) => Err(self.unknown(trouble)),
            Err(_) => Err(self.unknown(late)),
        }
    }
}

impl Storage for Postgres {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move { self.write(&append).await })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move {
            let found = self.within("read", async {
                let mut lent = self.connections.get().await?;
                let found = sql::read(&mut lent, &self.cluster, behind).await?;
                lent.give_back();
                Ok(found)
            });
            let found = found.await?;
            self.known.hear(found.last);
            found.parse(&self.place, behind)
        })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(self.within("read", async {
            let mut lent = self.connections.get().await?;
            let head = sql::head(&mut lent, &self.cluster).await?;
            lent.give_back();
            Ok(head)
        }))
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(self.within("write to", async move {
            let mut lent = self.connections.get().await?;
            sql::beat(&mut lent, &self.cluster, term, count).await?;
            lent.give_back();
            Ok(())
        }))
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, &self.place)?;
            let last = self.within("write to", async {
                let mut lent = self.connections.get().await?;
                let last = sql::compact(&mut lent, &self.cluster, &compaction).await?;
                lent.give_back();
                Ok(last)
            });
            compaction.fits(&self.place, last.await?)
        })
    }

    fn changed(&self, behind: Index) -> BoxFuture<'_, ()> {
        Box::pin(self.known.changed(behind, self.settings.poll))
    }

    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>> {
        Box::pin(self.within("write to", async move {
            let mut lent = self.connections.get().await?;
            let renewed = sql::renew(&mut lent, &self.cluster, incarnation, renewal).await?;
            lent.give_back();
            Ok(renewed)
        }))
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(self.within("read", async {
            let mut lent = self.connections.get().await?;
            let leases = sql::leases(&mut lent, &self.cluster).await?;
            lent.give_back();
            Ok(leases)
        }))
    }
}

/// The server and its database, without the password.
fn place(options: &PgConnectOptions) -> String {
    let user = options.get_username();
    let database = options.get_database().unwrap_or(user);
    let (host, port) = (options.get_host(), options.get_port());
    format!("PostgreSQL at {host}:{port}, database {database}, user {user}")
}
