//! Joining, talking, leaving.

use crate::cluster::{Counter, builder, is_spread, manager, node, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_node_gets_all_shards_and_answers() {
    let manager = manager().await;
    let one = node("node-1", &manager).await;
    let counter = one.entity::<Counter>("a");
    assert_eq!(counter.add(2).await.unwrap(), 2);
    until(&manager, "all shards", |view| {
        is_spread(view, &[("node-1", 300)])
    })
    .await;
    one.leave().await.unwrap();
    until(&manager, "the farewell", |view| {
        view.state().members().len() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_begin_together_share_the_shards_and_reach_each_others_entities() {
    let manager = manager().await;
    let (one, two, three) = tokio::join!(
        node("node-1", &manager),
        node("node-2", &manager),
        node("node-3", &manager),
    );
    let shares = [("node-1", 100), ("node-2", 100), ("node-3", 100)];
    until(&manager, "equal shares", |view| is_spread(view, &shares)).await;
    for id in 0..50 {
        let id = format!("counter-{id}");
        assert_eq!(one.entity::<Counter>(&id).add(1).await.unwrap(), 1);
        assert_eq!(two.entity::<Counter>(&id).add(1).await.unwrap(), 2);
        assert_eq!(three.entity::<Counter>(&id).add(1).await.unwrap(), 3);
        let place = one.entity::<Counter>(&id).place().await.unwrap();
        assert_eq!(two.locate("counter", &id).unwrap().node.as_str(), place);
    }
    two.leave().await.unwrap();
    until(&manager, "its share to be taken over", |view| {
        is_spread(view, &[("node-1", 150), ("node-3", 150)])
    })
    .await;
    for id in 0..50 {
        let id = format!("counter-{id}");
        let count = three.entity::<Counter>(&id).add(1).await.unwrap();
        // Those that lived on the node that left have begun anew: they keep their state in memory.
        assert!(count == 4 || count == 1, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_kinds_is_a_client_and_owns_nothing() {
    let manager = manager().await;
    let one = node("node-1", &manager).await;
    let client = ostrakon::Node::builder("client-1")
        .managed(manager.address().unwrap())
        .reach::<Counter>(ostrakon::GroupName::default())
        .start()
        .await
        .unwrap();
    assert_eq!(client.entity::<Counter>("a").add(5).await.unwrap(), 5);
    assert_eq!(manager.desk().view().state().members().len(), 1);
    client.leave().await.unwrap();
    one.leave().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_another_number_of_shards_is_refused_and_told_why() {
    let manager = manager().await;
    let _one = node("node-1", &manager).await;
    let group = ostrakon::ShardGroup {
        count: ostrakon::ShardCount::new(7).unwrap(),
        ..Default::default()
    };
    let error = builder("node-2", &manager).group(group).start().await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("300 shards"), "{error}");
    assert!(error.contains("7 shards"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_manager_a_node_does_not_start_and_says_why() {
    let manager = manager().await;
    let address = manager.address().unwrap();
    manager.stop().await;
    let managed =
        ostrakon::Managed::from(address).join_within(std::time::Duration::from_millis(300));
    let started = ostrakon::Node::builder("node-1")
        .managed(managed)
        .host::<Counter>()
        .start()
        .await;
    let error = started.unwrap_err().to_string();
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_asks_for_a_role_lives_on_nodes_that_have_it() {
    let manager = manager().await;
    let everybody = || {
        ostrakon::Managed::from(manager.address().unwrap())
            .group_role(ostrakon::GroupName::default(), "storage")
    };
    let start = |name: &str, managed| {
        let node = ostrakon::Node::builder(name).managed(managed);
        node.host::<Counter>().start()
    };
    let (front, back) = tokio::join!(
        start("front", everybody()),
        start("back", everybody().role("storage")),
    );
    let (front, _back) = (front.unwrap(), back.unwrap());
    until(&manager, "the placement", |view| {
        is_spread(view, &[("back", 300), ("front", 0)])
    })
    .await;
    assert_eq!(front.entity::<Counter>("a").place().await.unwrap(), "back");
}
