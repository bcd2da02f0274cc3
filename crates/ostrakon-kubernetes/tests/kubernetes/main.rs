//! `KubernetesHealth` against an [`ApiServer`](api_server::ApiServer) that stands in for that of Kubernetes.

mod api_server;
mod pods;
mod probing;
mod starting;
