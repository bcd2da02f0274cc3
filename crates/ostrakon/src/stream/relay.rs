//! `Relay`: passes the items of a stream on whose producer is one node further, and whose consumer is on another node, too.
//!
//! The producers here and those on each node that a copy of the reply was passed on to share what the consumer's node has granted to this one. So those
//! one node further have a window of their own, which is a relay's, and what they send waits here for the consumer's. Nothing waits that
//! was not granted, so the queue is bounded.

use std::sync::Arc;

use tokio::{runtime::Handle, sync::mpsc};

use super::{ConsumerGone, Credit, EndOfItems, ItemsSink, cost};
use crate::{Codec, wire::ItemsPort};

pub(super) struct Relay {
    queue: mpsc::UnboundedSender<Passed>,
    credit: Arc<Credit>,
}

enum Passed {
    Item(Codec, Vec<u8>),
    End(EndOfItems),
}

impl Relay {
    /// A port for others, whose items come to `port`.
    pub(super) fn before(port: &ItemsPort) -> ItemsPort {
        let Ok(runtime) = Handle::try_current() else {
            // Nobody could pass anything on.
            return port.clone();
        };
        let (queue, passed) = mpsc::unbounded_channel();
        let credit = port.sink.credit().branch();
        runtime.spawn(run(passed, Arc::clone(&port.sink), Arc::clone(&credit)));
        ItemsPort {
            codec: port.codec,
            sink: Arc::new(Self { queue, credit }),
        }
    }

    fn pass(&self, passed: Passed) -> Result<(), ConsumerGone> {
        self.queue.send(passed).map_err(|_| ConsumerGone)
    }
}

/// Until all producers are gone, or the consumer is.
async fn run(
    mut passed: mpsc::UnboundedReceiver<Passed>,
    sink: Arc<dyn ItemsSink>,
    credit: Arc<Credit>,
) {
    let ours = Arc::clone(sink.credit());
    loop {
        let next = tokio::select! {
            biased;
            () = ours.closed() => return,
            next = passed.recv() => next,
        };
        match next {
            None => return,
            Some(Passed::End(end)) => sink.end(end),
            Some(Passed::Item(codec, item)) => {
                let units = cost(item.len());
                let granted = ours.take(units).await;
                if granted.and_then(|()| sink.deliver(codec, &item)).is_err() {
                    return credit.close();
                }
                credit.was_read(units);
            }
        }
    }
}

impl ItemsSink for Relay {
    fn deliver(&self, codec: Codec, item: &[u8]) -> Result<(), ConsumerGone> {
        self.pass(Passed::Item(codec, item.to_vec()))
    }

    fn end(&self, end: EndOfItems) {
        // A consumer that has gone away needs no ending.
        let _ = self.pass(Passed::End(end));
    }

    fn credit(&self) -> &Arc<Credit> {
        &self.credit
    }
}
