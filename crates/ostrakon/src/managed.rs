//! `Managed`: how a node takes part in a cluster that managers look after.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use ostrakon_control::Seat;
use ostrakon_core::{GroupName, NodeVersion};
use ostrakon_storage::Storage;
use ostrakon_tls::{Role, Security};
use tokio::sync::watch;

use crate::{
    Limits, StartError,
    link::Hub,
    plane::{Deciders, Membership, Part, part_settings},
    watchdog::Strictness,
};

/// How a node takes part in a cluster that managers look after.
///
/// ```
/// use ostrakon::Managed;
///
/// let managed = Managed::by(["manager-0:9470", "manager-1:9470"])
///     .cluster("bank")
///     .listen("127.0.0.1:0")
///     .version("1.4.0");
/// ```
#[must_use = "give it to `NodeBuilder::managed`"]
#[derive(Clone)]
pub struct Managed {
    managers: Vec<String>,
    storage: Option<Arc<dyn Storage>>,
    pub(crate) part: Part,
}

impl Managed {
    /// Takes part in the cluster of these managers, each given as `host:port`. One is enough to begin with; name them all, so that
    /// the node finds whichever leads.
    pub fn by<M: Into<String>>(managers: impl IntoIterator<Item = M>) -> Self {
        Self {
            managers: managers.into_iter().map(Into::into).collect(),
            storage: None,
            part: Part::default(),
        }
    }

    part_settings!();

    /// The storage of the managers, if nodes can reach it too. The node then reads the log there and, under leases, renews its own
    /// there: it does not notice when the managers are away, and can start and stop meanwhile.
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    pub(crate) async fn join(&self, hub: &Arc<Hub>, seat: Seat) -> Result<Membership, StartError> {
        let managers = self.managers.iter().map(|manager| manager.as_str().into());
        let (_, addresses) = watch::channel(managers.collect());
        let deciders = Deciders {
            addresses,
            role: Role::Manager,
            storage: self.storage.clone(),
            gossip: None,
        };
        self.part.join(hub, seat, deciders).await
    }
}

impl From<&str> for Managed {
    fn from(manager: &str) -> Self {
        Self::by([manager])
    }
}

impl From<String> for Managed {
    fn from(manager: String) -> Self {
        Self::by([manager])
    }
}

impl From<SocketAddr> for Managed {
    fn from(manager: SocketAddr) -> Self {
        Self::by([manager.to_string()])
    }
}
