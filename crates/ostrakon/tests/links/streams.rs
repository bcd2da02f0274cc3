//! Streaming replies between nodes: at the consumer's pace, and with an end that both sides see.
//!
//! Nothing here is about what a stream is on one node; it is about the credit, the ends and the refusals that travel.

use futures_core::Stream;
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::join_all, stream};
use ostrakon::{
    AskError, EntityStream, Failure, Limits, Outcome, Reply, StreamError, StreamReply, TellError,
    entity,
    testing::{self, Fixed},
};
use tokio::time::timeout;

use crate::{
    cluster::{Cluster, SOON, builder},
    ledger::{Gate, Ledger, LedgerMessage, LedgerRef},
};

/// How many small items a producer may be ahead of its consumer: 64 on their way, and one in its hands.
const AHEAD: u32 = 65;

/// As many round trips to a node as surely give everything there that can go on the time to do so.
async fn let_all_run(cluster: &Cluster, from: usize, on: usize) {
    let idle = cluster.ids_on(on).nth(7).unwrap();
    let idle = cluster.nodes[from].entity::<Ledger>(idle);
    for _ in 0..50 {
        idle.node().await.unwrap();
    }
}

/// Opens a stream of so many items of a size.
async fn numbers(
    ledger: &LedgerRef,
    to: u64,
    size: usize,
) -> Result<EntityStream<(u64, Vec<u8>)>, AskError> {
    let message = |reply| LedgerMessage::Numbers {
        to,
        size,
        reply,
        reply_: Reply::ignored(),
    };
    ledger.as_ref().stream(message).await
}

/// Opens a stream that has one item and is not finished.
async fn half(ledger: &LedgerRef) -> EntityStream<u64> {
    let message = |reply| LedgerMessage::Half {
        reply,
        reply_: Reply::ignored(),
    };
    ledger.as_ref().stream(message).await.unwrap()
}

async fn next<T>(stream: &mut EntityStream<T>) -> Option<Result<T, StreamError>> {
    timeout(SOON, stream.next())
        .await
        .expect("an item or an end")
}

#[tokio::test]
async fn all_items_come_in_order_and_then_the_end() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    for (size, count) in [(0, 1_000), (10, 1_000), (5_000, 200)] {
        let stream = numbers(&ledger, count, size).await.unwrap();
        let items: Vec<_> = timeout(SOON, stream.collect()).await.unwrap();
        let expected: Vec<_> = (0..count).map(|n| Ok((n, vec![n as u8; size]))).collect();
        assert!(items == expected, "items of {size} bytes");
    }
    cluster.leave().await;
}

#[tokio::test]
async fn an_empty_stream_has_only_an_end() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut stream = ledger.sized(Vec::new()).await.unwrap();
    assert_eq!(next(&mut stream).await, None);
    assert_eq!(next(&mut stream).await, None);
    cluster.leave().await;
}

#[tokio::test]
async fn a_slow_consumer_slows_the_producer() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let sent = Gate::of("slow consumer");
    let mut stream = ledger.endless("slow consumer".to_owned()).await.unwrap();
    timeout(SOON, sent.reached_by(AHEAD)).await.unwrap();
    let_all_run(&cluster, 0, 1).await;
    assert_eq!(sent.reached(), AHEAD, "before anything was read");
    for read in 1..=500 {
        assert_eq!(next(&mut stream).await, Some(Ok(u64::from(read) - 1)));
        let ahead = sent.reached() - read;
        assert!(ahead <= AHEAD, "{ahead} items ahead after {read}");
    }
    // All but less than a quarter of the window is given back, so the producer comes this far again.
    timeout(SOON, sent.reached_by(500 + AHEAD - 16))
        .await
        .unwrap();
    let_all_run(&cluster, 0, 1).await;
    assert!(sent.reached() <= 500 + AHEAD, "{}", sent.reached());
    cluster.leave().await;
}

