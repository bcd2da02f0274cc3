//! What one peer asks another in the name of an operator, as it travels.
//!
//! The types are those of the manager's desk, spelt out for the wire: a wish, a plan, or why there is none.

use ostrakon_core::{
    Incarnation, MoveReason, NodeName, PlannedMove, Policy, Rebalancing, ShardKey,
};
use ostrakon_manager::{Desk, Wish, WishError};
use serde::{Deserialize, Serialize};

/// What an operator asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// That something is done.
    Wish(#[serde(with = "WishOnWire")] Wish),
    /// What a round of balancing would do.
    Plan,
}

/// What comes of it, or why nothing does.
pub(crate) type Answer = Result<Done, Refusal>;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Done {
    TakenUp,
    Plan(Vec<Planned>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Planned(#[serde(with = "PlannedOnWire")] pub(crate) PlannedMove);

/// A [`WishError`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    NotLeading { leader: Option<NodeName> },
    NoSuchNode { node: NodeName },
    IsHeard { node: NodeName },
    Frozen,
    Stopping,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Wish")]
enum WishOnWire {
    Drain { node: NodeName },
    ConfirmDead { node: NodeName, word: String },
    Rebalance,
    SetPolicy(Box<Policy>),
    SetRebalancing(Rebalancing),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PlannedMove")]
struct PlannedOnWire {
    shard: ShardKey,
    from: Option<Incarnation>,
    to: Option<Incarnation>,
    #[serde(with = "ReasonOnWire")]
    reason: MoveReason,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "MoveReason")]
enum ReasonOnWire {
    Unowned,
    Draining,
    Balance {
        from_has: u32,
        from_share: u32,
        to_has: u32,
        to_share: u32,
    },
}

impl Asked {
    /// Asks a manager itself, and nobody else: what was passed on is not passed on again.
    pub(crate) async fn ask(self, desk: &Desk) -> Result<Done, WishError> {
        match self {
            Self::Wish(wish) => desk.wish(wish).await.map(|()| Done::TakenUp),
            Self::Plan => {
                let plan = desk.plan().await?.into_iter();
                Ok(Done::Plan(plan.map(Planned).collect()))
            }
        }
    }
}

impl From<WishError> for Refusal {
    fn from(error: WishError) -> Self {
        match error {
            WishError::NotLeading { leader } => Self::NotLeading { leader },
            WishError::NoSuchNode { node } => Self::NoSuchNode { node },
            WishError::IsHeard { node } => Self::IsHeard { node },
            WishError::Frozen => Self::Frozen,
            WishError::Stopping | _ => Self::Stopping,
        }
    }
}

impl From<Refusal> for WishError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotLeading { leader } => Self::NotLeading { leader },
            Refusal::NoSuchNode { node } => Self::NoSuchNode { node },
            Refusal::IsHeard { node } => Self::IsHeard { node },
            Refusal::Frozen => Self::Frozen,
            Refusal::Stopping => Self::Stopping,
        }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_core::{GroupName, ShardId};

    use super::*;

    fn travelled<T: Serialize + for<'a> Deserialize<'a>>(value: &T) -> T {
        rmp_serde::from_slice(&rmp_serde::to_vec_named(value).unwrap()).unwrap()
    }

    #[test]
    fn every_wish_arrives_as_it_was_sent() {
        let node: NodeName = "node-1".parse().unwrap();
        let word = "unplugged".to_owned();
        let wishes = [
            Wish::Drain { node: node.clone() },
            Wish::ConfirmDead { node, word },
            Wish::Rebalance,
            Wish::SetPolicy(Box::default()),
            Wish::SetRebalancing(Rebalancing::Frozen),
        ];
        for wish in wishes.map(Asked::Wish) {
            assert_eq!(format!("{:?}", travelled(&wish)), format!("{wish:?}"));
        }
        assert!(matches!(travelled(&Asked::Plan), Asked::Plan));
    }

    #[test]
    fn every_answer_arrives_as_it_was_given() {
        let balance = MoveReason::Balance {
            from_has: 4,
            from_share: 3,
            to_has: 2,
            to_share: 3,
        };
        for reason in [MoveReason::Unowned, MoveReason::Draining, balance] {
            let planned = PlannedMove {
                shard: ShardKey {
                    group: GroupName::default(),
                    shard: ShardId::new(7).unwrap(),
                },
                from: Some(Incarnation::new(3)),
                to: None,
                reason,
            };
            assert_eq!(travelled(&Planned(planned.clone())).0, planned);
        }
        let node: NodeName = "node-1".parse().unwrap();
        for error in [
            WishError::NotLeading {
                leader: Some(node.clone()),
            },
            WishError::NoSuchNode { node: node.clone() },
            WishError::IsHeard { node },
            WishError::Frozen,
            WishError::Stopping,
        ] {
            let refusal = Refusal::from(error.clone());
            assert_eq!(WishError::from(travelled(&refusal)), error);
        }
    }
}
