//! `Redis`: the log in a Redis server.
//!
//! Each call is one script, so nothing comes between its parts. Redis acknowledges before it has written unless it is told otherwise, and
//! a replica that takes over has not seen what was acknowledged last. Either gives an index, and so an epoch, away twice. So a server is
//! [refused](durability) unless it stands alone and writes first, and looked at again whenever it has been connected to.

mod connection;
mod durability;
mod keys;
mod listener;
mod scripts;
mod trouble;

use std::sync::Arc;

use ostrakon_core::{Incarnation, Index, Snapshot, Term};
use redis::{Client, IntoConnectionInfo};
use tokio::time::{Instant, timeout, timeout_at};

use crate::backend::{Batch, Compaction, Known, Limits, NoAnswer};
use crate::{
    Append, AppendError, BoxFuture, Cause, Head, OpenError, Read, Renewal, Renewed, Storage,
    StorageError, StorageSettings,
};
use connection::Connection;
use keys::Keys;
use listener::Listener;
use scripts::Written;
use trouble::Trouble;

/// A log in a server.
pub struct Redis {
    place: String,
    keys: Keys,
    connection: Arc<Connection>,
    known: Arc<Known>,
    settings: StorageSettings,
    _listener: Listener,
}

impl Redis {
    /// Connects, and looks whether the server can be trusted with a log.
    pub async fn open(
        url: &str,
        cluster: &str,
        settings: StorageSettings,
    ) -> Result<Self, OpenError> {
        let client = client(url)?;
        let place = place(&client);
        let keys = Keys::of(cluster);
        let connection = Arc::new(Connection::to(client.clone(), keys.clone(), settings));
        let opening = async {
            let mut connection = connection.get().await?;
            scripts::head(&mut connection, &keys).await
        };
        let deadline = settings.deadline;
        let head = timeout(deadline, opening).await;
        let head = head.unwrap_or(Err(Trouble::Late(NoAnswer(deadline))));
        let head = head.map_err(|trouble| trouble.at_opening(&place))?;
        let known = Arc::new(Known::default());
        known.hear(head.last);
        let listener = Listener::start(client, Arc::clone(&connection), Arc::clone(&known));
        Ok(Self {
            place,
            keys,
            connection,
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
        ended.map_err(|trouble| {
            self.connection.forget();
            StorageError::Unavailable {
                place: self.place.clone(),
                tried,
                source: trouble.into(),
            }
        })
    }

    async fn write(&self, append: &Append<'_>) -> Result<(), AppendError> {
        let batch = Batch::of(append, &self.place, Limits::default())?;
        let late = Trouble::Late(NoAnswer(self.settings.deadline));
        let deadline = Instant::now() + self.settings.deadline;
        let mut connection = match timeout_at(deadline, self.connection.get()).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(trouble)) => return Err(self.unavailable(trouble)),
            Err(_) => return Err(self.unavailable(late)),
        };
        let written = scripts::append(&mut connection, &self.keys, append, &batch);
        match timeout_at(deadline, written).await {
            Ok(Ok(Written::Done)) => {
                self.known.hear(batch.last);
                Ok(())
            }
            Ok(Ok(Written::Conflict)) => {
                let after = append.after;
                Err(AppendError::Conflict { after })
            }
            Ok(Ok(Written::Renewed(incarnation))) => Err(AppendError::Renewed { incarnation }),
            Ok(Err(trouble)) if trouble.is_a_refusal() => Err(self.unavailable(trouble)),
            Ok(Err(trouble)) => Err(self.unknown(trouble)),
            Err(_) => Err(self.unknown(late)),
        }
    }

    fn unavailable(&self, source: impl Into<Cause>) -> AppendError {
        self.connection.forget();
        AppendError::Unavailable {
            place: self.place.clone(),
            source: source.into(),
        }
    }

    fn unknown(&self, source: impl Into<Cause>) -> AppendError {
        self.connection.forget();
        AppendError::Unknown {
            place: self.place.clone(),
            source: source.into(),
        }
    }
}

impl Storage for Redis {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>> {
        Box::pin(async move { self.write(&append).await })
    }

    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>> {
        Box::pin(async move {
            let found = self.within("read", async {
                let mut connection = self.connection.get().await?;
                scripts::read(&mut connection, &self.keys, behind).await
            });
            let found = found.await?;
            self.known.hear(found.last);
            found.parse(&self.place, behind)
        })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>> {
        Box::pin(self.within("read", async {
            let mut connection = self.connection.get().await?;
            scripts::head(&mut connection, &self.keys).await
        }))
    }

    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(self.within("write to", async move {
            let mut connection = self.connection.get().await?;
            scripts::beat(&mut connection, &self.keys, term, count).await
        }))
    }

    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let compaction = Compaction::of(snapshot, &self.place)?;
            let last = self.within("write to", async {
                let mut connection = self.connection.get().await?;
                scripts::compact(&mut connection, &self.keys, &compaction).await
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
            let mut connection = self.connection.get().await?;
            scripts::renew(&mut connection, &self.keys, incarnation, renewal).await
        }))
    }

    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>> {
        Box::pin(self.within("read", async {
            let mut connection = self.connection.get().await?;
            scripts::leases(&mut connection, &self.keys).await
        }))
    }
}

fn client(url: &str) -> Result<Client, OpenError> {
    if url.starts_with("rediss:") {
        // Fails if the program has chosen another already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let client = url.into_connection_info().and_then(Client::open);
    client.map_err(|error| OpenError::InvalidUrl {
        url: crate::open::without_password(url),
        reason: error.to_string(),
    })
}

/// The server and its database, without the password.
fn place(client: &Client) -> String {
    let info = client.get_connection_info();
    let number = info.redis_settings().db();
    format!("Redis at {}, database {number}", info.addr())
}
