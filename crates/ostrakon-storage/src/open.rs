//! `open`: a storage by its address.

use std::path::Path;
use std::sync::Arc;

use crate::{Embedded, Memory, OpenError, Storage, StorageSettings};

/// Opens the log of a cluster.
///
/// | address | where the log is |
/// |---|---|
/// | `memory:` | in this handle; it ends with it |
/// | `file:PATH` | in one file, for one process at a time |
/// | `postgres://USER:PASSWORD@HOST/DATABASE` | in the schema `ostrakon` of a database (feature `postgres`) |
/// | `redis://:PASSWORD@HOST/NUMBER` | under keys that begin with `ostrakon:` (feature `redis`) |
pub async fn open(
    url: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Arc<dyn Storage>, OpenError> {
    check_cluster(cluster)?;
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    match scheme {
        "memory" if rest.is_empty() => Ok(Arc::new(Memory::new(settings))),
        "file" => file(url, rest, cluster, settings).await,
        "postgres" | "postgresql" => postgres(url, cluster, settings).await,
        "redis" | "rediss" => redis(url, cluster, settings).await,
        _ => Err(OpenError::InvalidUrl {
            url: without_password(url),
            reason: "it begins with none of memory:, file:, postgres:// and redis://".to_owned(),
        }),
    }
}

async fn file(
    url: &str,
    path: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Arc<dyn Storage>, OpenError> {
    let is_host = path.starts_with("//") && !path.starts_with("///");
    if path.is_empty() || is_host {
        return Err(OpenError::InvalidUrl {
            url: url.to_owned(),
            reason: "write file:PATH, such as file:/var/lib/ostrakon/log".to_owned(),
        });
    }
    let storage = Embedded::open(Path::new(path), cluster, settings).await?;
    Ok(Arc::new(storage))
}

#[cfg(feature = "postgres")]
async fn postgres(
    url: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Arc<dyn Storage>, OpenError> {
    let storage = crate::Postgres::open(url, cluster, settings).await?;
    Ok(Arc::new(storage))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &str, _: &str, _: StorageSettings) -> Result<Arc<dyn Storage>, OpenError> {
    Err(OpenError::MissingFeature {
        scheme: "PostgreSQL",
        feature: "postgres",
    })
}

#[cfg(feature = "redis")]
async fn redis(
    url: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Arc<dyn Storage>, OpenError> {
    let storage = crate::Redis::open(url, cluster, settings).await?;
    Ok(Arc::new(storage))
}

#[cfg(not(feature = "redis"))]
async fn redis(_: &str, _: &str, _: StorageSettings) -> Result<Arc<dyn Storage>, OpenError> {
    Err(OpenError::MissingFeature {
        scheme: "Redis",
        feature: "redis",
    })
}

fn check_cluster(cluster: &str) -> Result<(), OpenError> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=63).contains(&cluster.len()) && cluster.bytes().all(is_fine) {
        return Ok(());
    }
    Err(OpenError::InvalidCluster {
        cluster: cluster.to_owned(),
    })
}

/// Errors are logged and shown; a password must not be.
pub(crate) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(url: &str, cluster: &str) -> OpenError {
        let opened = open(url, cluster, StorageSettings::default()).await;
        opened.err().expect("it must not be opened")
    }

    #[tokio::test]
    async fn an_address_of_nothing_is_refused_without_its_password() {
        for url in ["", "memory:x", "file:", "file://host/log", "mysql://c/d"] {
            let error = refusal(url, "shop").await;
            assert!(
                matches!(error, OpenError::InvalidUrl { .. }),
                "{url}: {error:?}"
            );
        }
        let said = refusal("mysql://a:sesame@c/d", "shop").await.to_string();
        assert!(
            said.contains("mysql://…@c/d") && !said.contains("sesame"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_cluster_needs_a_name_that_can_be_part_of_a_key() {
        for cluster in ["", "a b", "a:b", "{a}", "ä", &"a".repeat(64)] {
            let error = refusal("memory:", cluster).await;
            assert!(
                matches!(error, OpenError::InvalidCluster { .. }),
                "{cluster}"
            );
        }
    }
}
