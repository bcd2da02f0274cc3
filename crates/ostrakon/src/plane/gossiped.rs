//! Who is down, as the nodes tell each other, for the driver.

use std::collections::BTreeSet;

use ostrakon_core::{TopologySnapshot, TopologyStatus};
use tokio::sync::{mpsc, watch};

use super::Event;

/// Tells the driver now and after every change, until one of the two is gone.
pub(crate) async fn follow(
    mut gossip: watch::Receiver<TopologySnapshot>,
    events: mpsc::Sender<Event>,
) {
    let mut told = BTreeSet::new();
    loop {
        let down = down(&gossip.borrow_and_update());
        if down != told {
            told.clone_from(&down);
            if events.send(Event::Down(down)).await.is_err() {
                return;
            }
        }
        tokio::select! {
            changed = gossip.changed() => if changed.is_err() {
                return;
            },
            () = events.closed() => return,
        }
    }
}

fn down(snapshot: &TopologySnapshot) -> BTreeSet<ostrakon_core::NodeName> {
    let members = snapshot.members.iter();
    let down = members.filter(|member| member.status == TopologyStatus::Down);
    down.map(|member| member.name.clone()).collect()
}
