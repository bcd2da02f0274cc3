//! What is said when a storage cannot be opened.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use etcd_client::PermissionType::Readwrite;
use etcd_client::{Client, Permission};
use ostrakon_core::Index;
use ostrakon_servers::Etcd;
use ostrakon_storage::conformance::{patient, takeover};
use ostrakon_storage::{Append, OpenError, StorageSettings};

use crate::shared::{self, Shared, hasty};

async fn refused(url: &str, cluster: &str, settings: StorageSettings) -> OpenError {
    match ostrakon_etcd::open(url, cluster, settings).await {
        Err(error) => error,
        Ok(_) => panic!("{url} must not open"),
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_at_once() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("etcd://{}", free.local_addr().unwrap());
    drop(free);
    let since = Instant::now();
    let error = refused(&url, "shop", patient()).await;
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error:?}");
    assert!(since.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_by_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("etcd://{}", silent.local_addr().unwrap());
    let since = Instant::now();
    let error = refused(&url, "shop", hasty()).await;
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error:?}");
    assert!((Duration::from_millis(400)..Duration::from_secs(10)).contains(&since.elapsed()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_another_kind_is_refused() {
    let other = ostrakon_servers::Redis::start(&[]).unwrap();
    let url = other.url().replace("redis://", "etcd://");
    let error = refused(&url, "shop", hasty()).await;
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_name_that_cannot_be_part_of_a_key_is_refused() {
    let error = refused("etcd://nowhere", "a/b", hasty()).await;
    assert!(
        matches!(error, OpenError::InvalidCluster { .. }),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_format_is_left_alone() {
    let place = Shared::new();
    let mut client = place.client().await;
    let format = format!("/ostrakon/{}/format", place.cluster);
    client.put(format.clone(), "99", None).await.unwrap();
    let error = refused(&place.url(), &place.cluster, patient()).await;
    assert!(
        matches!(error, OpenError::NewerFormat { found: 99, .. }),
        "{error:?}"
    );
    client.put(format, "what", None).await.unwrap();
    let error = refused(&place.url(), &place.cluster, patient()).await;
    assert!(matches!(error, OpenError::Unavailable { .. }), "{error:?}");
}

/// One who may do everything, and one who may do nothing outside of another cluster.
async fn want_passwords(client: &mut Client) {
    for (user, role) in [("root", "root"), ("other", "reader")] {
        client.role_add(role).await.unwrap();
        client.user_add(user, "right", None).await.unwrap();
        client.user_grant_role(user, role).await.unwrap();
    }
    let elsewhere = Permission::new(Readwrite, "/ostrakon/other/").with_prefix();
    let granted = client.role_grant_permission("reader", elsewhere).await;
    granted.unwrap();
    client.auth_enable().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_may_not_is_denied_and_whoever_may_stays_in_after_a_restart() {
    let mut server = Etcd::start().unwrap();
    want_passwords(&mut shared::client(&server).await).await;
    let url = shared::url(&server);
    let as_user = |user: &str| url.replace("etcd://", &format!("etcd://{user}@"));
    for user in ["root:wrong", "nobody:right", "other:right"] {
        let error = refused(&as_user(user), "shop", patient()).await;
        assert!(
            matches!(error, OpenError::Denied { .. }),
            "{user}: {error:?}"
        );
    }
    let error = refused(&url, "shop", patient()).await;
    assert!(matches!(error, OpenError::Denied { .. }), "{error:?}");

    let storage = ostrakon_etcd::open(&as_user("root:right"), "shop", patient()).await;
    let storage = storage.unwrap();
    // Servers forget who has shown a password when they end.
    server.restart().unwrap();
    let since = Instant::now();
    while let Err(error) = storage.head().await {
        assert!(since.elapsed() < Duration::from_secs(30), "{error:?}");
    }
    let entries = [takeover(1)];
    let append = Append::behind(Index::default(), &entries);
    storage.append(append).await.unwrap();
}
