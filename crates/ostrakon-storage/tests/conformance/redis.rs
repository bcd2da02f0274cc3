//! The log in Redis.

use std::time::Duration;

use ostrakon_servers::Redis;
use ostrakon_storage::conformance::patient;
use ostrakon_storage::{OpenError, StorageSettings, open};

use crate::faults;
use crate::shared::{OnServer, Shared};

static SERVER: Shared<Redis> = Shared::new();

fn durable() -> Redis {
    Redis::start(Redis::DURABLE).unwrap()
}

fn place() -> OnServer<Redis> {
    let server = SERVER.get(durable);
    let url = server.url();
    OnServer::new(server, url)
}

ostrakon_storage::conformance_tests!(place());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_comes_back_without_reopening() {
    faults::a_server_that_ends_comes_back_without_reopening(durable()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_holds_nobody_up() {
    faults::a_paused_server_holds_nobody_up(durable()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_during_a_fault_is_never_misreported() {
    faults::an_append_during_a_fault_is_never_misreported(durable()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing() {
    let Some(disk) = faults::small_disk(4) else {
        return;
    };
    let server = Redis::start_in(disk, Redis::DURABLE).unwrap();
    faults::a_full_disk_loses_nothing(server, faults::WhenFull::Ends).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_a_paused_server_ends_by_its_deadline() {
    faults::opening_a_paused_server_ends_by_its_deadline(durable()).await;
}

async fn opening_fails(url: &str) -> OpenError {
    let Err(error) = open(url, "test", StorageSettings::default()).await else {
        panic!("it must not be opened");
    };
    error
}

async fn is_refused_unless_loss_is_accepted(server: &Redis, word: &str) {
    let error = opening_fails(&server.url()).await;
    assert!(matches!(&error, OpenError::NotDurable { .. }), "{error:?}");
    assert!(error.to_string().contains(word), "{error}");
    let accepting = StorageSettings {
        accept_loss: true,
        ..patient()
    };
    open(&server.url(), "test", accepting).await.unwrap();
}

#[tokio::test]
async fn a_server_that_writes_later_is_refused_unless_loss_is_accepted() {
    let server = Redis::start(&[("appendonly", "no")]).unwrap();
    is_refused_unless_loss_is_accepted(&server, "appendonly").await;
    let server = Redis::start(&[("appendonly", "yes"), ("appendfsync", "everysec")]).unwrap();
    is_refused_unless_loss_is_accepted(&server, "appendfsync").await;
}

#[tokio::test]
async fn a_server_that_does_not_stand_alone_is_refused() {
    let first = durable();
    let follows = format!("127.0.0.1 {}", first.port());
    let mut settings = Redis::DURABLE.to_vec();
    settings.push(("replicaof", &follows));
    let second = Redis::start(&settings).unwrap();
    let error = opening_fails(&second.url()).await;
    assert!(error.to_string().contains("is a replica"), "{error}");
    let attached = async {
        while open(&first.url(), "test", patient()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), attached)
        .await
        .unwrap();
    is_refused_unless_loss_is_accepted(&first, "1 replicas").await;
}

#[tokio::test]
async fn wrong_credentials_and_databases_are_told_from_a_server_that_is_not_there() {
    let mut settings = Redis::DURABLE.to_vec();
    settings.push(("requirepass", "secret"));
    let server = Redis::start(&settings).unwrap();
    let with = |user: &str| server.url().replace("redis://", &format!("redis://{user}"));
    let right = with(":secret@");
    open(&right, "test", patient()).await.unwrap();
    for url in [
        server.url(),
        with(":wr0ng@"),
        with("nobody:wr0ng@"),
        format!("{right}/99"),
    ] {
        let error = opening_fails(&url).await;
        assert!(
            matches!(&error, OpenError::Denied { .. }),
            "{url}: {error:?}"
        );
        assert!(!error.to_string().contains("wr0ng"), "{error}");
    }
    let error = opening_fails("redis://127.0.0.1:1").await;
    assert!(matches!(&error, OpenError::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn keys_of_a_later_version_are_refused() {
    let server = durable();
    drop(open(&server.url(), "test", patient()).await.unwrap());
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut change = redis::cmd("HSET");
    change.arg("ostrakon:{test}:head").arg("format").arg(99);
    change.exec_async(&mut connection).await.unwrap();
    let error = opening_fails(&server.url()).await;
    assert!(
        matches!(error, OpenError::NewerFormat { found: 99, .. }),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_became_careless_is_not_written_to() {
    let server = durable();
    let storage = open(&server.url(), "test", patient()).await.unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut change = redis::cmd("CONFIG");
    change.arg("SET").arg("appendfsync").arg("no");
    change.exec_async(&mut connection).await.unwrap();
    let mut part = redis::cmd("CLIENT");
    part.arg("KILL")
        .arg("TYPE")
        .arg("normal")
        .arg("SKIPME")
        .arg("yes");
    part.exec_async(&mut connection).await.unwrap();
    let error = storage.head().await.unwrap_err();
    let said = format!("{:?}", error);
    assert!(said.contains("appendfsync is no"), "{said}");
}
