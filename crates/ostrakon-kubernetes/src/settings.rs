//! `KubernetesSettings`: where the pods of the nodes are.

use std::time::Duration;

/// How to find the pods of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesSettings {
    /// The namespace of nodes that do not say theirs. If it is not set, that of the manager.
    pub namespace: Option<String>,
    /// Labels that the pods of all nodes have, such as `app=guild`. Needed for nodes that say only the UID of their pod; with it,
    /// [a check](crate::KubernetesHealth::check) also sees whether there are such pods at all.
    pub selector: Option<String>,
    /// Every question ends by then, one way or the other.
    pub deadline: Duration,
}

/// The manager's own namespace, no labels, 3 s.
impl Default for KubernetesSettings {
    fn default() -> Self {
        Self {
            namespace: None,
            selector: None,
            deadline: Duration::from_secs(3),
        }
    }
}
