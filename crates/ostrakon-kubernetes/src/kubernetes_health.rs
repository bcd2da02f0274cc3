//! `KubernetesHealth`: asks the API server about the pod of a node.
//!
//! Every question is a fresh read, not one from a cache of this process, and the answer is judged without any clock. Invariant: an error
//! of any kind, and an answer that names no such pod, is never death.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, Config, api::ListParams};
use ostrakon_core::{DeathProof, Liveness, Registration};
use ostrakon_health::{BoxFuture, Health};

use crate::{AskError, ConnectError, KubernetesSettings, run::Run, verdict::Verdict};

/// Proof from Kubernetes. See the [crate](crate) for what counts as such, and for what it needs to be allowed.
#[derive(Clone)]
pub struct KubernetesHealth {
    client: Client,
    settings: KubernetesSettings,
}

impl KubernetesHealth {
    /// Finds the API server as other programs do: by the service account of the pod, or by a kubeconfig. Does not speak with it yet.
    pub async fn connect(settings: KubernetesSettings) -> Result<Self, ConnectError> {
        let config = Config::infer().await;
        let config = config.map_err(|error| ConnectError::NotConfigured(error.into()))?;
        let client = Client::try_from(config);
        let client = client.map_err(|error| ConnectError::Unusable(error.into()))?;
        Ok(Self::with_client(client, settings))
    }

    /// Asks through this client.
    pub fn with_client(client: Client, settings: KubernetesSettings) -> Self {
        Self { client, settings }
    }

    /// Whether questions will be answered. For the start of a manager: a wrong role, namespace or selector would otherwise show only when
    /// a node is dead and nothing comes of it.
    pub async fn check(&self) -> Result<(), AskError> {
        let namespace = self.namespace(None);
        let pods = self.pods(namespace);
        match &self.settings.selector {
            Some(selector) => {
                let some = ListParams::default().labels(selector).limit(1);
                let found = self.ask(namespace, pods.list(&some)).await?.items;
                refuse_nothing(&found, namespace, selector)
            }
            // It need not be there, but we must be allowed to ask for it.
            None => self
                .ask(namespace, pods.get_opt("ostrakon-check"))
                .await
                .map(drop),
        }
    }

    async fn look(&self, node: &Registration) -> Result<Verdict, AskError> {
        let Some(run) = Run::of(node) else {
            return Ok(Verdict::Unknown("it does not say the UID of its pod"));
        };
        let namespace = self.namespace(run.namespace);
        let pods = self.pods(namespace);
        let pod = match (run.name, &self.settings.selector) {
            (Some(name), _) => self.ask(namespace, pods.get_opt(name)).await?,
            (None, Some(selector)) => self.find(&pods, namespace, selector, run.uid).await?,
            (None, None) => {
                return Ok(Verdict::Unknown(
                    "it does not say the name of its pod, and no selector is set to find it by",
                ));
            }
        };
        Ok(pod.map_or(
            Verdict::Unknown(
                "its pod is not listed, which does not prove that its container has stopped",
            ),
            |pod| Verdict::of(&run, &pod),
        ))
    }

    async fn find(
        &self,
        pods: &Api<Pod>,
        namespace: &str,
        selector: &str,
        uid: &str,
    ) -> Result<Option<Pod>, AskError> {
        let all = ListParams::default().labels(selector);
        let found = self.ask(namespace, pods.list(&all)).await?.items;
        refuse_nothing(&found, namespace, selector)?;
        let mut found = found.into_iter();
        Ok(found.find(|pod| pod.metadata.uid.as_deref() == Some(uid)))
    }

    async fn ask<T>(
        &self,
        namespace: &str,
        answer: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, AskError> {
        let deadline = self.settings.deadline;
        match tokio::time::timeout(deadline, answer).await {
            Ok(answer) => answer.map_err(|error| AskError::new(error, namespace)),
            Err(_) => Err(AskError::TimedOut(deadline)),
        }
    }

    fn namespace<'a>(&'a self, said: Option<&'a str>) -> &'a str {
        let set = self.settings.namespace.as_deref();
        said.or(set)
            .unwrap_or_else(|| self.client.default_namespace())
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

impl Health for KubernetesHealth {
    fn name(&self) -> &str {
        "kubernetes"
    }

    fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness> {
        Box::pin(async move {
            let name = &node.name;
            match self.look(node).await {
                Ok(Verdict::Alive) => Liveness::Alive,
                Ok(Verdict::Dead(why)) => Liveness::Dead(DeathProof::Platform(why)),
                Ok(Verdict::Unknown(why)) => {
                    tracing::debug!(node = %name, why, "Kubernetes does not know whether a node is dead");
                    Liveness::Unknown
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(node = %name, %error, cause, "Kubernetes cannot be asked about a node");
                    Liveness::Unknown
                }
            }
        })
    }
}

/// No pods at all is not all pods dead.
fn refuse_nothing(found: &[Pod], namespace: &str, selector: &str) -> Result<(), AskError> {
    if found.is_empty() {
        return Err(AskError::NothingFound {
            namespace: namespace.to_owned(),
            selector: selector.to_owned(),
        });
    }
    Ok(())
}

impl std::fmt::Debug for KubernetesHealth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("KubernetesHealth");
        shown
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
