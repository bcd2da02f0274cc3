//! `Branch`: the way of a stream's items from the producers on one other node into the pipe.
//!
//! A stream may have producers in several places, for a reply can be copied and each copy passed on. Those on one node may send as much ahead as one
//! window holds; they know nothing of those elsewhere, so each has a window of its own.

use std::sync::Arc;

use super::{ConsumerGone, Credit, EndOfItems, Item, ItemsSink, Pipe, cost};
use crate::{Codec, Payload};

pub(super) struct Branch<T> {
    pipe: Arc<Pipe<T>>,
    credit: Arc<Credit>,
}

impl<T> Branch<T> {
    pub(super) fn of(pipe: &Arc<Pipe<T>>) -> Self {
        Self {
            pipe: Arc::clone(pipe),
            credit: pipe.credit.branch(),
        }
    }
}

impl<T: Payload> ItemsSink for Branch<T> {
    fn deliver(&self, codec: Codec, item: &[u8]) -> Result<(), ConsumerGone> {
        self.pipe.put(match codec.decode(item) {
            Ok(value) => {
                let from = (Arc::clone(&self.credit), cost(item.len()));
                Item::Next(value, Some(from))
            }
            Err(error) => Item::End(EndOfItems::Broken(error)),
        })
    }

    fn end(&self, end: EndOfItems) {
        self.pipe.end(end);
    }

    fn credit(&self) -> &Arc<Credit> {
        &self.credit
    }
}