#[tokio::test]
async fn a_consumer_that_does_not_read_does_not_hold_up_others() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let unread = numbers(&ledger, 1_000_000, 1_000).await.unwrap();
    let read = numbers(&ledger, 1_000, 1_000).await.unwrap();
    let items: Result<Vec<_>, _> = timeout(SOON, read.try_collect()).await.unwrap();
    assert_eq!(items.unwrap().len(), 1_000);
    assert_eq!(ledger.add(1).await, Ok(1));
    drop(unread);
    cluster.leave().await;
}

#[tokio::test]
async fn dropping_the_consumer_stops_the_producer_on_the_other_node() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let producer = Gate::of("dropped consumer");
    let mut stream = ledger.endless("dropped consumer".to_owned()).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Ok(0)));
    drop(stream);
    timeout(SOON, producer.opened()).await.unwrap();
    assert_eq!(ledger.add(1).await, Ok(1), "the entity itself goes on");
    cluster.leave().await;
}

#[tokio::test]
async fn an_entity_that_dies_in_the_middle_interrupts_its_streams() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut stream = numbers(&ledger, 1_000_000, 10).await.unwrap();
    for n in 0..10 {
        assert_eq!(next(&mut stream).await.unwrap().unwrap().0, n);
    }
    let failed = ledger.fail().await.unwrap_err();
    assert_eq!(failed.outcome(), Outcome::FailedInHandler);
    let rest: Vec<_> = timeout(SOON, stream.collect()).await.unwrap();
    let (last, before) = rest.split_last().unwrap();
    assert_eq!(last, &Err(StreamError::Interrupted));
    let before = before.iter().map(|item| item.as_ref().unwrap().0);
    assert!(before.eq((10..).take(rest.len() - 1)), "what came is whole");
    cluster.leave().await;
}

#[tokio::test]
async fn a_handler_that_does_not_finish_its_stream_is_not_taken_for_done() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut stream = half(&ledger).await;
    assert_eq!(next(&mut stream).await, Some(Ok(1)));
    assert_eq!(next(&mut stream).await, Some(Err(StreamError::Interrupted)));
    assert_eq!(next(&mut stream).await, None);
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_items_and_small_asks_share_a_connection() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let asks = async {
        for n in 1..=200 {
            assert_eq!(ledger.add(n).await.unwrap() as u64, n);
        }
    };
    let streams = [(100 * 1024, 15), (1024 * 1024, 4)].map(|(size, items)| {
        let ledger = &ledger;
        async move {
            let stream = numbers(ledger, items, size).await.unwrap();
            let got: Vec<_> = stream.try_collect().await.unwrap();
            let expected: Vec<_> = (0..items).map(|n| (n, vec![n as u8; size])).collect();
            assert!(got == expected, "items of {size} bytes");
        }
    });
    let all = futures_util::future::join(asks, join_all(streams));
    timeout(SOON, all).await.unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn large_and_small_items_follow_each_other_in_one_stream() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    // The credit of a few small items is not given back at once, and the large ones take all there is.
    let sizes = [1, 1, 1, 1_000_000, 5, 70_000, 1, 260_000, 3, 3, 1_000_000];
    let stream = ledger.sized(sizes.to_vec()).await.unwrap();
    let items: Vec<_> = timeout(SOON, stream.try_collect())
        .await
        .expect("the large item arrives")
        .unwrap();
    let expected = (0..).zip(sizes).map(|(n, size)| vec![n; size]);
    assert!(items.into_iter().eq(expected));
    cluster.leave().await;
}

