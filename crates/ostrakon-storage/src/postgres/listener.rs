//! `Listener`: hears of appends by `LISTEN`.
//!
//! What is notified while there is no connection is lost, so after each connecting it looks for itself. If that fails too, whoever waits
//! looks after the poll interval.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_core::Index;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::task::JoinHandle;

use super::sql;
use crate::backend::{Backoff, Known};

/// One channel for all clusters of a database; the notification names the cluster.
pub(super) const CHANNEL: &str = "ostrakon";

/// Ends when it is dropped.
pub(super) struct Listener(JoinHandle<()>);

impl Listener {
    pub(super) fn start(
        options: PgConnectOptions,
        cluster: &str,
        known: Arc<Known>,
        deadline: Duration,
    ) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(deadline)
            .connect_lazy_with(options);
        let cluster = cluster.to_owned();
        Self(tokio::spawn(async move {
            let mut backoff = Backoff::default();
            loop {
                // Why it ended is seen by every other call as well.
                let Err(_) = follow(&pool, &cluster, &known, &mut backoff).await;
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
    pool: &PgPool,
    cluster: &str,
    known: &Known,
    backoff: &mut Backoff,
) -> Result<Infallible, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    known.hear(sql::last(&mut listener, cluster).await?);
    backoff.reset();
    loop {
        let news = listener.try_recv().await?;
        let news = news.ok_or(sqlx::Error::PoolTimedOut)?;
        if let Some(last) = last_in(news.payload(), cluster) {
            known.hear(last);
        }
    }
}

/// `CLUSTER INDEX`.
fn last_in(payload: &str, cluster: &str) -> Option<Index> {
    let (named, last) = payload.split_once(' ')?;
    (named == cluster).then(|| last.parse().ok().map(Index::new))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_other_clusters_are_not_ours() {
        assert_eq!(last_in("shop 12", "shop"), Some(Index::new(12)));
        assert_eq!(last_in("shop 12", "sho"), None);
        assert_eq!(last_in("", "shop"), None);
        assert_eq!(last_in("shop twelve", "shop"), None);
    }
}
