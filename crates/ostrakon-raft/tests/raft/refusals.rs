//! What must not be done, and is said so.

use std::sync::Arc;

use ostrakon_raft::{FormError, Refusal, StartError};
use ostrakon_servers::Folder;
use ostrakon_storage::Storage;
use ostrakon_storage::conformance::takeover;

use crate::cluster::{append, cluster, on_disk, quick, restart, set_voters, start, three};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_a_log_forms_nothing() {
    let net = Arc::default();
    let logs = three(&net).await;
    for log in &logs {
        assert!(log.has_log().await);
        let refused = log.form().await;
        assert!(matches!(refused, Err(FormError::HasLog)), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_a_log_on_disk_forms_nothing_either() {
    let (net, folder) = (Arc::default(), Folder::new("raft").unwrap());
    let settings = on_disk(folder.path(), "a");
    let logs = cluster(&net, vec![settings.clone()]).await;
    append(&logs[0], &[takeover(1)]).await;
    logs[0].stop().await;
    let again = restart(&net, &settings).await;
    let refused = again.form().await;
    assert!(matches!(refused, Err(FormError::HasLog)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_another_cluster_or_another_voice_is_refused() {
    let net = Arc::default();
    let mut other = quick("a");
    other.cluster = "other".to_owned();
    let other = cluster(&net, vec![other]).await;
    let mut ours = quick("b");
    ours.catch_up = std::time::Duration::from_millis(300);
    let ours = cluster(&net, vec![ours]).await;
    // The leader of ours is told to let in a voice of the other cluster, and then one that is not there any more.
    let mut wanted = crate::cluster::voices(&ours);
    let stranger = other[0].me().clone();
    wanted.insert(stranger.id, stranger);
    set_voters(&ours[0], &wanted).await.unwrap_err();
    assert_eq!(other[0].members().borrow().voters.len(), 1);

    let mut gone = ours[0].me().clone();
    gone.id += 1;
    let (asked, answered) = crate::refusals::catch(&gone, "test").await;
    assert_eq!(asked, gone.id);
    let response = ours[0].answer(answered.clone()).await;
    assert_eq!(
        response.refusal(),
        Some(&Refusal::OtherVoice(ours[0].me().id))
    );
    let response = other[0].answer(answered).await;
    let refusal = Refusal::OtherCluster("other".to_owned());
    assert_eq!(response.refusal(), Some(&refusal));
}

/// A request as a leader of this cluster sends it to somebody.
async fn catch(to: &ostrakon_raft::Voice, cluster: &str) -> (u64, ostrakon_raft::RaftRequest) {
    use ostrakon_raft::{CallError, Calls, RaftLog, RaftRequest, RaftResponse, Voice};

    struct Caught(tokio::sync::mpsc::UnboundedSender<RaftRequest>);

    impl Calls for Caught {
        fn call<'a>(
            &'a self,
            _: &'a Voice,
            request: RaftRequest,
            _: std::time::Duration,
        ) -> ostrakon_storage::BoxFuture<'a, Result<RaftResponse, CallError>> {
            let _ = self.0.send(request);
            Box::pin(async { Err(CallError::Unreachable("it was caught".to_owned())) })
        }
    }

    let (send, mut caught) = tokio::sync::mpsc::unbounded_channel();
    let mut settings = quick("catcher");
    settings.cluster = cluster.to_owned();
    settings.catch_up = std::time::Duration::from_millis(300);
    let log = RaftLog::start(settings, Arc::new(Caught(send)))
        .await
        .unwrap();
    log.form().await.unwrap();
    crate::cluster::leads(&log).await;
    let me = log.me().clone();
    let wanted = [(me.id, me), (to.id, to.clone())].into();
    set_voters(&log, &wanted).await.unwrap_err();
    let request = caught.recv().await.unwrap();
    (request.to, request)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_belongs_to_one_process_and_one_cluster() {
    let (net, folder) = (Arc::default(), Folder::new("raft").unwrap());
    let settings = on_disk(folder.path(), "a");
    let log = start(&net, settings.clone()).await.unwrap();
    let id = log.me().id;
    let twice = start(&net, settings.clone()).await.err().unwrap();
    assert!(matches!(twice, StartError::InUse { .. }), "{twice:?}");
    log.stop().await;
    let mut foreign = settings.clone();
    foreign.cluster = "other".to_owned();
    let refused = start(&net, foreign).await.err().unwrap();
    let StartError::OtherCluster { found, wanted, .. } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((found.as_str(), wanted.as_str()), ("test", "other"));
    let mut again = settings;
    again.me.id = ostrakon_raft::fresh_id();
    let log = start(&net, again).await.unwrap();
    assert_eq!(log.me().id, id, "the directory keeps the id");
}

#[tokio::test]
async fn a_file_of_a_later_version_is_left_alone() {
    let (net, folder) = (Arc::default(), Folder::new("raft").unwrap());
    let settings = on_disk(folder.path(), "a");
    start(&net, settings.clone()).await.unwrap().stop().await;
    let numbers = redb::TableDefinition::<&str, u64>::new("numbers");
    let database = redb::Database::open(folder.path().join("a/raft.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    let mut table = transaction.open_table(numbers).unwrap();
    table.insert("format", 99).unwrap();
    drop(table);
    transaction.commit().unwrap();
    drop(database);
    let refused = start(&net, settings).await.err().unwrap();
    assert!(
        matches!(refused, StartError::NewerFormat { found: 99, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn times_that_cannot_work_are_refused() {
    let mut settings = quick("a");
    settings.election_min = settings.heartbeat / 2;
    let refused = start(&Arc::default(), settings).await.err().unwrap();
    assert!(
        matches!(refused, StartError::InvalidTimes(_)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn one_that_nobody_has_let_in_knows_nothing_and_says_so() {
    let log = start(&Arc::default(), quick("a")).await.unwrap();
    assert!(!log.has_log().await);
    log.head().await.unwrap_err();
    assert_eq!(
        log.read(Default::default()).await.unwrap(),
        Default::default()
    );
    assert!(log.members().borrow().voters.is_empty());
    assert!(!*log.leads().borrow());
}