#[tokio::test]
async fn an_item_that_is_larger_than_a_message_ends_the_stream() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut stream = ledger.sized(vec![1, 5_000_000, 1]).await.unwrap();
    assert_eq!(next(&mut stream).await, Some(Ok(vec![0])));
    let end = next(&mut stream).await.unwrap();
    assert!(end.is_err(), "{end:?}");
    assert_eq!(next(&mut stream).await, None);
    assert_eq!(
        ledger.add(1).await,
        Ok(1),
        "the connection is as good as before"
    );
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_streams_at_once_bring_each_its_own() {
    let cluster = Cluster::of(3).await;
    let streams = (0..50).map(|n| {
        let (from, on) = (n % 3, (n / 3) % 3);
        let id = cluster.ids_on(on).nth(n).unwrap();
        let ledger = cluster.nodes[from].entity::<Ledger>(id);
        async move {
            let items = 100 + n as u64;
            let stream = numbers(&ledger, items, n * 20).await.unwrap();
            let got: Vec<_> = stream.try_collect().await.unwrap();
            let expected: Vec<_> = (0..items).map(|i| (i, vec![i as u8; n * 20])).collect();
            assert!(got == expected, "stream {n}");
        }
    });
    timeout(SOON, join_all(streams)).await.unwrap();
    cluster.leave().await;
}

/// Three nodes that allow each other only so many streams.
async fn with_streams(most: usize) -> Cluster {
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2", "node-3"] {
        let limits = Limits::default().streams(most);
        let fixed = Fixed {
            limits,
            ..Fixed::plain()
        };
        nodes.push(builder(name).fixed(fixed).start().await.unwrap());
    }
    Cluster::connect(nodes).await
}

#[tokio::test]
async fn too_many_streams_are_refused_until_others_end() {
    let cluster = with_streams(3).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(numbers(&ledger, 1_000_000, 10).await.unwrap());
    }
    for _ in 0..3 {
        let refused = numbers(&ledger, 1, 1).await.err().unwrap();
        let node = cluster.nodes[1].name().clone();
        assert_eq!(refused, AskError::NotSent(TellError::Congested { node }));
        assert!(refused.is_retryable());
    }
    assert_eq!(ledger.add(1).await, Ok(1), "asks are not concerned");
    for stream in &mut open {
        assert_eq!(next(stream).await.unwrap().unwrap().0, 0);
    }
    // The cancellation is before the next ask on the same connection.
    drop(open.pop());
    let again = numbers(&ledger, 2, 1).await.unwrap();
    let items: Vec<_> = again.try_collect().await.unwrap();
    assert_eq!(items.len(), 2);
    let again = half(&ledger).await;
    assert_eq!(again.count().await, 2, "one that ended made room, too");
    cluster.leave().await;
}

#[tokio::test]
async fn a_streaming_ask_that_comes_back_takes_no_place_where_it_was_refused() {
    let mut cluster = with_streams(2).await;
    let stays = cluster.ids_on(1).find(|id| {
        let shard = cluster.shard(id);
        cluster
            .ids_on(1)
            .take(40)
            .any(|other| cluster.shard(&other) != shard)
    });
    let stays = stays.unwrap();
    let mut moved: Vec<String> = Vec::new();
    for id in cluster.ids_on(1).take(100).collect::<Vec<_>>() {
        let known = moved.iter().chain([&stays]);
        if known
            .map(|id| cluster.shard(id))
            .all(|shard| shard != cluster.shard(&id))
        {
            moved.push(id);
        }
    }
    assert!(moved.len() >= 3, "{moved:?}");
    for id in &moved {
        let shard = cluster.shard(id);
        cluster.moved(shard, 2);
    }
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    for id in &moved {
        let ledger = cluster.nodes[0].entity::<Ledger>(id);
        let items: Vec<_> = numbers(&ledger, 3, 1)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(items.len(), 3);
    }
    let ledger = cluster.nodes[0].entity::<Ledger>(&stays);
    let opened = numbers(&ledger, 3, 1).await;
    assert_eq!(opened.unwrap().count().await, 3);
    cluster.leave().await;
}

