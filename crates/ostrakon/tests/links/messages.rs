//! Asks, tells and answers between nodes.

use std::time::Duration;

use ostrakon::{AskError, Outcome, TraceContext};

use crate::{
    cluster::{Cluster, SOON},
    ledger::{Gate, Ledger, Refused},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entity_is_reached_from_every_node() {
    let cluster = Cluster::of(3).await;
    for owner in 0..3 {
        let id = cluster.id_on(owner);
        for (n, node) in cluster.nodes.iter().enumerate() {
            let ledger = node.entity::<Ledger>(&id);
            assert_eq!(ledger.add(n as u64).await.unwrap(), n + 1);
            assert_eq!(ledger.node().await.unwrap(), format!("node-{}", owner + 1));
        }
    }
    cluster.leave().await;
}

#[tokio::test]
async fn tells_and_asks_of_one_sender_keep_their_order() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    for n in 0..1000 {
        ledger.tell().add(n).await.unwrap();
    }
    assert_eq!(
        ledger.entries().await.unwrap(),
        (0..1000).collect::<Vec<_>>()
    );
    cluster.leave().await;
}

#[tokio::test]
async fn errors_come_back_as_they_are() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let refused = ledger.refuse("rain".to_owned()).await.unwrap_err();
    assert_eq!(refused, AskError::Rejected(Refused("rain".to_owned())));
    let failed = ledger.fail().await.unwrap_err();
    assert_eq!(failed.outcome(), Outcome::FailedInHandler);
    assert!(failed.to_string().contains("as it was told to"), "{failed}");
    cluster.leave().await;
}

#[tokio::test]
async fn a_deadline_that_passes_there_is_unknown_here_and_cancels() {
    let cluster = Cluster::of(2).await;
    let id = cluster.id_on(1);
    let ledger = cluster.nodes[0].entity::<Ledger>(&id);
    let slow = ledger.clone().within(Duration::from_millis(200));
    let gate = Gate::of("deadline");
    let (timed_out, queued) = tokio::join!(slow.wait("deadline".to_owned()), async {
        gate.reached_by(1).await;
        // Its turn does not come before its deadline.
        slow.add(1).await
    });
    assert_eq!(timed_out.unwrap_err(), AskError::TimedOut);
    let queued = queued.unwrap_err();
    assert!(
        matches!(queued, AskError::TimedOut | AskError::Expired),
        "{queued}"
    );
    gate.open();
    assert_eq!(ledger.entries().await.unwrap(), [] as [u64; 0]);
    cluster.leave().await;
}

#[tokio::test]
async fn dropping_an_ask_takes_it_back_from_the_other_node() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let gate = Gate::of("dropped");
    let running = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.wait("dropped".to_owned()).await }
    });
    gate.reached_by(1).await;
    let dropped = tokio::time::timeout(Duration::from_millis(50), ledger.add(1)).await;
    assert!(dropped.is_err());
    // Behind the cancellation on the same connection, so it has arrived when this one has.
    let after = ledger.tell();
    after.add(2).await.unwrap();
    let second = Gate::of("dropped, second");
    second.open();
    let elsewhere = cluster.nodes[0].entity::<Ledger>(cluster.ids_on(1).nth(1).unwrap());
    elsewhere.add(0).await.unwrap();
    gate.open();
    assert_eq!(running.await.unwrap().unwrap(), 7);
    assert_eq!(ledger.entries().await.unwrap(), [2]);
    cluster.leave().await;
}

#[tokio::test]
async fn large_messages_and_answers_pass() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    for size in [0, 1, 16 * 1024, 64 * 1024 - 100, 64 * 1024 + 1, 1_000_000] {
        let bytes = vec![7; size];
        let back = tokio::time::timeout(SOON, ledger.echo(bytes.clone()))
            .await
            .unwrap();
        assert!(back.unwrap() == bytes, "{size} bytes");
    }
    let too_much = ledger.echo(vec![0; 5_000_000]).await.unwrap_err();
    assert_eq!(too_much.outcome(), Outcome::NotExecuted);
    assert!(
        too_much.source_text().contains("is the most that travels"),
        "{too_much:?}"
    );
    cluster.leave().await;
}

trait SourceText {
    fn source_text(&self) -> String;
}

impl SourceText for AskError {
    fn source_text(&self) -> String {
        std::error::Error::source(self)
            .map(ToString::to_string)
            .unwrap_or_default()
    }
}

#[tokio::test]
async fn a_cycle_through_two_nodes_is_an_error_and_not_a_deadlock() {
    let cluster = Cluster::of(2).await;
    let (here, there) = (cluster.id_on(0), cluster.id_on(1));
    let first = cluster.nodes[0].entity::<Ledger>(&here);
    let asked = first.chain(vec![there.clone(), here.clone()]);
    let error = tokio::time::timeout(SOON, asked)
        .await
        .unwrap()
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("asking would wait for ever"), "{text}");
    assert!(
        text.contains(&format!("ledger/{here} → ledger/{there} → ledger/{here}")),
        "{text}"
    );
    assert_eq!(first.chain(vec![there]).await.unwrap(), "end");
    cluster.leave().await;
}

#[tokio::test]
async fn the_trace_context_travels() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let context: TraceContext = header.parse().unwrap();
    assert_eq!(ledger.trace().await.unwrap(), None);
    let seen = context.scope(ledger.trace()).await.unwrap();
    assert_eq!(seen.as_deref(), Some(header));
    cluster.leave().await;
}
