//! `Ahead`: nodes that know more of the log than there is of it.
//!
//! A log that is lost, or restored from an old backup, while nodes run has forgotten who owns what, and gives the same indexes again: to
//! other runs, and as epochs of other owners. A node that remembers may act for shards that the log believes to be free, and under
//! `proof` for ever. So while such a node is known nothing is granted and nothing is moved; everybody who is in the log is answered and
//! acts on, and it is said loudly. It ends when a process of the same name calls that remembers less, which is another process, or when
//! an operator says that the node is dead; a node that has only hung up may still act.
//!
//! What this cannot see: a log that has outgrown what the node knows before the node calls, or a node that does not call. Invariant:
//! nobody is accused on the word of a manager that lags behind, because the end of the log is asked for after the node has spoken.

use std::collections::BTreeMap;

use ostrakon_core::{CoordinatorInput, Index, NodeName};

use super::Engine;
use crate::{desk::WishError, event::Happening};

/// Nodes that seem to be ahead of the log.
#[derive(Default)]
pub(super) struct Ahead {
    nodes: BTreeMap<NodeName, Suspect>,
    is_looking: bool,
}

struct Suspect {
    line: u64,
    knows: Index,
    doubt: Doubt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// The end of the log has yet to be asked for.
    Open,
    /// It has been.
    Asked,
    /// The log is shorter.
    None,
}

impl Engine {
    /// A caller knows the log as far as this and wants to hear the rest.
    pub(super) fn follow(&mut self, line: u64, behind: Index) {
        self.switchboard.follow(line, behind);
        let Some(name) = self.switchboard.node(line).cloned() else {
            return;
        };
        let known = self.ahead.nodes.get_mut(&name);
        match known.filter(|known| known.doubt == Doubt::None) {
            // It is the same process on another line: one does not forget.
            Some(known) if behind >= known.knows => {
                known.line = line;
                self.switchboard.unfollow(line);
            }
            Some(known) if self.switchboard.has(known.line) => {}
            Some(_) => self.is_not_ahead(&name),
            None if behind > self.coordinator.state().applied() => self.suspect(name, line, behind),
            None => {}
        }
    }

    /// Nothing is granted until it is known whether this is so.
    fn suspect(&mut self, name: NodeName, line: u64, knows: Index) {
        let doubt = Doubt::Open;
        let suspect = Suspect { line, knows, doubt };
        self.ahead.nodes.insert(name, suspect);
        self.step(CoordinatorInput::HoldBack);
        self.look_at_end();
    }

    /// Asks where the log ends, if anybody has to be compared with it.
    pub(super) fn look_at_end(&mut self) {
        let open = |suspect: &&mut Suspect| suspect.doubt != Doubt::None;
        let mut suspects = self.ahead.nodes.values_mut().filter(open).peekable();
        if self.ahead.is_looking || suspects.peek().is_none() {
            return;
        }
        suspects.for_each(|suspect| suspect.doubt = Doubt::Asked);
        self.ahead.is_looking = true;
        self.parts.keeper.look_at_end();
    }

    /// The log ends here, if that could be found out.
    pub(super) fn log_ends(&mut self, end: Option<Index>) {
        self.ahead.is_looking = false;
        let Some(end) = end else {
            // It is tried again with the next tick.
            return;
        };
        let asked = self.ahead.nodes.iter();
        let asked = asked.filter(|(_, suspect)| suspect.doubt == Doubt::Asked);
        let asked: Vec<_> = asked.map(|(name, one)| (name.clone(), one.knows)).collect();
        for (name, knows) in asked {
            if knows <= end {
                self.is_not_ahead(&name);
            } else {
                self.is_ahead(name, knows, end);
            }
        }
        self.look_at_end();
    }

    /// The log goes at least as far as it has been read: whoever knows no more is not ahead, and nobody need be asked where it ends.
    pub(super) fn catch_up_with_suspects(&mut self) {
        let read = self.coordinator.state().applied();
        let suspects = self.ahead.nodes.iter();
        let cleared = suspects.filter(|(_, one)| one.doubt != Doubt::None && one.knows <= read);
        let cleared: Vec<_> = cleared.map(|(name, _)| name.clone()).collect();
        for name in cleared {
            self.is_not_ahead(&name);
        }
    }

    fn is_ahead(&mut self, node: NodeName, knows: Index, ends: Index) {
        if let Some(suspect) = self.ahead.nodes.get_mut(&node) {
            suspect.doubt = Doubt::None;
            // What comes next in this log does not continue what it knows.
            self.switchboard.unfollow(suspect.line);
        }
        let remedy = format!(
            "the log was lost or restored from an old backup while nodes ran, and nothing is granted: stop the managers and put the newest log back; if there is none, restart node `{node}`, or run `ostrakon nodes confirm-dead {node}` if it is gone for good"
        );
        tracing::error!(%node, knows = knows.get(), ends = ends.get(), remedy, "a node knows more of the log than there is of it");
        let ahead = Happening::Ahead {
            node,
            knows,
            ends,
            remedy,
        };
        self.view().happened(None, ahead);
    }

    fn is_not_ahead(&mut self, name: &NodeName) {
        self.ahead.nodes.remove(name);
        self.view().not_ahead(name);
        if self.ahead.nodes.is_empty() {
            self.step(CoordinatorInput::GoOn);
        }
    }

    /// An operator says that a node is dead. Returns whether it was one of these.
    pub(super) fn forget_ahead(&mut self, node: &NodeName) -> Result<bool, WishError> {
        let known = self.ahead.nodes.get(node);
        let Some(known) = known.filter(|known| known.doubt == Doubt::None) else {
            return Ok(false);
        };
        if self.switchboard.has(known.line) {
            let node = node.clone();
            return Err(WishError::IsHeard { node });
        }
        self.is_not_ahead(node);
        Ok(true)
    }
}
