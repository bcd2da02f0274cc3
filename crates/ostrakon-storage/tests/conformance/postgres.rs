//! The log in PostgreSQL.

use std::time::Instant;

use ostrakon_servers::Postgres;
use ostrakon_storage::conformance::patient;
use ostrakon_storage::{OpenError, StorageSettings, open};
use sqlx::{Connection, PgConnection};

use crate::faults;
use crate::shared::{OnServer, Shared};

static SERVER: Shared<Postgres> = Shared::new();

fn place() -> OnServer<Postgres> {
    let server = SERVER.get(|| Postgres::start().unwrap());
    let url = server.url();
    OnServer::new(server, url)
}

ostrakon_storage::conformance_tests!(place());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_comes_back_without_reopening() {
    faults::a_server_that_ends_comes_back_without_reopening(Postgres::start().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_holds_nobody_up() {
    faults::a_paused_server_holds_nobody_up(Postgres::start().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_during_a_fault_is_never_misreported() {
    faults::an_append_during_a_fault_is_never_misreported(Postgres::start().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing() {
    let Some(disk) = faults::small_disk(120) else {
        return;
    };
    // What was written ahead must fit, or the server would end.
    let settings = [("min_wal_size", "48MB"), ("max_wal_size", "48MB")];
    let server = Postgres::start_in(disk, &settings).unwrap();
    faults::a_full_disk_loses_nothing(server, faults::WhenFull::Refuses).await;
}

async fn opening_fails(url: &str) -> OpenError {
    let Err(error) = open(url, "test", StorageSettings::default()).await else {
        panic!("it must not be opened");
    };
    assert!(!error.to_string().contains("only-for-tests"), "{error}");
    error
}

#[tokio::test]
async fn wrong_credentials_and_databases_are_told_from_a_server_that_is_not_there() {
    let server = SERVER.get(|| Postgres::start().unwrap());
    let url = server.url();
    let denied = [
        url.replace("only-for-tests", "wrong"),
        url.replace("postgres:only", "nobody:only"),
        url.replace("/postgres", "/nowhere")
            .replace("/nowhere:", "/postgres:"),
    ];
    for url in &denied {
        let error = opening_fails(url).await;
        assert!(
            matches!(&error, OpenError::Denied { .. }),
            "{url}: {error:?}"
        );
    }
    let begun = Instant::now();
    let error = opening_fails("postgres://a:only-for-tests@127.0.0.1:1/b").await;
    assert!(matches!(&error, OpenError::Unavailable { .. }), "{error:?}");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    assert!(begun.elapsed() < StorageSettings::default().deadline);
}

#[tokio::test]
async fn tables_of_a_later_version_are_refused() {
    let server = Postgres::start().unwrap();
    drop(open(&server.url(), "test", patient()).await.unwrap());
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let change = sqlx::query("UPDATE ostrakon.format SET version = 99");
    change.execute(&mut connection).await.unwrap();
    let error = opening_fails(&server.url()).await;
    assert!(
        matches!(error, OpenError::NewerFormat { found: 99, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn managers_that_begin_at_once_create_the_tables_once() {
    let server = Postgres::start().unwrap();
    let url = server.url();
    let open = |cluster| open(&url, cluster, patient());
    let (a, b, c) = tokio::join!(open("a"), open("b"), open("a"));
    for storage in [a, b, c] {
        storage.unwrap().head().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_without_fsync_is_refused_unless_loss_is_accepted() {
    let server = Postgres::start_with(&[("fsync", "off")]).unwrap();
    let error = opening_fails(&server.url()).await;
    assert!(matches!(&error, OpenError::NotDurable { .. }), "{error:?}");
    assert!(error.to_string().contains("fsync"), "{error}");
    let accepting = StorageSettings {
        accept_loss: true,
        ..patient()
    };
    open(&server.url(), "test", accepting).await.unwrap();
}

#[tokio::test]
async fn what_lies_there_can_be_read_by_people() {
    use ostrakon_storage::conformance::{Place, takeover};
    let place = place();
    let storage = place.open(patient()).await;
    let entries = [takeover(77)];
    let append = ostrakon_storage::Append::behind(Default::default(), &entries);
    storage.append(append).await.unwrap();
    let server = SERVER.get(|| unreachable!("the place has it"));
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let runs: Vec<i64> = sqlx::query_scalar(
        "SELECT (entry->'command'->'takeover'->>'run')::bigint FROM ostrakon.log WHERE cluster = $1",
    )
    .bind(place.cluster())
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(runs, [77]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_a_paused_server_ends_by_its_deadline() {
    faults::opening_a_paused_server_ends_by_its_deadline(Postgres::start().unwrap()).await;
}
