//! Letting voices in, and out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_core::Index;
use ostrakon_raft::{Members, NotLeading, VotersError};
use ostrakon_storage::Storage;
use ostrakon_storage::conformance::{state_of, takeover};

use crate::cluster::{
    Net, append, append_each, cluster, leader, leads, leads_no_more, quick, read, restart,
    set_voters, start, three, voices, votes, within,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_voice_without_a_disk_comes_back_as_another_and_takes_the_place_of_the_old_one() {
    let net = Arc::default();
    let mut logs = three(&net).await;
    let last = append_each(&logs[0], 0..10).await;
    let old = logs.remove(2).me().clone();
    // Same name, same address, nothing remembered.
    let again = restart(&net, &quick("c")).await;
    assert_ne!(again.me().id, old.id);
    logs.push(again);
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    for log in &logs {
        votes(log, &voices(&logs)).await;
    }
    assert_eq!(read(&logs[2], last).await.len(), 10);
    assert_eq!(logs[0].members().borrow().learners, BTreeMap::new());
    // It counts: with it and one more there is a majority.
    net.isolate(logs[1].me());
    append(&logs[0], &[takeover(10)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_only_learns_has_the_log_and_is_not_needed() {
    let net = Arc::default();
    let logs = three(&net).await;
    let wanted = Members {
        voters: voices(&logs[..1]),
        learners: voices(&logs[1..]),
    };
    logs[0].set_members(&wanted).await.unwrap();
    for log in &logs {
        let mut members = log.members();
        let settled = members.wait_for(|members| *members == wanted);
        within("the members", settled).await.unwrap();
    }
    net.isolate(logs[2].me());
    let last = append(&logs[0], &[takeover(1)]).await;
    assert_eq!(read(&logs[1], last).await, [takeover(1)]);
    logs[1].head().await.unwrap_err();
    net.heal();
    assert_eq!(read(&logs[2], last).await, [takeover(1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_voter_is_replaced() {
    let net = Arc::default();
    let mut logs = three(&net).await;
    net.isolate(logs[1].me());
    append(&logs[0], &[takeover(1)]).await;
    logs[1] = start(&net, quick("d")).await.unwrap();
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    votes(&logs[1], &voices(&logs)).await;
    // Now another may be lost.
    drop(logs.remove(2));
    let last = append(&logs[0], &[takeover(2)]).await;
    assert_eq!(read(&logs[1], last).await, [takeover(1), takeover(2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_voters_again_change_nothing() {
    let net = Arc::default();
    let logs = three(&net).await;
    append(&logs[0], &[takeover(1)]).await;
    let before = logs[0].status();
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    assert_eq!(logs[0].status(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_leader_changes_voters_and_somebody_must_be_left() {
    let net = Arc::default();
    let logs = three(&net).await;
    let refused = set_voters(&logs[1], &voices(&logs[..1])).await;
    let Err(VotersError::NotLeading(NotLeading::Other(named))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(&named, logs[0].me());
    let refused = set_voters(&logs[0], &BTreeMap::new()).await;
    assert!(matches!(refused, Err(VotersError::None)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_catch_up_does_not_vote_and_may_later() {
    let net = Arc::default();
    let mut settings = quick("a");
    settings.catch_up = Duration::from_millis(300);
    let mut logs = cluster(&net, vec![settings]).await;
    let last = append(&logs[0], &[takeover(1)]).await;
    let alone = voices(&logs);
    logs.push(start(&net, quick("b")).await.unwrap());
    net.isolate(logs[1].me());
    let refused = set_voters(&logs[0], &voices(&logs)).await;
    let Err(VotersError::Behind { behind, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(behind, [logs[1].me().clone()]);
    votes(&logs[0], &alone).await;
    assert_eq!(logs[0].members().borrow().learners, voices(&logs[1..]));
    // One that only learns is not needed.
    let last = append(&logs[0], &[takeover(2)]).await.max(last);
    net.heal();
    within("the newcomer", async {
        while set_voters(&logs[0], &voices(&logs)).await.is_err() {}
    })
    .await;
    votes(&logs[1], &voices(&logs)).await;
    assert_eq!(read(&logs[1], last).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_invited_for_nothing_is_forgotten() {
    let net = Arc::default();
    let mut settings = quick("a");
    settings.catch_up = Duration::from_millis(200);
    let logs = cluster(&net, vec![settings]).await;
    let mut wanted = voices(&logs);
    let nobody = quick("b").me;
    wanted.insert(nobody.id, nobody);
    set_voters(&logs[0], &wanted).await.unwrap_err();
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    let mut members = logs[0].members();
    let forgotten = members.wait_for(|members| members.learners.is_empty());
    within("nobody", forgotten).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_can_remove_itself() {
    let net = Arc::default();
    let logs = three(&net).await;
    let last = append(&logs[0], &[takeover(1)]).await;
    set_voters(&logs[0], &voices(&logs[1..2])).await.unwrap();
    leads(&logs[1]).await;
    leads_no_more(&logs[0]).await;
    votes(&logs[1], &voices(&logs[1..2])).await;
    assert_eq!(append(&logs[1], &[takeover(2)]).await, last.next());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_voter_is_found_at_its_new_address() {
    let net = Arc::default();
    let folder = ostrakon_servers::Folder::new("raft").unwrap();
    let settings = ["a", "b", "c"].map(|name| crate::cluster::on_disk(folder.path(), name));
    let mut logs = cluster(&net, settings.to_vec()).await;
    logs.remove(2).stop().await;
    let mut moved = settings[2].clone();
    moved.me.address = quick("elsewhere").me.address;
    logs.push(restart(&net, &moved).await);
    let last = append(&logs[0], &[takeover(1)]).await;
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    votes(&logs[2], &voices(&logs)).await;
    read(&logs[2], last).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_far_behind_gets_a_snapshot() {
    let net: Arc<Net> = Arc::default();
    let settings = ["a", "b", "c"].map(|name| {
        let mut settings = quick(name);
        settings.snapshot_after = 40;
        settings
    });
    let mut logs = cluster(&net, settings.into()).await;
    net.isolate(logs[2].me());
    let last = append_each(&logs[0], 0..300).await;
    let entries: Vec<_> = (0..100).map(takeover).collect();
    let snapshot = state_of(&entries).snapshot();
    logs[0].compact(&snapshot).await.unwrap();
    logs.push(start(&net, quick("d")).await.unwrap());
    net.heal();
    let present = leader(&logs).await;
    set_voters(&present, &voices(&logs)).await.unwrap();
    let whole = logs[0].read(Default::default()).await.unwrap();
    assert_eq!(whole.snapshot, Some(snapshot));
    for log in &logs {
        read(log, last).await;
        let here = within("the compaction", async {
            loop {
                let here = log.read(Default::default()).await.unwrap();
                if here.snapshot.is_some() {
                    return here;
                }
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(here.await, whole);
    }
    assert!(net.parts() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_snapshot_travels_in_parts() {
    let net: Arc<Net> = Arc::default();
    let mut settings = quick("a");
    settings.snapshot_after = 10;
    let mut logs = cluster(&net, vec![settings]).await;
    let many: Vec<_> = (0..8000).map(takeover).collect();
    for _ in 0..3 {
        append(&logs[0], &many).await;
    }
    let last = append_each(&logs[0], 0..40).await;
    logs.push(start(&net, quick("b")).await.unwrap());
    set_voters(&logs[0], &voices(&logs)).await.unwrap();
    assert!(net.parts() > 1, "{}", net.parts());
    let before = Index::new(last.get() - 1);
    within("the end of the log", logs[1].changed(before)).await;
    for behind in [before, Index::default()] {
        let read = logs[1].read(behind).await.unwrap();
        assert_eq!(read, logs[0].read(behind).await.unwrap());
    }
}
