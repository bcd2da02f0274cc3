//! `Suspicions`: what a peer makes of the silence of those it listens to, for people to look at.

use std::collections::BTreeMap;

use ostrakon_core::NodeName;
use tokio::sync::{mpsc, oneshot};

use crate::topology_task::News;

/// Where to ask what a peer makes of the silence of others. Cheap to clone.
#[derive(Clone)]
pub struct Suspicions(pub(crate) mpsc::Sender<News>);

impl Suspicions {
    /// How much the silence of each neighbour that this peer listens to speaks against it at this moment; nobody's if the peer has ended.
    pub async fn phis(&self) -> BTreeMap<NodeName, f64> {
        let (answer, answered) = oneshot::channel();
        // One that has ended listens to nobody.
        let _ = self.0.send(News::Phis(answer)).await;
        answered.await.unwrap_or_default()
    }
}
