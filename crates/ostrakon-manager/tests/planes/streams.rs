//! Answers that are streams.

use ostrakon::EntityStream;
use tokio::time::timeout;

use crate::{
    citizen::{Citizen, endless, numbers},
    cluster::{Cluster, SOON},
    gate::Gate,
};

/// How many items a producer may be ahead of its consumer at most: 64 on their way, and one in its hands.
const AHEAD: u32 = 65;
/// How many it may be ahead at least, so that it is no lockstep.
const BUSY: u32 = 16;

async fn next(stream: &mut EntityStream<u64>) -> Option<u64> {
    let item = timeout(SOON, stream.next()).await.expect("an item");
    item.transpose().unwrap()
}

pub(crate) async fn items_arrive_in_order_and_end(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            let mut stream = numbers(&citizen, 1_000).await.unwrap();
            for number in 0..1_000 {
                assert_eq!(next(&mut stream).await, Some(number));
            }
            assert_eq!(next(&mut stream).await, None);
        }
    }
}

pub(crate) async fn a_slow_consumer_slows_the_producer(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            let (sent, name) = Gate::new();
            let mut stream = endless(&citizen, name).await.unwrap();
            sent.knocked(BUSY).await;
            // Whatever can go on has time to do so meanwhile.
            for _ in 0..50 {
                citizen.notes().await.unwrap();
            }
            assert!(sent.knocks() <= AHEAD, "{} unread", sent.knocks());
            for read in 0..200 {
                assert_eq!(next(&mut stream).await, Some(u64::from(read)));
                let ahead = sent.knocks() - read;
                assert!(ahead <= AHEAD + 1, "{ahead} ahead after {read}");
            }
        }
    }
}

pub(crate) async fn a_consumer_that_goes_stops_the_producer(cluster: Cluster) {
    for node in &cluster.nodes {
        for id in 0..4 {
            let citizen = node.entity::<Citizen>(format!("citizen-{id}"));
            let (producer, name) = Gate::new();
            let mut stream = endless(&citizen, name).await.unwrap();
            assert_eq!(next(&mut stream).await, Some(0));
            drop(stream);
            timeout(SOON, producer.opened()).await.expect("its end");
            assert!(citizen.notes().await.is_ok(), "the entity itself goes on");
        }
    }
}
