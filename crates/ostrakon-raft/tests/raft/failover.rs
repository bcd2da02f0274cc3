//! What happens when a leader is lost, cut off, or comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_core::Index;
use ostrakon_raft::RaftLog;
use ostrakon_servers::Folder;
use ostrakon_storage::conformance::takeover;
use ostrakon_storage::{Append, AppendError, Storage, StorageError};

use crate::cluster::{
    Net, append, append_each, cluster, leader, leads_no_more, on_disk, quick, read, restart, start,
    three, voices, votes, within,
};

/// Nobody may say that this was written, unless it is.
async fn append_in_vain(log: &RaftLog, after: Index, run: u64) -> AppendError {
    let entry = takeover(run);
    let append = Append::behind(after, std::slice::from_ref(&entry));
    let Err(error) = log.append(append).await else {
        panic!("{run} was appended without a majority");
    };
    assert!(
        matches!(
            error,
            AppendError::Unknown { .. } | AppendError::Unavailable { .. }
        ),
        "{error:?}"
    );
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_is_replaced_and_what_it_could_not_write_is_nowhere() {
    let net = Arc::default();
    let logs = three(&net).await;
    let first = append(&logs[0], &[takeover(1)]).await;
    let isolated = Instant::now();
    net.isolate(logs[0].me());
    // In flight, and so of unknown fate, while it still believes to lead.
    let unknown = append_in_vain(&logs[0], first, 100).await;
    assert!(
        matches!(unknown, AppendError::Unknown { .. }),
        "{unknown:?}"
    );
    leads_no_more(&logs[0]).await;
    let refused = append_in_vain(&logs[0], first, 101).await;
    assert!(
        matches!(refused, AppendError::Unavailable { .. }),
        "{refused:?}"
    );
    let successor = leader(&logs[1..]).await;
    let bound = quick("a").election_max * 2 + Duration::from_secs(4);
    assert!(isolated.elapsed() < bound, "{:?}", isolated.elapsed());
    let second = append(&successor, &[takeover(2)]).await;
    assert_eq!(second, first.next());

    net.heal();
    let written = [takeover(1), takeover(2)];
    for log in &logs {
        assert_eq!(read(log, second).await, written);
    }
    let third = append(&*leader(&logs).await, &[takeover(3)]).await;
    let written = [takeover(1), takeover(2), takeover(3)];
    for log in &logs {
        assert_eq!(read(log, third).await, written);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_leader_has_what_was_acknowledged_and_refuses_what_is_behind() {
    let net = Arc::default();
    let logs = three(&net).await;
    let last = append_each(&logs[0], 0..20).await;
    net.isolate(logs[0].me());
    let successor = leader(&logs[1..]).await;
    assert_eq!(successor.head().await.unwrap().last, last);
    let stale = [takeover(99)];
    let refused = successor
        .append(Append::behind(Index::new(3), &stale))
        .await;
    assert!(
        matches!(refused, Err(AppendError::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(append(&successor, &[takeover(20)]).await, last.next());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minority_can_neither_append_nor_say_how_far_the_log_goes() {
    let net = Arc::default();
    let logs = three(&net).await;
    let last = append(&logs[0], &[takeover(1)]).await;
    for log in &logs {
        read(log, last).await;
    }
    net.isolate(logs[1].me());
    net.isolate(logs[2].me());
    let head = logs[0].head().await;
    assert!(
        matches!(head, Err(StorageError::Unavailable { .. })),
        "{head:?}"
    );
    append_in_vain(&logs[0], last, 2).await;
    leads_no_more(&logs[0]).await;
    for log in &logs {
        let head = log.head().await;
        assert!(
            matches!(head, Err(StorageError::Unavailable { .. })),
            "{head:?}"
        );
        append_in_vain(log, last, 3).await;
        // What is known here is still told.
        assert_eq!(log.read(Index::default()).await.unwrap().entries.len(), 1);
    }
    net.heal();
    leader(&logs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_lead_says_who_does() {
    let net = Arc::default();
    let logs = three(&net).await;
    let last = append(&logs[0], &[takeover(1)]).await;
    read(&logs[1], last).await;
    let entry = [takeover(2)];
    let refused = logs[1].append(Append::behind(last, &entry)).await;
    let Err(AppendError::Unavailable { source, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(source.to_string().contains("a at a:1"), "{source}");
    let status = logs[1].status();
    assert_eq!(status.leader.as_ref(), Some(logs[0].me()));
    assert_eq!(status.stopped, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voters_that_are_killed_and_come_back_have_everything() {
    let (net, folder): (Arc<Net>, _) = (Arc::default(), Folder::new("raft").unwrap());
    let settings = ["a", "b", "c"].map(|name| on_disk(folder.path(), name));
    let mut logs = cluster(&net, settings.to_vec()).await;
    let last = append_each(&logs[0], 0..30).await;
    let before = read(&logs[0], last).await;
    let ids = voices(&logs);

    drop(logs.remove(2));
    logs.push(restart(&net, &settings[2]).await);
    assert_eq!(read(&logs[2], last).await, before);

    drop(logs);
    let mut logs = Vec::new();
    for settings in &settings {
        logs.push(restart(&net, settings).await);
    }
    assert_eq!(voices(&logs), ids, "the same logs are the same voices");
    let next = append(&*leader(&logs).await, &[takeover(30)]).await;
    assert_eq!(next, last.next());
    for log in &logs {
        assert_eq!(read(log, next).await[..30], before);
        votes(log, &ids).await;
    }
    for log in &logs {
        log.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_leads_no_more_and_says_so() {
    let net = Arc::default();
    let logs = three(&net).await;
    logs[0].stop().await;
    leads_no_more(&logs[0]).await;
    assert!(logs[0].status().stopped.is_some());
    append_in_vain(&logs[0], Index::default(), 1).await;
    let successor = leader(&logs[1..]).await;
    append(&successor, &[takeover(1)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_two_rivals_are_written_once_each_or_not_at_all() {
    let net = Arc::default();
    let logs = three(&net).await;
    let mut acknowledged = Vec::new();
    for round in 0..2_u64 {
        let old = leader(&logs).await;
        let last = old.head().await.unwrap().last;
        net.isolate(old.me());
        append_in_vain(&old, last, 1000 + round).await;
        let others = logs.iter().filter(|log| log.me() != old.me());
        let others: Vec<_> = others.cloned().collect();
        let successor = leader(&others).await;
        append(&successor, &[takeover(round)]).await;
        acknowledged.push(takeover(round));
        net.heal();
        leads_no_more(&old).await;
    }
    let last = leader(&logs).await.head().await.unwrap().last;
    for log in &logs {
        assert_eq!(read(log, last).await, acknowledged);
    }
}

/// Run by hand, for the figure: it waits as long as the defaults say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures the time of a failover at the defaults"]
async fn a_failover_at_the_defaults_is_timed() {
    for attempt in 0..5 {
        let net = Arc::default();
        let settings = ["a", "b", "c"].map(|name| {
            let me = quick(name).me;
            ostrakon_raft::RaftSettings::new("test", me)
        });
        let logs = cluster(&net, settings.into()).await;
        let last = append(&logs[0], &[takeover(1)]).await;
        net.isolate(logs[0].me());
        let since = Instant::now();
        let (successor, isolated) = tokio::join!(leader(&logs[1..]), async {
            leads_no_more(&logs[0]).await;
            since.elapsed()
        });
        within("an append", append(&successor, &[takeover(2)])).await;
        let led = since.elapsed();
        println!("{attempt}: appended after {led:?}; the old one knew after {isolated:?}");
        assert_eq!(successor.head().await.unwrap().last, last.next());
    }
    let alone = start(&Arc::default(), quick("z")).await.unwrap();
    let since = Instant::now();
    alone.form().await.unwrap();
    append(&alone, &[takeover(1)]).await;
    println!("formed, and first append, after {:?}", since.elapsed());
}