#[tokio::test]
async fn a_stream_that_was_sent_to_the_old_owner_first_has_its_credit_from_the_new_one() {
    let mut cluster = Cluster::of(3).await;
    let id = cluster.id_on(1);
    let ledger = cluster.nodes[0].entity::<Ledger>(&id);
    ledger.node().await.unwrap();
    let shard = cluster.shard(&id);
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    // The first node does not know: its ask comes back and goes out again.
    let mut stream = ledger.endless("moved stream".to_owned()).await.unwrap();
    for n in 0..500 {
        assert_eq!(next(&mut stream).await, Some(Ok(n)));
    }
    drop(stream);
    let stopped = timeout(SOON, Gate::of("moved stream").opened()).await;
    assert!(stopped.is_ok(), "the producer on the new owner is told");
    cluster.leave().await;
}

#[tokio::test]
async fn a_stream_that_waited_for_its_own_node_to_become_the_owner_flows() {
    let mut cluster = Cluster::of(2).await;
    let id = cluster.id_on(1);
    let ledger = cluster.nodes[0].entity::<Ledger>(&id);
    ledger.node().await.unwrap();
    let shard = cluster.shard(&id);
    cluster.moved(shard, 0);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    let opening = ledger.endless("stream to here".to_owned());
    let mut opening = std::pin::pin!(opening);
    assert!(opening.as_mut().now_or_never().is_none());
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    let mut stream = timeout(SOON, opening).await.unwrap().unwrap();
    for n in 0..500 {
        assert_eq!(next(&mut stream).await, Some(Ok(n)));
    }
    drop(stream);
    let stopped = timeout(SOON, Gate::of("stream to here").opened()).await;
    assert!(stopped.is_ok());
    cluster.leave().await;
}

#[tokio::test]
async fn a_shard_that_moves_away_interrupts_its_streams() {
    let mut cluster = Cluster::of(3).await;
    let id = cluster.id_on(1);
    let ledger = cluster.nodes[0].entity::<Ledger>(&id);
    let mut stream = numbers(&ledger, 1_000_000, 10).await.unwrap();
    assert_eq!(next(&mut stream).await.unwrap().unwrap().0, 0);
    let shard = cluster.shard(&id);
    cluster.moved(shard, 2);
    cluster.inform_all().await;
    let rest: Vec<_> = timeout(SOON, stream.collect()).await.unwrap();
    assert_eq!(rest.last(), Some(&Err(StreamError::Interrupted)));
    let again = numbers(&ledger, 5, 1).await.unwrap();
    assert_eq!(again.count().await, 5, "asking again goes on elsewhere");
    cluster.leave().await;
}

#[tokio::test]
async fn a_node_that_leaves_interrupts_its_streams() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let mut stream = numbers(&ledger, 1_000_000, 10).await.unwrap();
    assert_eq!(next(&mut stream).await.unwrap().unwrap().0, 0);
    cluster.nodes[1].leave().await.unwrap();
    let rest: Vec<_> = timeout(SOON, stream.collect()).await.unwrap();
    let (last, before) = rest.split_last().unwrap();
    assert_eq!(last, &Err(StreamError::Interrupted));
    assert!(before.iter().all(Result::is_ok));
    cluster.nodes[0].leave().await.unwrap();
}

#[tokio::test]
async fn a_consumer_whose_node_leaves_stops_the_producer() {
    let cluster = Cluster::of(2).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let stream = ledger
        .endless("consumer's node leaves".to_owned())
        .await
        .unwrap();
    cluster.nodes[0].leave().await.unwrap();
    let producer = Gate::of("consumer's node leaves");
    timeout(SOON, producer.opened()).await.unwrap();
    drop(stream);
    cluster.nodes[1].leave().await.unwrap();
}

/// Never starts.
#[derive(Default)]
struct Stubborn;

#[entity(kind = "stubborn")]
impl Stubborn {
    #[start]
    async fn refuse(&mut self) -> Result<(), Failure> {
        Err("not today".into())
    }

    fn numbers(&self) -> impl Stream<Item = u64> + use<> {
        stream::iter(0..5)
    }
}

