//! Streams that go on while their shard moves from node to node.

use futures_core::Stream;
use futures_util::stream;
use ostrakon::{Context, EntityStream, ResumingStream, entity, testing::Fixed};
use tokio::time::timeout;

use crate::cluster::{Cluster, SOON, builder};

/// Tells numbers, and who has told them.
#[derive(Default)]
struct Teller;

#[entity(kind = "teller")]
impl Teller {
    fn numbers(&self, from: u64, ctx: &Context<Self>) -> impl Stream<Item = (u64, String)> + use<> {
        let name = ctx.node().name().to_string();
        stream::iter((from..).map(move |number| (number, name.clone())))
    }
}

/// Three nodes, and the id of a teller on the second.
async fn cluster() -> (Cluster, String) {
    let mut nodes = Vec::new();
    for name in ["node-1", "node-2", "node-3"] {
        let node = builder(name).host::<Teller>().fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let cluster = Cluster::connect(nodes).await;
    let id = cluster.id_on(1);
    (cluster, id)
}

fn numbers(teller: &TellerRef) -> ResumingStream<'_, (u64, String)> {
    let open = |from| teller.numbers(from);
    EntityStream::resuming(0, open, |from, item: &(u64, _)| *from = item.0 + 1)
}

#[tokio::test]
async fn a_stream_goes_on_wherever_its_shard_moves_and_loses_and_repeats_nothing() {
    let (mut cluster, id) = cluster().await;
    let shard = cluster.shard(&id);
    let teller = cluster.nodes[0].entity::<Teller>(&id);
    let mut numbers = numbers(&teller);
    let mut expected = 0;
    for on in [1, 2, 0, 1] {
        cluster.moved(shard, on);
        cluster.inform_all().await;
        let name = cluster.nodes[on].name().to_string();
        loop {
            let item = timeout(SOON, numbers.next()).await.unwrap();
            let (number, told_by) = item.unwrap().unwrap();
            assert_eq!(number, expected);
            expected += 1;
            if told_by == name {
                break;
            }
        }
    }
    drop(numbers);
    cluster.leave().await;
}

#[tokio::test]
async fn a_stream_goes_on_when_its_node_is_gone() {
    let (mut cluster, id) = cluster().await;
    let shard = cluster.shard(&id);
    let teller = cluster.nodes[0].entity::<Teller>(&id);
    let mut numbers = numbers(&teller);
    let first = timeout(SOON, numbers.next()).await.unwrap();
    assert_eq!(first, Some(Ok((0, "node-2".to_owned()))));
    cluster.lose(1, 0).await;
    cluster.moved(shard, 2);
    for index in [0, 2] {
        ostrakon::testing::adopt(&cluster.nodes[index], &cluster.map).await;
    }
    for expected in 1.. {
        let item = timeout(SOON, numbers.next()).await.unwrap();
        let (number, told_by) = item.unwrap().unwrap();
        assert_eq!(number, expected);
        if told_by == "node-3" {
            break;
        }
    }
    drop(numbers);
    for index in [0, 2] {
        cluster.nodes[index].leave().await.unwrap();
    }
}
