//! `Hosting`: how a node runs the entities of one kind.

use std::time::Duration;

use ostrakon_core::GroupName;

/// The settings of one kind on this node. The defaults are right for most.
#[derive(Debug, Clone)]
pub struct Hosting {
    pub(crate) group: GroupName,
    pub(crate) mailbox: usize,
    pub(crate) idle_after: Option<Duration>,
    pub(crate) active_limit: Option<usize>,
    pub(crate) stop_deadline: Duration,
    pub(crate) restart: Backoff,
}

impl Default for Hosting {
    fn default() -> Self {
        Self {
            group: GroupName::default(),
            mailbox: 1024,
            idle_after: Some(Duration::from_secs(60)),
            active_limit: None,
            stop_deadline: Duration::from_secs(3),
            restart: Backoff {
                first: Duration::from_millis(100),
                most: Duration::from_secs(10),
            },
        }
    }
}

impl Hosting {
    /// The shard group the kind lives in, if not the default one. It must be declared with [`NodeBuilder::group`](crate::NodeBuilder::group).
    pub fn group(mut self, name: GroupName) -> Self {
        self.group = name;
        self
    }

    /// How many messages may wait for one entity before senders get `Overloaded`. Default 1,024, at least 1.
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = messages.max(1);
        self
    }

    /// Stops an entity that has had no message for this long. Default one minute.
    ///
    /// An entity with pending timers or running [`Context::spawn`](crate::Context::spawn) tasks is not idle.
    pub fn idle_after(mut self, idle: Duration) -> Self {
        self.idle_after = Some(idle);
        self
    }

    /// Never stops entities for being idle.
    pub fn keep_alive(mut self) -> Self {
        self.idle_after = None;
        self
    }

    /// Stops the least recently used idle entities when more than this many are active. Default: no limit.
    pub fn active_limit(mut self, entities: usize) -> Self {
        self.active_limit = Some(entities.max(1));
        self
    }

    /// How long an entity may take to stop before it is ended. Default three seconds.
    pub fn stop_deadline(mut self, deadline: Duration) -> Self {
        self.stop_deadline = deadline;
        self
    }

    /// The pause after a failure: `first`, doubling with each failure in a row up to `most`. Default 100 ms to 10 s.
    pub fn restart_backoff(mut self, first: Duration, most: Duration) -> Self {
        self.restart = Backoff { first, most };
        self
    }
}

/// A pause that doubles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
}

impl Backoff {
    /// The pause after the `failures`-th failure in a row, counted from one.
    pub(crate) fn after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_its_most() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_secs(1),
        };
        let pauses = [1, 2, 3, 4, 5, 40].map(|n| backoff.after(n).as_millis());
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
    }
}
