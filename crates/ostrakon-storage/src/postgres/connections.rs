//! `Connections`: a few of them, each used by one call at a time.
//!
//! Not a general pool, because three things matter here that pools do not promise: whoever cannot connect is told at once and why; a call
//! that is given up closes its connection, so that one that hangs is not handed on; and nothing is ever sent twice.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::trouble::Trouble;

/// So many at once; further calls wait within their deadlines.
const MOST: usize = 4;

pub(super) struct Connections {
    options: PgConnectOptions,
    deadline: Duration,
    idle: Mutex<Vec<PgConnection>>,
    room: Semaphore,
}

/// A connection for one call. Dropped, it is closed: only [`give_back`](Self::give_back) keeps it, after the call has ended well.
pub(super) struct Lent<'a> {
    connection: Option<PgConnection>,
    owner: &'a Connections,
    _room: SemaphorePermit<'a>,
}

impl Connections {
    pub(super) fn to(options: PgConnectOptions, deadline: Duration) -> Self {
        Self {
            options: options.disable_statement_logging(),
            deadline,
            idle: Mutex::default(),
            room: Semaphore::new(MOST),
        }
    }

    /// One that works, or worked a moment ago.
    pub(super) async fn get(&self) -> Result<Lent<'_>, Trouble> {
        let room = self.room.acquire().await.expect("it is never closed");
        let connection = match self.take_working().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lent {
            connection: Some(connection),
            owner: self,
            _room: room,
        })
    }

    /// After a restart of the server all of them are dead.
    async fn take_working(&self) -> Option<PgConnection> {
        while let Some(mut connection) = self.take_idle() {
            if connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
        None
    }

    fn take_idle(&self) -> Option<PgConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    async fn connect(&self) -> Result<PgConnection, Trouble> {
        let mut connection = self.options.connect().await?;
        // A call that was given up, here or by a lost connection, must not hold its locks for longer than others wait for them.
        let limit = self.deadline.as_millis().max(1);
        let settings = format!(
            "SET synchronous_commit = on; SET statement_timeout = {limit}; \
             SET idle_in_transaction_session_timeout = {limit}"
        );
        sqlx::raw_sql(AssertSqlSafe(settings))
            .execute(&mut connection)
            .await?;
        let is_standby = sqlx::query_scalar("SELECT pg_is_in_recovery()");
        match is_standby.fetch_one(&mut connection).await? {
            true => Err(Trouble::Standby),
            false => Ok(connection),
        }
    }
}

impl Lent<'_> {
    pub(super) fn give_back(mut self) {
        let mut idle = self
            .owner
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.connection.take());
    }
}

impl Deref for Lent<'_> {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("it was not given back")
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("it was not given back")
    }
}