#[tokio::test]
async fn a_stream_from_an_entity_that_cannot_start_is_an_error_that_says_why() {
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2"] {
        let builder = builder(name).host::<Stubborn>().fixed(Fixed::plain());
        nodes.push(builder.start().await.unwrap());
    }
    let cluster = Cluster::connect(nodes).await;
    let stubborn = cluster.nodes[0].entity::<Stubborn>(cluster.id_on(1));
    let error = timeout(SOON, stubborn.numbers()).await.unwrap();
    let error = error.err().unwrap();
    assert!(matches!(&error, AskError::StartFailed(cause) if cause.as_str() == "not today"));
    assert!(error.is_retryable());
    cluster.leave().await;
}

/// Reads a stream to its end, which is that all producers are gone. Each of so many numbers must have come once.
async fn expect_all(mut stream: EntityStream<u64>, count: u64) {
    let mut items = Vec::new();
    loop {
        match next(&mut stream).await {
            Some(Ok(item)) => items.push(item),
            end => {
                assert_eq!(end, Some(Err(StreamError::Interrupted)));
                break;
            }
        }
    }
    items.sort_unstable();
    let expected: Vec<u64> = (0..count).collect();
    assert!(items == expected, "{} items of {count}", items.len());
}

#[tokio::test]
async fn copies_of_a_reply_that_have_gone_to_several_nodes_all_send() {
    let cluster = Cluster::of(3).await;
    let ledgers = [0, 1, 2].map(|n| cluster.nodes[0].entity::<Ledger>(cluster.id_on(n)));
    let mut producer = None;
    let opened = ledgers[1].as_ref().stream(|reply| {
        producer = Some(reply);
        LedgerMessage::Half {
            reply: StreamReply::ignored(),
            reply_: Reply::ignored(),
        }
    });
    let stream = opened.await.unwrap();
    for (ledger, part) in ledgers.iter().zip(0..) {
        let message = LedgerMessage::Some {
            from: part * 500,
            to: (part + 1) * 500,
            reply: producer.clone().unwrap(),
            reply_: Reply::ignored(),
        };
        ledger.as_ref().tell(message).await.unwrap();
    }
    drop(producer);
    expect_all(stream, 1500).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_stream_may_be_shared_out_among_entities_of_several_nodes() {
    let cluster = Cluster::of(3).await;
    let others: Vec<String> = [0, 1, 2, 2]
        .iter()
        .zip(1..)
        .map(|(node, n)| cluster.ids_on(*node).nth(n).unwrap())
        .collect();
    let parts = others.len() as u64 + 1;
    let first = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let message = |reply| LedgerMessage::SharedOut {
        others: others.clone(),
        each: 300,
        reply,
        reply_: Reply::ignored(),
    };
    let stream = first.as_ref().stream(message).await.unwrap();
    expect_all(stream, parts * 300).await;

    // Whoever stops reading is known to all of them.
    let mut stream = first.as_ref().stream(message).await.unwrap();
    next(&mut stream).await.unwrap().unwrap();
    drop(stream);
    timeout(SOON, Gate::of("some are not wanted").opened())
        .await
        .unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn a_copy_that_goes_on_after_the_end_is_stopped() {
    let cluster = Cluster::of(3).await;
    let [first, other] = [1, 2].map(|n| cluster.nodes[0].entity::<Ledger>(cluster.id_on(n)));
    let message = |reply| LedgerMessage::FinishedHere {
        other: other.as_ref().id().unwrap().to_string(),
        gate: "goes on after the end".to_owned(),
        reply,
        reply_: Reply::ignored(),
    };
    let mut stream = first.as_ref().stream(message).await.unwrap();
    while next(&mut stream).await.is_some() {}
    let stopped = Gate::of("goes on after the end").opened();
    timeout(SOON, stopped).await.expect("it learns of the end");
    cluster.leave().await;
}
