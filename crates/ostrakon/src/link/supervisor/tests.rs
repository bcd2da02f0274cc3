//! What becomes of a link that nobody uses.

use ostrakon_core::EntityId;
use tokio::runtime::Handle;

use super::*;
use crate::{
    link::{LaneKey, Outgoing, connection::tests::connected},
    wire::Ports,
};

fn name(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

/// Long enough for every supervisor to look once whether its link is used.
async fn pass(hub: &Hub) {
    tokio::time::sleep(hub.limits.silence * 3 / 2).await;
}

fn tell(link: &Arc<Link>) {
    let message = Outgoing {
        kind: "chat",
        id: &EntityId::new("lobby").unwrap(),
        to: Addressee::Actor,
        lane: LaneKey::Actors,
        asker: None,
        deadline: None,
        remaining: 0,
        options: &[],
        payload: b"anything",
    };
    link.send(&message, &mut Ports::new()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_link_that_nobody_uses_is_forgotten_with_all_its_tasks() {
    let (hub, _) = connected().await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    let link = Arc::downgrade(&hub.link(&name("gone")));
    assert!(link.upgrade().is_some());
    pass(&hub).await;
    assert!(link.upgrade().is_none());
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[tokio::test(start_paused = true)]
async fn a_link_that_somebody_may_use_stays_the_one() {
    let (hub, _) = connected().await;
    let link = hub.link(&name("held"));
    pass(&hub).await;
    assert!(Arc::ptr_eq(&hub.link(&name("held")), &link));
    let unused = Arc::downgrade(&link);
    drop(link);
    pass(&hub).await;
    assert!(unused.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_link_stays_for_as_long_as_something_waits_for_a_node_that_may_come() {
    let (hub, _) = connected().await;
    hub.introduce(name("away"), "127.0.0.1:1".to_owned());
    tell(&hub.link(&name("away")));
    tokio::time::sleep(DEFAULT_TIMEOUT * 3).await;
    assert!(!hub.link(&name("away")).is_at_rest());
}

#[tokio::test(start_paused = true)]
async fn what_was_told_to_a_node_that_nobody_knows_any_more_is_given_up() {
    let (hub, _) = connected().await;
    let link = Arc::downgrade(&hub.link(&name("gone")));
    tell(&hub.link(&name("gone")));
    tokio::time::sleep(DEFAULT_TIMEOUT / 2).await;
    assert!(!hub.link(&name("gone")).is_at_rest());
    tokio::time::sleep(DEFAULT_TIMEOUT * 2).await;
    assert!(link.upgrade().is_none());
}
