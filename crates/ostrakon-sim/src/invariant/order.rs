//! Order: messages of one sender to one entity are handled in the order they were sent.

use std::collections::BTreeMap;

use super::Checked;

#[derive(Default)]
pub(crate) struct Order {
    last: BTreeMap<(u64, usize, usize), u64>,
}

impl Order {
    pub(crate) fn handled(&mut self, lane: (u64, usize, usize), seq: u64) -> Checked {
        let last = self.last.entry(lane).or_default();
        if seq < *last {
            let (process, shard, entity) = lane;
            return Err(format!(
                "message {seq} of process {process} to entity {shard}.{entity} is handled after {last}"
            ));
        }
        *last = seq;
        Ok(())
    }
}
