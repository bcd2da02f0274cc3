//! `Clerk`: the actor on every node that other nodes ask.
//!
//! They give it their page and get this node's. It does nothing of its own accord; [`rounds`](super::rounds) does.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{EntityId, NodeName};
use serde::{Deserialize, Serialize};

use super::Page;
use crate::{Context, Entity, EntityRef, Failure, Node, Reply, link::Hub, node::WeakNode};

const NAME: &str = "ostrakon/receptionist";

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Clerk {
    node: WeakNode,
}

/// A node's page for another's.
#[derive(Serialize, Deserialize)]
pub(super) struct Swap {
    pub(super) from: NodeName,
    pub(super) page: Page,
    pub(super) reply: Reply<Page>,
}

impl Entity for Clerk {
    const KIND: &'static str = "ostrakon.receptionist";
    type Message = Swap;
    type Ref = EntityRef<Self>;

    async fn handle(&mut self, swap: Swap, _: &mut Context<Self>) -> Result<(), Failure> {
        let Some(node) = self.node.upgrade() else {
            return Ok(());
        };
        let receptionist = node.receptionist();
        receptionist.take(&swap.from, swap.page);
        swap.reply.send(receptionist.page());
        Ok(())
    }
}

/// The clerk of another node.
pub(super) fn of(hub: &Arc<Hub>, node: &NodeName) -> EntityRef<Clerk> {
    let name = EntityId::new(NAME).expect("a valid name");
    EntityRef::on(hub.link(node), name, hub.clock).within(PATIENCE)
}

/// Gives a node its clerk.
pub(super) fn employ(node: &Node) {
    let clerk = Clerk { node: node.weak() };
    let employed = node.spawn(NAME, clerk);
    debug_assert!(
        employed.is_ok(),
        "nobody can have had the name: the node is being made"
    );
}
