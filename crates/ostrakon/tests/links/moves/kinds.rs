//! Nodes that know different kinds, or know one differently.

use futures_util::TryStreamExt;
use ostrakon::{CustomHash, Hosting, Outcome, ShardGroup, ShardHash, TellError, testing::Fixed};

use super::*;
use crate::cluster::builder;

#[tokio::test]
async fn a_kind_that_the_owner_does_not_host_is_unknown() {
    let mut nodes = vec![builder("node-1").fixed(Fixed::plain())];
    nodes.push(Node::builder("node-2").group(group()).fixed(Fixed::plain()));
    let mut started = Vec::new();
    for node in nodes {
        started.push(node.start().await.unwrap());
    }
    let cluster = Cluster::connect(started).await;
    let ledger = cluster.nodes[0].entity::<Ledger>(cluster.id_on(1));
    let kind = "ledger".to_owned();
    let unknown = AskError::NotSent(TellError::UnknownKind { kind });
    assert_eq!(ledger.add(1).await, Err(unknown.clone()));
    assert_eq!(ledger.sized(vec![1]).await.err(), Some(unknown));
    assert_eq!(ledger.tell().add(1).await, Ok(()), "nobody waits for it");
    cluster.leave().await;
}

#[tokio::test]
async fn functions_of_one_name_that_answer_differently_are_found_out() {
    let hashed = |last: bool| {
        let shard = move |id: &str, count: ostrakon::ShardCount| {
            if last { count.get() } else { id.len() as u32 }
        };
        ShardGroup {
            hash: ShardHash::Custom(CustomHash::new("ours", shard)),
            ..group()
        }
    };
    let mut nodes = Vec::new();
    for (name, last) in [("node-1", false), ("node-2", true)] {
        let node = Node::builder(name)
            .group(hashed(last))
            .host_as::<Ledger>(Hosting::default())
            .fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let mut cluster = Cluster::connect(nodes).await;
    let second = cluster.nodes[1].name().clone();
    for shard in group().count.iter() {
        cluster.assigned(shard, owned(&second, 2));
    }
    cluster.inform_all().await;
    let ledger = cluster.nodes[0].entity::<Ledger>("abc");
    let error = ledger.add(1).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotExecuted);
    let AskError::NotSent(refused) = error else {
        panic!("{error:?}");
    };
    let text = refused.to_string();
    assert!(text.contains("do not agree on the hash"), "{text}");
    assert!(!refused.is_retryable());
    let agreed = cluster.nodes[0].entity::<Ledger>("a".repeat(12));
    assert_eq!(agreed.add(1).await, Ok(1), "where they agree all is well");
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_only_reaches_a_kind_asks_tells_and_streams() {
    let mut nodes = Vec::new();
    let client = Node::builder("node-1")
        .group(group())
        .reach::<Ledger>(GroupName::default())
        .fixed(Fixed::plain());
    nodes.push(client.start().await.unwrap());
    for name in ["node-2", "node-3"] {
        let node = builder(name).fixed(Fixed::plain());
        nodes.push(node.start().await.unwrap());
    }
    let mut cluster = Cluster::connect(nodes).await;
    let id = cluster.id_on(1);
    let mut sender = Sender::new("only reaches", 0, &cluster.nodes[0], &id);
    sender.tell(MANY).await;
    sender.ask().await;
    let items = sender.to.sized(vec![10; 100]).await.unwrap();
    let items: Vec<_> = items.try_collect().await.unwrap();
    assert_eq!(items.len(), 100);
    let found = cluster.nodes[0].locate("ledger", &id).unwrap();
    assert_eq!(found.node, *cluster.nodes[1].name());

    let shard = cluster.shard(&id);
    cluster.moved(shard, 2);
    testing::adopt(&cluster.nodes[1], &cluster.map).await;
    testing::adopt(&cluster.nodes[2], &cluster.map).await;
    sender.tell(MANY).await;
    sender.ask().await;
    sender.check();

    // A mistake in the map: a shard for a node that does not host the kind.
    let mistaken = cluster.nodes[0].entity::<Ledger>(cluster.id_on(0));
    let kind = "ledger".to_owned();
    let unknown = AskError::NotSent(TellError::UnknownKind { kind });
    let asked = timeout(SOON, mistaken.add(1)).await.unwrap();
    assert_eq!(asked, Err(unknown.clone()));
    let mistaken = cluster.nodes[2].entity::<Ledger>(cluster.id_on(0));
    let asked = timeout(SOON, mistaken.add(1)).await.unwrap();
    assert_eq!(asked, Err(unknown));
    cluster.leave().await;
}
