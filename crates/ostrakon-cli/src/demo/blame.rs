//! `Blame`: which kill of a node is the reason why somebody waits.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

pub(crate) struct Blame {
    began: Instant,
    /// How many nodes have been killed.
    kills: AtomicUsize,
    /// When something else was done since the latest kill, in nanoseconds; [`NEVER`] if nothing was.
    otherwise: AtomicU64,
}

const NEVER: u64 = u64::MAX;
/// Whoever was answered so shortly before something else was done has not waited for a failover: tellers are answered all the time.
const JUST_NOW: Duration = Duration::from_millis(100);

impl Blame {
    pub(crate) fn nobody_since(began: Instant) -> Self {
        Self {
            began,
            kills: AtomicUsize::new(0),
            otherwise: AtomicU64::new(NEVER),
        }
    }

    /// From now on, who gets no answer waits for a failover.
    pub(crate) fn node_is_killed(&self) {
        self.otherwise.store(NEVER, Relaxed);
        self.kills.fetch_add(1, Relaxed);
    }

    /// Something else is done: who waits from now on does not wait for a failover.
    pub(crate) fn other_fault(&self, now: Instant) {
        self.otherwise.fetch_min(self.nanoseconds(now), Relaxed);
    }

    /// The number of the kill because of which somebody has had no answer since then, if it was a kill.
    pub(crate) fn kill(&self, since: Instant) -> Option<usize> {
        if self.nanoseconds(since + JUST_NOW) >= self.otherwise.load(Relaxed) {
            return None;
        }
        self.kills.load(Relaxed).checked_sub(1)
    }

    fn nanoseconds(&self, time: Instant) -> u64 {
        time.duration_since(self.began).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_to_blame_until_something_else_is_done() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let blame = Blame::nobody_since(began);
        assert_eq!(blame.kill(at(0)), None);
        blame.node_is_killed();
        assert_eq!(blame.kill(at(0)), Some(0));
        blame.other_fault(at(5));
        blame.other_fault(at(7));
        assert_eq!(blame.kill(at(4)), Some(0), "waits since before that");
        let just_before = at(5) - Duration::from_millis(1);
        assert_eq!(blame.kill(just_before), None, "was answered until then");
        assert_eq!([5, 6, 8].map(|second| blame.kill(at(second))), [None; 3]);
        blame.node_is_killed();
        assert_eq!(blame.kill(at(9)), Some(1));
    }
}
