//! A node knows that it lives: whatever others say of it, it has answered before anybody can see that it believed them.

use ostrakon_core::{TopologyMember, TopologyStatus};

use super::Checked;

/// The record that a node which is not leaving has of itself, once it is in a cluster.
pub(crate) fn knows_itself(own: Option<&TopologyMember>) -> Checked {
    match own {
        Some(own) if own.status != TopologyStatus::Up || !own.accusers.is_empty() => Err(format!(
            "{} sees itself as {} at {}, accused by {:?}",
            own.name, own.status, own.generation, own.accusers
        )),
        Some(_) | None => Ok(()),
    }
}
