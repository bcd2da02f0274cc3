//! `Gathering`: whom a node waits for that must not form a cluster on its own.

use std::fmt;

use super::Address;
use crate::NodeName;

/// Whom a node waits for that must not form a cluster on its own; for people to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathering {
    /// How many have to be there.
    pub least: usize,
    /// Who is to form the cluster, as far as this node knows.
    pub at: Option<Address>,
    /// If that is this node: those who are there, itself among them.
    pub there: Vec<NodeName>,
}

impl fmt::Display for Gathering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, at, there } = self;
        match at {
            None => write!(
                f,
                "no seed is there yet; a cluster is formed when {least} peers are"
            ),
            Some(at) if there.is_empty() => write!(
                f,
                "the peer at {at} is to form a cluster when {least} peers have told it that they are there"
            ),
            Some(_) => {
                write!(
                    f,
                    "this peer is to form a cluster, and {} of {least} are there: ",
                    there.len()
                )?;
                for (number, name) in there.iter().enumerate() {
                    let comma = if number == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}")?;
                }
                Ok(())
            }
        }
    }
}
