//! The meeting point of the test's side and the connections: rules one way, counts the other way.
//!
//! Both are watched values, so that either side waits for a change instead of polling for it.
//! Lock order, where both are held: rules before counts.

use std::io;

use tokio::sync::watch;

use crate::{Direction, Mischief, fate::Blow, rules::Rules};

#[derive(Debug)]
pub(crate) struct Control {
    rules: watch::Sender<Rules>,
    counts: watch::Sender<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connections: u64,
    /// By direction.
    pub(crate) bytes: [u64; 2],
    pub(crate) mischief: Mischief,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self {
            rules: watch::Sender::new(Rules::passing()),
            counts: watch::Sender::new(Counts::default()),
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Rules)) {
        self.rules.send_modify(change);
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&Rules) -> T) -> T {
        look(&self.rules.borrow())
    }

    pub(crate) fn rules(&self) -> watch::Receiver<Rules> {
        self.rules.subscribe()
    }

    pub(crate) fn take_ordered(&self, direction: Direction) -> Option<Blow> {
        let mut ordered = None;
        self.rules.send_if_modified(|rules| {
            ordered = rules.take_ordered(direction);
            // Nobody waits for an order to be used up.
            false
        });
        ordered
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    pub(crate) fn count(&self, deed: impl FnOnce(&mut Mischief)) {
        self.counts.send_modify(|counts| deed(&mut counts.mischief));
    }

    /// Returns the number of the new connection, from 0.
    pub(crate) fn count_connection(&self) -> u64 {
        let mut number = 0;
        self.counts.send_modify(|counts| {
            number = counts.connections;
            counts.connections += 1;
        });
        number
    }

    /// Writes while the counts are locked: whoever has received a byte finds it counted.
    pub(crate) fn count_bytes(
        &self,
        direction: Direction,
        write: impl FnOnce() -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut written = Ok(0);
        self.counts.send_if_modified(|counts| {
            written = write();
            let length = *written.as_ref().unwrap_or(&0);
            counts.bytes[direction as usize] += length as u64;
            length > 0
        });
        written
    }

    pub(crate) async fn until(&self, reached: impl FnMut(&Counts) -> bool) {
        settled(&mut self.counts.subscribe(), reached).await;
    }
}

/// Waits until the watched value satisfies the condition. Unlike `wait_for` itself it hands out no
/// guard, which would keep the value locked.
pub(crate) async fn settled<T>(
    watched: &mut watch::Receiver<T>,
    condition: impl FnMut(&T) -> bool,
) {
    let sender_lives = watched.wait_for(condition).await.is_ok();
    assert!(sender_lives, "whoever waits also holds the sender");
}
