//! Whether a node that runs in a pod is dead, as Kubernetes knows it.
//!
//! [`KubernetesHealth`] asks the API server about the pod of a silent node, and looks at the status of the node's container. It is a
//! [`Health`](ostrakon_health::Health) of its own crate because a client of Kubernetes is heavy; nothing else of Ostrakon needs it.
//!
//! # What is proof, and what is not
//!
//! | the API server says | the node is |
//! |---|---|
//! | the container with the node's own container id, or the node's own mark, is `terminated` (now, or before a restart) | dead |
//! | the container is `terminated`, and the pod as a whole has ended: `Succeeded` or `Failed`, and not as a disruption | dead |
//! | the container is `running`, and it is that of the node: same id, or it never restarted | alive |
//! | the container is `terminated`, but the pod may start it again | unknown |
//! | the pod is not there, or another pod has its name | unknown |
//! | the container ended, but how is a guess: `ContainerStatusUnknown`, `Unknown` | unknown |
//! | the pod shares its processes with others (`hostPID`, `shareProcessNamespace`) | unknown |
//! | not ready, waiting, an error, nothing | unknown |
//!
//! *A pod that is not there* is no proof because an object is not a process: `kubectl delete --force`, and the clean-up after a host that
//! was lost, remove the object while the container may still run on a host that nobody can reach. The name of the pod given to another one
//! says the same and no more.
//!
//! *A container that may start again* keeps its name and its pod's UID when it does. What the API server shows was reported by the host, a
//! while ago: perhaps that the run before ended, while the node's own run has begun since and nobody could report it. So it must be known
//! which run has ended. Times do not tell, because they are those of another machine. Two things do:
//!
//! - `kubernetes.container_id` in the [place](ostrakon_core::Registration::place) of the node is the id that the status shows, with or
//!   without the `containerd://` before it.
//! - `kubernetes.run` is a mark that no other run has, of 16 or more characters. The node writes the line `ostrakon run MARK` into
//!   `/dev/termination-log` when it begins. Kubernetes makes that file anew for every run and shows what was in it in the status of the
//!   run that ended.
//!
//! # What a deployment needs
//!
//! The node must know its pod. In its container:
//!
//! ```yaml
//! env:
//!   - { name: POD_UID,       valueFrom: { fieldRef: { fieldPath: metadata.uid } } }
//!   - { name: POD_NAME,      valueFrom: { fieldRef: { fieldPath: metadata.name } } }
//!   - { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
//!   - { name: CONTAINER_NAME, value: guild }   # only if the pod has several
//! ```
//!
//! The manager must be allowed to read a pod by its name, in the namespace of the nodes. Only with a
//! [`selector`](KubernetesSettings::selector), which `ostrakon manager` never sets, it needs the verb `list` as well.
//!
//! ```yaml
//! apiVersion: rbac.authorization.k8s.io/v1
//! kind: Role
//! metadata: { name: ostrakon-manager }
//! rules:
//!   - { apiGroups: [""], resources: [pods], verbs: [get] }
//! ---
//! apiVersion: rbac.authorization.k8s.io/v1
//! kind: RoleBinding
//! metadata: { name: ostrakon-manager }
//! roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: ostrakon-manager }
//! subjects: [{ kind: ServiceAccount, name: ostrakon-manager }]
//! ```

mod error;
mod kubernetes_health;
mod run;
mod settings;
mod verdict;

pub use error::{AskError, Cause, ConnectError};
pub use kubernetes_health::KubernetesHealth;
pub use settings::KubernetesSettings;
