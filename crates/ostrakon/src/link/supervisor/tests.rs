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
async fn a_link_stays_for_as_long_as_something_waits_for_its_node() {
    let (hub, _) = connected().await;
    tell(&hub.link(&name("away")));
    pass(&hub).await;
    assert!(!hub.link(&name("away")).is_at_rest());
}
