//! `Ending`: the end of a node whose last handle was dropped.
//!
//! Nothing here waits in `drop`. Entities are ended between two polls; in a cluster a task then tells whoever decides, once nothing acts any more, and
//! closes the connections. Invariant: a shard is reported as given up only when all that lived in it has ended, as when a node leaves. If
//! there is no runtime any more, or it takes too long, all ends without a word, and the others find out by themselves.

use std::{sync::Arc, time::Duration};

use crate::{host::AnyHost, link::Hub, plane::Membership};

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is left of a node. All of it ends when this is dropped.
pub(super) struct Ending {
    pub(super) hosts: Vec<Arc<dyn AnyHost>>,
    pub(super) hub: Option<Arc<Hub>>,
    pub(super) membership: Option<Membership>,
}

impl Ending {
    /// Ends everything, and tells the others of it in the background.
    pub(super) fn begin(self) {
        if let Some(hub) = &self.hub
            && let Some(membership) = &self.membership
            && !membership.is_over()
        {
            for host in &self.hosts {
                host.end();
            }
            let runtime = hub.runtime.clone();
            // A runtime that has ended drops it at once.
            runtime.spawn(self.tell());
        }
    }

    async fn tell(self) {
        let (Some(hub), Some(membership)) = (&self.hub, &self.membership) else {
            return;
        };
        let telling = async {
            membership.hand_over().await;
            hub.leave().await;
        };
        if tokio::time::timeout(PATIENCE, telling).await.is_err() {
            tracing::warn!("a node was dropped, and nobody has taken note of it yet");
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        for host in &self.hosts {
            host.abandon();
        }
        if let Some(hub) = self.hub.take() {
            hub.close();
        }
    }
}
