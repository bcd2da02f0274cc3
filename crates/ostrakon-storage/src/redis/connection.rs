//! `Connection`: one for all calls, made anew by the next call when it has failed.
//!
//! Nothing is sent again on a new connection: whoever sent it is told that nobody knows. Each new connection may lead to a server with
//! other settings, so each is looked at before it is used.

use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};

use super::durability;
use super::keys::Keys;
use super::scripts;
use super::trouble::Trouble;
use crate::StorageSettings;
use crate::backend::FORMAT;

pub(super) struct Connection {
    client: Client,
    keys: Keys,
    settings: StorageSettings,
    present: Mutex<Option<MultiplexedConnection>>,
}

impl Connection {
    pub(super) fn to(client: Client, keys: Keys, settings: StorageSettings) -> Self {
        Self {
            client,
            keys,
            settings,
            present: Mutex::default(),
        }
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(super) fn settings(&self) -> StorageSettings {
        self.settings
    }

    /// The present one if it works, or a new one. If it fails, nothing was sent: asking first tells a server that is gone from one that
    /// did not answer to what it got.
    pub(super) async fn get(&self) -> Result<MultiplexedConnection, Trouble> {
        let present = self.present().clone();
        if let Some(mut connection) = present {
            let ping = redis::cmd("PING").exec_async(&mut connection).await;
            if ping.is_ok() {
                return Ok(connection);
            }
        }
        let connection = self.connect().await?;
        *self.present() = Some(connection.clone());
        Ok(connection)
    }

    /// Something is wrong with it: the next call makes a new one.
    pub(super) fn forget(&self) {
        *self.present() = None;
    }

    async fn connect(&self) -> Result<MultiplexedConnection, Trouble> {
        let limit = Some(self.settings.deadline);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(limit)
            .set_response_timeout(limit);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await?;
        if !self.settings.accept_loss {
            durability::check(&mut connection).await?;
        }
        match scripts::format(&mut connection, &self.keys).await? {
            FORMAT => Ok(connection),
            other => Err(Trouble::Format(other)),
        }
    }

    fn present(&self) -> MutexGuard<'_, Option<MultiplexedConnection>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
