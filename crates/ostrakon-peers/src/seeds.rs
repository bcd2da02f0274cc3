//! `Seeds`: whom a peer asks first.
//!
//! Names are looked up anew at each try, because where there are names, addresses come and go. Addresses are compared letter by letter
//! later on, so every address that is found is written as the system writes it. A name that has no address remains as it is: a seed that does not
//! answer, which is waited for as for any other.

use std::{fmt, future::Future, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use ostrakon_core::Address;
use tokio::task::JoinSet;

/// How long one name may take to be looked up.
const LOOK_UP: Duration = Duration::from_secs(3);

/// Whom a peer asks first.
#[derive(Clone, Default)]
pub struct Seeds(Kind);

type Asked = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;

#[derive(Clone)]
enum Kind {
    Listed(Vec<String>),
    Asked(Arc<dyn Fn() -> Asked + Send + Sync>),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Seeds {
    /// Nobody: the peer forms a cluster of its own.
    pub fn none() -> Self {
        Self::default()
    }

    /// These, each `host:port`.
    pub fn new(seeds: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Kind::Listed(seeds.into_iter().map(Into::into).collect()))
    }

    /// Whomever this names, each `host:port`; it is asked at each try. As long as it names nobody, the peer waits: a peer that shall form a
    /// cluster when it is alone must be told its own address.
    pub fn asked<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<String>> + Send + 'static,
    {
        Self(Kind::Asked(Arc::new(move || Box::pin(ask()))))
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(&self.0, Kind::Listed(seeds) if seeds.is_empty())
    }

    /// Whether they may be elsewhere at the next try.
    pub fn may_change(&self) -> bool {
        match &self.0 {
            Kind::Listed(seeds) => seeds.iter().any(|seed| seed.parse::<SocketAddr>().is_err()),
            Kind::Asked(_) => true,
        }
    }

    /// Where they are now.
    pub async fn find(&self) -> Vec<Address> {
        let named = match &self.0 {
            Kind::Listed(seeds) => seeds.clone(),
            Kind::Asked(ask) => ask().await,
        };
        let looking: JoinSet<_> = named.into_iter().map(look_up).collect();
        let mut found: Vec<_> = looking.join_all().await.into_iter().flatten().collect();
        found.sort();
        found.dedup();
        found
    }
}

async fn look_up(seed: String) -> Vec<Address> {
    let looking = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host(&seed));
    let found: Vec<_> = match looking.await {
        Ok(Ok(found)) => found.map(|address| address.to_string()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let found = if found.is_empty() { vec![seed] } else { found };
    let checked = found.into_iter().filter_map(|text| {
        let checked = Address::new(&text);
        checked
            .inspect_err(|error| tracing::warn!(seed = text, %error, "a seed is left out"))
            .ok()
    });
    checked.collect()
}

impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Listed(seeds) => f.debug_tuple("Seeds").field(seeds).finish(),
            Kind::Asked(_) => f.write_str("Seeds(asked)"),
        }
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Seeds {
    fn from(seeds: [T; N]) -> Self {
        Self::new(seeds)
    }
}

impl<T: Into<String>> From<Vec<T>> for Seeds {
    fn from(seeds: Vec<T>) -> Self {
        Self::new(seeds)
    }
}

#[cfg(test)]
mod tests;
