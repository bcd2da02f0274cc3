//! The entity lives on another node than the gateway.

use std::sync::Arc;

use ostrakon::{
    EntityId, GroupName, Hosting, Node, NodeBuilder, ShardCount, ShardGroup,
    testing::{self, Assignment, Fixed, ShardMap, Version},
};
use ostrakon_gateway::Gateway;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    account::Account,
    house::{House, SOON, exposing, finished, making},
    trouble::{Hands, Trouble},
};

/// Two nodes, of which the second has every shard but the last.
async fn spanning() -> (House, Node) {
    let hands = Arc::new(Hands::default());
    let hosting = |builder: NodeBuilder| {
        let hosting = Hosting::default().mailbox(2);
        builder
            .group(group())
            .host::<Account>()
            .host_with::<Trouble>(hosting, making(&hands))
    };
    let front = Node::builder("front").group(group());
    let front = front
        .reach::<Account>(GroupName::default())
        .reach::<Trouble>(GroupName::default());
    let front = front.fixed(Fixed::plain()).start().await.unwrap();
    let back = hosting(Node::builder("back")).fixed(Fixed::plain());
    let back = back.start().await.unwrap();
    for (one, other) in [(&front, &back), (&back, &front)] {
        let address = testing::address(other).to_string();
        testing::introduce(one, other.name().as_str(), &address);
    }
    let mut map = ShardMap::unowned(Version::new(1), [&group()]);
    for shard in group().count.iter().skip(1) {
        map = map.with(&GroupName::default(), shard, Some(owner(&back)));
    }
    for node in [&front, &back] {
        testing::adopt(node, &map).await;
    }
    let gateway: Gateway = exposing(&front).serve("127.0.0.1:0").await.unwrap();
    let house = House {
        node: front,
        gateway,
        hands,
    };
    (house, back)
}

fn owner(node: &Node) -> Assignment {
    Assignment {
        owner: node.name().clone(),
        epoch: ostrakon::Epoch::new(1),
    }
}

fn group() -> ShardGroup {
    ShardGroup {
        count: ShardCount::new(4).unwrap(),
        ..ShardGroup::default()
    }
}

/// An id in a shard that somebody has, or that nobody has.
fn id(is_owned: impl Fn(usize) -> bool) -> String {
    let mut ids = (0..).map(|number| format!("id-{number}"));
    let wanted = |id: &String| {
        is_owned(
            group()
                .shard_of(&EntityId::new(id).unwrap())
                .unwrap()
                .index(),
        )
    };
    ids.find(wanted).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_node_passes_everything_on() {
    let (house, _back) = spanning().await;
    let id = id(|shard| shard > 0);
    assert_eq!(
        house.call(&format!("trouble/{id}/node"), "").await.value(),
        json!("back")
    );
    assert_eq!(
        house
            .call(&format!("account/{id}/deposit"), r#"{"amount": 9}"#)
            .await
            .value(),
        json!(9)
    );
    let told = house
        .call(&format!("account/{id}/deposit?tell"), r#"{"amount": 1}"#)
        .await;
    assert_eq!(told.status, 202);
    let short = house
        .call(&format!("account/{id}/withdraw"), r#"{"amount": 99}"#)
        .await;
    short.problem(422, "executed", "no");
    assert_eq!(short.json()["rejection"], json!({"balance": 10}));
    let items = house
        .call(&format!("account/{id}/history"), r#"{"from": 0}"#)
        .await;
    assert_eq!(
        items.body,
        "data: 9\n\ndata: 1\n\nevent: end\ndata: null\n\n"
    );
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let header = format!("traceparent: {trace}");
    let traced = house
        .call_with(&format!("trouble/{id}/trace"), "", &["-H", &header])
        .await;
    assert_eq!(traced.value(), json!(trace));
    house
        .call(&format!("trouble/{id}/panic"), "")
        .await
        .problem(500, "failed", "no");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_nobody_has_is_no_reason_to_give_up() {
    let (house, _back) = spanning().await;
    let id = id(|shard| shard == 0);
    let soon = ["-H", "Ostrakon-Timeout: 300"];
    let reply = house
        .call_with(&format!("account/{id}/balance"), "", &soon)
        .await;
    let text = reply.problem(503, "not_executed", "safe");
    assert!(text.contains("no owner"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_lost_leaves_the_outcome_unknown() {
    let (house, back) = spanning().await;
    let id = id(|shard| shard > 0);
    let call = house.calling(&format!("trouble/{id}/hold"), "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    drop(back);
    let text = finished(call).await.problem(504, "unknown", "no");
    assert!(text.contains("may have"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mailbox_that_is_full_there_is_too_many_requests_here() {
    let (house, _back) = spanning().await;
    let id = id(|shard| shard > 0);
    let held = house.calling(&format!("trouble/{id}/hold"), "", &[]);
    timeout(SOON, house.hands.holding.notified()).await.unwrap();
    let waiting = ["1", "2"].map(|text| {
        house.calling(
            &format!("trouble/{id}/note"),
            &format!(r#"{{"text":"{text}"}}"#),
            &[],
        )
    });
    let full = async {
        loop {
            let soon = ["-H", "Ostrakon-Timeout: 500"];
            let reply = house
                .call_with(&format!("trouble/{id}/notes"), "", &soon)
                .await;
            if reply.status == 429 {
                return reply;
            }
        }
    };
    let reply = timeout(SOON, full).await.unwrap();
    reply.problem(429, "not_executed", "safe");
    house.hands.release.notify_one();
    finished(held).await.value();
    for call in waiting {
        finished(call).await;
    }
}
