//! `KubernetesHealth` against an [`ApiServer`](api_server::ApiServer) that stands in for that of Kubernetes; and whether the manifests in
//! `deploy/kubernetes` are what Kubernetes takes, and fit together.

mod api_server;
mod manifests;
mod pods;
mod probing;
mod starting;
