//! The contenders between two processes.
//!
//! A contender is a server that hosts [`ENTITIES`] counters and a client that
//! reaches them by id over loopback. The loops are in `remote`, the processes in
//! `server`; a module below only translates. The heavy peers are compiled in by
//! the feature `peers` alone; without it they say so instead of taking part.

mod body;
mod client;
#[cfg(feature = "peers")]
mod coerce;
mod framed;
#[cfg(feature = "peers")]
mod kameo;
mod limit;
mod mailbox;
mod ours;
#[cfg(feature = "peers")]
mod ractor;
#[cfg(feature = "peers")]
mod tonic;
mod waiting;
mod wire;

use std::future::Future;

use anyhow::{Result, bail, ensure};

use super::Name;
use crate::measure::Link;

pub(crate) use body::Body;

/// How many entities a server hosts.
pub(crate) const ENTITIES: u64 = 1000;
const SHARDS: u64 = 256;

/// The client side; [`Remote::serve`] is the other one.
pub(crate) trait Remote: Sized + Send + Sync + 'static {
    /// Why it does not take part, where it does not.
    const ABSENT: Option<&'static str> = None;
    /// How many of its entities are told apart: those without sharding have one for all.
    const APART: u64 = ENTITIES;

    /// What has to stay alive for as long as the server serves.
    type Host: Send + 'static;

    /// Serve on a free port of loopback. The text is handed to [`Remote::connect`]
    /// in the other process as it is; it must be a single line.
    fn serve(link: Link) -> impl Future<Output = Result<(String, Self::Host)>> + Send;

    /// Connect to what `serve` announced; when this returns, calls can be made.
    fn connect(address: &str, link: Link) -> impl Future<Output = Result<Self>> + Send;

    /// Send a message and wait for the answer of the entity.
    fn ask(&self, entity: &Address, body: Body) -> impl Future<Output = Result<Body>> + Send;

    /// Send a message that is not answered. It is handled before any message that
    /// is sent to the same entity after this has returned.
    fn tell(&self, entity: &Address, body: Body) -> impl Future<Output = Result<()>> + Send;

    /// The slowest heartbeat since the last call, where there are heartbeats.
    fn slowest_heartbeat(&self) -> Option<std::time::Duration> {
        None
    }

    /// Have the entity send `count` bodies of `size` bytes that carry 0, 1, 2, …
    /// and hand each to `each` in that order.
    fn stream(
        &self,
        _entity: &Address,
        _count: u64,
        _size: usize,
        _each: impl FnMut(Body) -> Result<()> + Send,
    ) -> impl Future<Output = Result<()>> + Send {
        async { bail!("has no streams") }
    }
}

/// Where a message goes.
#[derive(Clone)]
pub(crate) struct Address {
    /// Sixteen characters.
    pub(crate) id: String,
    pub(crate) shard: u32,
}

impl Address {
    pub(crate) fn of(number: u64) -> Self {
        Self {
            id: format!("entity-{number:09}"),
            shard: (number % SHARDS) as u32,
        }
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..ENTITIES).map(Self::of)
    }
}

/// Something to be done with a contender whose type is known only by its name.
pub(crate) trait Job {
    type Done;

    fn run<R: Remote>(self) -> Result<Self::Done>;
}

/// Do it; fails for a contender that does not exist in this build.
pub(crate) fn with<J: Job>(name: Name, job: J) -> Result<J::Done> {
    match name {
        Name::Limit => job.run::<limit::Limit>(),
        Name::Framed => job.run::<framed::Framed>(),
        Name::Ours => job.run::<ours::Ours>(),
        #[cfg(feature = "peers")]
        Name::Tonic => job.run::<tonic::Tonic>(),
        #[cfg(feature = "peers")]
        Name::Kameo => job.run::<kameo::Kameo>(),
        #[cfg(feature = "peers")]
        Name::Ractor => job.run::<ractor::Ractor>(),
        #[cfg(feature = "peers")]
        Name::Coerce => job.run::<coerce::Coerce>(),
        #[cfg(not(feature = "peers"))]
        Name::Tonic | Name::Kameo | Name::Ractor | Name::Coerce => {
            bail!("not built in; use --features peers")
        }
        Name::Actix => bail!("has no remote actors"),
    }
}

/// Why a contender does not take part between processes, where it does not.
pub(crate) fn absence(name: Name) -> Option<String> {
    struct Absence;

    impl Job for Absence {
        type Done = Option<String>;

        fn run<R: Remote>(self) -> Result<Option<String>> {
            Ok(R::ABSENT.map(str::to_owned))
        }
    }

    with(name, Absence).unwrap_or_else(|reason| Some(reason.to_string()))
}

/// Only ours is measured with encryption; the others must not pretend to.
fn plain(link: Link) -> Result<()> {
    ensure!(link != Link::Tls, "does not encrypt");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn told_3_then_asked_4<R: Remote>() -> u64 {
        let (address, _host) = R::serve(Link::Plain).await.unwrap();
        let client = R::connect(&address, Link::Plain).await.unwrap();
        let entity = Address::of(ENTITIES - 1);
        client.tell(&entity, Body::carrying(3, 32)).await.unwrap();
        let answer = client.ask(&entity, Body::carrying(4, 4096)).await.unwrap();
        assert_eq!(answer.len(), 4096);
        answer.number()
    }

    #[tokio::test]
    async fn a_tell_is_handled_before_the_ask_that_follows_it() {
        assert_eq!(told_3_then_asked_4::<limit::Limit>().await, 7);
        assert_eq!(told_3_then_asked_4::<framed::Framed>().await, 7);
        #[cfg(feature = "peers")]
        assert_eq!(told_3_then_asked_4::<tonic::Tonic>().await, 7);
    }

    #[tokio::test]
    async fn a_stream_ends_after_the_items_that_were_asked_for() {
        let (address, ()) = limit::Limit::serve(Link::Plain).await.unwrap();
        let client = limit::Limit::connect(&address, Link::Plain).await.unwrap();
        let mut seen = Vec::new();
        let keep = |item: Body| {
            seen.push(item.number());
            Ok(())
        };
        let entity = Address::of(0);
        client.stream(&entity, 5000, 32, keep).await.unwrap();
        assert_eq!(seen, (0..5000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn who_cannot_encrypt_refuses_to_pretend() {
        assert!(limit::Limit::serve(Link::Tls).await.is_err());
        assert!(
            framed::Framed::connect("127.0.0.1:1", Link::Tls)
                .await
                .is_err()
        );
    }
}
