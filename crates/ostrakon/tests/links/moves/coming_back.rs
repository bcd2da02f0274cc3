//! Asks that come back, or were taken back, and what else is in their messages: each ends by its deadline, and nobody waits for ever.

use ostrakon::{EntityStream, Reply, StreamError, StreamReply, TellError};
use tokio::time::Instant;

use super::*;
use crate::ledger::LedgerMessage;

/// The two ends of a stream, whose message was handled long ago.
async fn pair(ledger: &LedgerRef) -> (StreamReply<u64>, EntityStream<u64>) {
    let mut producer = None;
    let opened = ledger.as_ref().stream(|reply| {
        producer = Some(reply);
        LedgerMessage::Half {
            reply: StreamReply::ignored(),
            reply_: Reply::ignored(),
        }
    });
    let stream = timeout(SOON, opened).await.unwrap().unwrap();
    (producer.unwrap(), stream)
}

/// Asks with a stream in the message. It is sent before this returns.
fn ask_with(ledger: &LedgerRef, reply: StreamReply<u64>) -> JoinHandle<Result<(), AskError>> {
    let ledger = ledger.clone();
    let message = |reply_| LedgerMessage::Half { reply, reply_ };
    let mut asked = Box::pin(async move { ledger.as_ref().ask(message).await });
    assert!(asked.as_mut().now_or_never().is_none());
    tokio::spawn(asked)
}

/// The second node is gone, but the first one does not have another owner yet for what was there.
async fn bereft(log: &'static str) -> (Cluster, ShardId, Sender) {
    let (cluster, shard, mut sender) = scene(log).await;
    sender.ask().await;
    timeout(SOON, cluster.lose(1, 0)).await.unwrap();
    (cluster, shard, sender)
}

async fn third_takes(cluster: &mut Cluster, shard: ShardId) {
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
}

async fn leave_without_second(cluster: Cluster) {
    cluster.nodes[0].leave().await.unwrap();
    cluster.nodes[2].leave().await.unwrap();
}

#[tokio::test]
async fn an_ask_that_came_back_and_is_handled_here_ends_by_its_deadline() {
    let (mut cluster, shard, sender) = scene("handled here").await;
    cluster.moved(shard, 0);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    let hurried = sender.to.clone().within(Duration::from_secs(1));
    let asked = tokio::spawn(async move { hurried.wait("handled here".to_owned()).await });
    let other = cluster.ids_on(1).find(|id| cluster.shard(id) != shard);
    let other = cluster.nodes[0].entity::<Ledger>(other.unwrap());
    other.node().await.unwrap();
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    Gate::of("handled here").reached_by(1).await;
    let error = timeout(SOON, asked).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error, AskError::TimedOut);
    Gate::of("handled here").open();
    cluster.leave().await;
}

#[tokio::test]
async fn coming_back_gives_an_ask_no_more_time() {
    const DEADLINE: Duration = Duration::from_secs(3);
    let (mut cluster, shard, sender) = bereft("no more time").await;
    let began = Instant::now();
    let hurried = sender.to.clone().within(DEADLINE);
    let asked = tokio::spawn(async move { hurried.wait("no more time".to_owned()).await });
    tokio::time::sleep_until(began + DEADLINE * 2 / 3).await;
    third_takes(&mut cluster, shard).await;
    Gate::of("no more time").reached_by(1).await;
    assert!(timeout(SOON, asked).await.unwrap().unwrap().is_err());
    let took = began.elapsed();
    assert!(took >= DEADLINE && took < DEADLINE * 4 / 3, "{took:?}");
    Gate::of("no more time").open();
    leave_without_second(cluster).await;
}

#[tokio::test]
async fn an_ask_is_not_lost_because_nobody_reads_the_stream_in_its_message() {
    let (mut cluster, shard, sender) = bereft("nobody reads").await;
    let elsewhere = cluster.nodes[0].entity::<Ledger>(cluster.id_on(2));
    let (producer, stream) = pair(&elsewhere).await;
    let asked = ask_with(&sender.to, producer);
    drop(stream);
    third_takes(&mut cluster, shard).await;
    assert_eq!(timeout(SOON, asked).await.unwrap().unwrap(), Ok(()));
    leave_without_second(cluster).await;
}

#[tokio::test]
async fn the_stream_in_an_ask_that_was_never_sent_ends_with_it() {
    let (cluster, _, sender) = bereft("never sent").await;
    let elsewhere = cluster.nodes[0].entity::<Ledger>(cluster.id_on(2));
    let interrupted = Some(Err(StreamError::Interrupted));

    let (producer, mut stream) = pair(&elsewhere).await;
    let hurried = sender.to.clone().within(Duration::from_millis(200));
    let error = ask_with(&hurried, producer).await.unwrap().unwrap_err();
    assert!(matches!(
        error,
        AskError::NotSent(TellError::Unreachable { .. })
    ));
    assert_eq!(timeout(SOON, stream.next()).await.unwrap(), interrupted);

    let (producer, mut stream) = pair(&elsewhere).await;
    let dropped = ask_with(&sender.to, producer);
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert_eq!(timeout(SOON, stream.next()).await.unwrap(), interrupted);
    leave_without_second(cluster).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_is_cancelled_where_it_was_sent_although_its_shard_has_moved() {
    let (mut cluster, shard, mut sender) = scene("cancelled there").await;
    let gate = Gate::of("cancelled there");
    let to = sender.to.clone();
    let busy = tokio::spawn(async move { to.wait("cancelled there".to_owned()).await });
    gate.reached_by(1).await;
    let asked = sender.ask_later();
    let [neighbour, stays] = [true, false].map(|same| {
        let mut ids = cluster.ids_on(1).skip(1);
        let id = ids.find(|id| (cluster.shard(id) == shard) == same);
        cluster.nodes[0].entity::<Ledger>(id.unwrap())
    });
    stays.node().await.unwrap();
    cluster.moved(shard, 2);
    let (old, map) = (cluster.nodes[1].clone(), cluster.map.clone());
    let closing = tokio::spawn(async move { testing::adopt(&old, &map).await });
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    testing::adopt(&cluster.nodes[0], &cluster.map).await;
    let moved = timeout(SOON, neighbour.node()).await.unwrap().unwrap();
    assert_eq!(moved, "node-3");
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    // Behind the word that nobody wants it.
    stays.node().await.unwrap();
    gate.open();
    closing.await.unwrap();
    assert_eq!(busy.await.unwrap(), Ok(7));
    assert_eq!(recorded("cancelled there", 0), [0_u64; 0]);
    cluster.leave().await;
}
