//! What a manager can use only if this program was built with it: heavy, and not for everybody.

use std::sync::Arc;

use ostrakon_health::Health;
use ostrakon_manager::ManagerSettings;
use ostrakon_storage::Storage;

/// Asks Kubernetes whether nodes are dead.
#[cfg(feature = "kubernetes")]
pub(crate) async fn health() -> anyhow::Result<Arc<dyn Health>> {
    use anyhow::Context;
    use ostrakon_kubernetes::{KubernetesHealth, KubernetesSettings};

    let health = KubernetesHealth::connect(KubernetesSettings::default()).await;
    let health = health.context("health: kubernetes cannot be asked")?;
    health
        .check()
        .await
        .context("health: kubernetes does not answer as it has to")?;
    Ok(Arc::new(health))
}

#[cfg(not(feature = "kubernetes"))]
pub(crate) async fn health() -> anyhow::Result<Arc<dyn Health>> {
    anyhow::bail!(
        "health: this program was built without `kubernetes`: build it with `--features kubernetes`"
    )
}

/// Opens a log in etcd.
#[cfg(feature = "etcd")]
pub(crate) async fn etcd(settings: &ManagerSettings) -> anyhow::Result<Arc<dyn Storage>> {
    let (url, cluster) = (&settings.storage, &settings.cluster);
    Ok(ostrakon_etcd::open(url, cluster, settings.storage_settings).await?)
}

#[cfg(not(feature = "etcd"))]
pub(crate) async fn etcd(_: &ManagerSettings) -> anyhow::Result<Arc<dyn Storage>> {
    anyhow::bail!("storage: this program was built without etcd: build it with `--features etcd`")
}
