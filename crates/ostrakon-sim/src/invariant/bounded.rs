//! Bounded: no buffer grows beyond its limit.

use super::Checked;
use crate::lane::WINDOW;

#[derive(Default)]
pub(crate) struct Bounded {
    /// The most that was ever seen in a lane and in the mailboxes of a shard.
    most: (usize, usize),
}

impl Bounded {
    pub(crate) fn lane(&mut self, length: usize) -> Checked {
        self.most.0 = self.most.0.max(length);
        match length <= WINDOW {
            true => Ok(()),
            false => Err(format!("{length} messages wait in a lane for {WINDOW}")),
        }
    }

    /// All senders together can have no more under way than their windows hold, each in its life before and its present one.
    pub(crate) fn mailboxes(&mut self, length: usize, senders: usize) -> Checked {
        self.most.1 = self.most.1.max(length);
        match length <= 2 * WINDOW * senders {
            true => Ok(()),
            false => Err(format!(
                "{length} messages wait in one shard, from {senders} senders"
            )),
        }
    }
}
