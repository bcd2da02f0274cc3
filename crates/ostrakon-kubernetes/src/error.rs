//! What keeps the API server from being asked.

use std::time::Duration;

/// What went wrong underneath.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no client. Nothing has been asked; the same will fail again until the surroundings change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Neither a service account nor a kubeconfig is there.
    #[error(
        "no way to Kubernetes is configured: run in a pod with a service account, or set KUBECONFIG"
    )]
    NotConfigured(#[source] Cause),
    /// What is configured cannot be used, such as a certificate that is none.
    #[error("the configured way to Kubernetes cannot be used")]
    Unusable(#[source] Cause),
}

/// Why the API server did not say anything about a pod. Nothing is known about any node then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It knows us, or does not, and will not tell. It will be the same until somebody changes a role.
    #[error(
        "reading pods in namespace {namespace:?} is not allowed: give the manager's service account a role with the verb get on pods there, and with list if a selector is set"
    )]
    Forbidden {
        /// Where.
        namespace: String,
        /// What it said.
        #[source]
        cause: Cause,
    },
    /// There are no such pods, though nodes run in them: it was the wrong question. No node is dead because of that.
    #[error(
        "no pod in namespace {namespace:?} has the labels {selector:?}: the selector or the namespace is wrong, and no node will be found"
    )]
    NothingFound {
        /// Where.
        namespace: String,
        /// Which labels.
        selector: String,
    },
    /// It did not answer in time. It may be asked again.
    #[error("the Kubernetes API did not answer within {0:?}")]
    TimedOut(Duration),
    /// It could not be reached, or answered with an error or with something that is no answer. It may be asked again.
    #[error("the Kubernetes API could not be asked")]
    Failed(#[source] Cause),
}

impl AskError {
    pub(crate) fn new(error: kube::Error, namespace: &str) -> Self {
        let is_refused =
            matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403));
        if is_refused {
            Self::Forbidden {
                namespace: namespace.to_owned(),
                cause: error.into(),
            }
        } else {
            Self::Failed(error.into())
        }
    }

    /// Whether asking again may help, though nobody has changed anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut(_) | Self::Failed(_) => true,
            Self::Forbidden { .. } | Self::NothingFound { .. } => false,
        }
    }
}
