//! `Listener`: hears of appends by a subscription.
//!
//! What is published while there is no connection is lost, so after each connecting it looks for itself. If that fails too, whoever waits
//! looks after the poll interval.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use ostrakon_core::Index;
use redis::Client;
use redis::aio::PubSub;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connection::Connection;
use super::scripts;
use super::trouble::Trouble;
use crate::backend::{Backoff, Known, NoAnswer};

/// Ends when it is dropped.
pub(super) struct Listener(JoinHandle<()>);

impl Listener {
    pub(super) fn start(client: Client, connection: Arc<Connection>, known: Arc<Known>) -> Self {
        Self(tokio::spawn(async move {
            let mut backoff = Backoff::default();
            loop {
                // Why it ended is seen by every other call as well.
                let Err(_) = follow(&client, &connection, &known, &mut backoff).await;
                backoff.wait().await;
            }
        }))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn follow(
    client: &Client,
    connection: &Connection,
    known: &Known,
    backoff: &mut Backoff,
) -> Result<Infallible, Trouble> {
    let deadline = connection.settings().deadline;
    let subscribing = timeout(deadline, subscribe(client, connection, known)).await;
    let subscribed = subscribing.unwrap_or(Err(Trouble::Late(NoAnswer(deadline))));
    let mut subscribed = subscribed?;
    backoff.reset();
    let mut news = subscribed.on_message();
    while let Some(message) = news.next().await {
        known.hear(Index::new(message.get_payload()?));
    }
    let lost = io::Error::from(io::ErrorKind::ConnectionReset);
    Err(redis::RedisError::from(lost).into())
}

async fn subscribe(
    client: &Client,
    connection: &Connection,
    known: &Known,
) -> Result<PubSub, Trouble> {
    let mut subscription = client.get_async_pubsub().await?;
    subscription.subscribe(&connection.keys().channel).await?;
    let mut other = connection.get().await?;
    known.hear(scripts::head(&mut other, connection.keys()).await?.last);
    Ok(subscription)
}
