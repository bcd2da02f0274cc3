//! Topics: one receiver per node, and messages that go to all of them.

use std::{collections::BTreeMap, marker::PhantomData, time::Duration};

use ostrakon_core::NodeName;

use crate::{
    AskError, Entity, EntityRef, Node, Payload, Reply, SpawnError, TellError,
    entity_ref::DEFAULT_TIMEOUT, reply::Slot,
};

impl Node {
    /// Makes `receiver` this node's receiver of a topic. It is an actor: it lives until it stops or fails.
    pub fn join_topic<E: Entity>(
        &self,
        topic: impl AsRef<str>,
        receiver: E,
    ) -> Result<E::Ref, SpawnError> {
        self.spawn(receiver_name(topic.as_ref()), receiver)
    }

    /// A topic to broadcast on; this node need not have a receiver itself.
    pub fn topic<E: Entity>(&self, topic: impl AsRef<str>) -> Topic<E> {
        Topic {
            node: self.clone(),
            receiver: receiver_name(topic.as_ref()),
            timeout: DEFAULT_TIMEOUT,
            entity: PhantomData,
        }
    }
}

fn receiver_name(topic: &str) -> String {
    format!("topic/{topic}")
}

/// Reaches the receivers of a topic on all nodes.
pub struct Topic<E> {
    node: Node,
    receiver: String,
    timeout: Duration,
    entity: PhantomData<fn() -> E>,
}

impl<E: Entity> Topic<E> {
    /// The same topic, with another time limit for asks. A node that has just been lost takes all of it, for nobody knows yet that it
    /// will not answer.
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Tells every receiver the message that `make` makes, and says for each node whether it was accepted.
    pub async fn tell(
        &self,
        mut make: impl FnMut() -> E::Message,
    ) -> BTreeMap<NodeName, Result<(), TellError>> {
        let mut results = BTreeMap::new();
        for (node, receiver) in self.receivers() {
            results.insert(node, receiver.tell(make()).await);
        }
        results
    }

    /// Asks every receiver, and collects one answer or error per node.
    pub async fn ask<R: Payload>(
        &self,
        mut make: impl FnMut(Reply<R>) -> E::Message,
    ) -> BTreeMap<NodeName, Result<R, AskError>> {
        let receivers = self.receivers();
        let mut asks = Vec::new();
        for (_, receiver) in &receivers {
            let slot = Slot::new();
            let message = make(Reply::first(&slot));
            asks.push(receiver.ask_slot(slot, message));
        }
        let answers = futures_util::future::join_all(asks).await;
        let nodes = receivers.iter().map(|(node, _)| node.clone());
        let has_receiver = |answer: &Result<R, AskError>| {
            let nobody = |error: &AskError| {
                matches!(error, AskError::NotSent(TellError::NoSuchActor { .. }))
            };
            !answer.as_ref().is_err_and(nobody)
        };
        nodes
            .zip(answers)
            .filter(|(_, answer)| has_receiver(answer))
            .collect()
    }

    fn receivers(&self) -> Vec<(NodeName, EntityRef<E>)> {
        let members = self.node.topology().members;
        let receiver = |node: NodeName| {
            let found = self.node.lookup::<E>(&self.receiver).on(&node).ok()?;
            Some((node, found.as_ref().clone().within(self.timeout)))
        };
        members
            .into_iter()
            .filter_map(|member| receiver(member.name))
            .collect()
    }
}
