//! `Plan`: what an allocator wants done, and why.
//!
//! Nothing in it has happened. No shard occurs twice in one plan, so its moves can be carried out in any number of
//! steps; the order is the order of urgency.

use std::fmt;

use crate::{Incarnation, ShardId};

/// The moves that an allocator wants, the most urgent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they should be done.
    pub moves: Vec<Move>,
}

/// One shard that should go to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which shard.
    pub shard: ShardId,
    /// Who has it now and must let go first.
    pub from: Option<Incarnation>,
    /// Who should have it.
    pub to: Incarnation,
    /// Why.
    pub reason: MoveReason,
}

/// Why a shard should go to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveReason {
    /// Nobody has it.
    Unowned,
    /// The node that has it leaves.
    Draining,
    /// The node that has it has too many. All numbers are those before the move, other moves of the plan included.
    Balance {
        /// How many the present node has.
        from_has: u32,
        /// How many it should have.
        from_share: u32,
        /// How many the next node has.
        to_has: u32,
        /// How many that should have.
        to_share: u32,
    },
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}", self.shard)?;
        if let Some(from) = self.from {
            write!(f, " from {from}")?;
        }
        write!(f, " to {}: {}", self.to, self.reason)
    }
}

impl fmt::Display for MoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unowned => f.write_str("nobody has it"),
            Self::Draining => f.write_str("its node leaves"),
            Self::Balance {
                from_has,
                from_share,
                to_has,
                to_share,
            } => write!(
                f,
                "its node has {from_has} and should have {from_share}, the other has {to_has} of {to_share}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_says_what_it_is_and_why() {
        let said = |from, reason| {
            let to = Incarnation::new(9);
            let shard = ShardId::new(7).unwrap();
            let planned = Move {
                shard,
                from,
                to,
                reason,
            };
            planned.to_string()
        };
        let from = Some(Incarnation::new(3));
        let balance = MoveReason::Balance {
            from_has: 15,
            from_share: 12,
            to_has: 6,
            to_share: 12,
        };
        assert_eq!(
            said(None, MoveReason::Unowned),
            "shard 7 to i9: nobody has it"
        );
        assert_eq!(
            said(from, MoveReason::Draining),
            "shard 7 from i3 to i9: its node leaves"
        );
        assert_eq!(
            said(from, balance),
            "shard 7 from i3 to i9: its node has 15 and should have 12, the other has 6 of 12"
        );
    }
}
