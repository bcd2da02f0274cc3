//! Founding: when the peer that has formed a cluster begins its log.
//!
//! Where it takes several to form a cluster, it waits until so many are members: one of those who let it form the cluster may not have heard that
//! it did, and have let somebody else do so since. Invariant: a run of a peer is a member of one cluster only, so of two clusters that each take more
//! than half of the peers one has no log; and where there is no log, nobody owns anything.

use std::time::Duration;

use ostrakon_core::TopologySnapshot;
use tokio::{sync::watch, time::timeout};

use crate::StartError;

/// Waits until enough are members.
pub(crate) async fn until_enough(
    mut members: watch::Receiver<TopologySnapshot>,
    least: usize,
    within: Duration,
) -> Result<(), StartError> {
    let are_enough = |members: &TopologySnapshot| members.live().count() >= least;
    match timeout(within, members.wait_for(are_enough)).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(_)) => return Err(StartError::Stopped),
        Err(_) => {}
    }
    let there = members.borrow().live().count();
    Err(StartError::TooFew {
        there,
        least,
        within,
    })
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{Address, NodeName, Time, Topology, TopologyConfig, TopologyInput};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    /// What one sees that is alone in its cluster.
    fn alone() -> TopologySnapshot {
        let name = NodeName::new("a").unwrap();
        let address = Address::new("127.0.0.1:1").unwrap();
        let config = TopologyConfig::new(name, address, 1);
        let mut topology = Topology::new(Time::ZERO, config).unwrap();
        topology.step(Time::ZERO, TopologyInput::Tick);
        topology.snapshot()
    }

    fn two() -> TopologySnapshot {
        let mut members = alone();
        let mut other = members.members[0].clone();
        other.name = NodeName::new("b").unwrap();
        members.members.push(other);
        members
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_left_alone_begins_nothing() {
        let (_sender, members) = watch::channel(alone());
        let refused = until_enough(members.clone(), 2, WITHIN).await.unwrap_err();
        let said = "1 of 2 peers came within 30s";
        assert!(refused.to_string().contains(said), "{refused}");
        until_enough(members, 1, WITHIN).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn it_begins_as_soon_as_enough_are_there() {
        let (sender, members) = watch::channel(alone());
        let waiting = tokio::spawn(until_enough(members, 2, WITHIN));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        sender.send_replace(two());
        waiting.await.unwrap().unwrap();
    }
}
