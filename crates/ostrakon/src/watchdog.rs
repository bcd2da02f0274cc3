//! The watchdog: a thread that sees to it that nothing acts for long after the end of a lease.
//!
//! An entity cannot be stopped in the middle of a poll. If one is still at it when the slack is over, others may be about to start the
//! same entity: then the process is ended, or, if its operator prefers that, only a line is written. The slack is counted on the
//! holder's clock, which may be slow by the drift: so `slack * (1 - drift)` of it is waited for, which is never more than the slack.

use std::{
    io,
    sync::{Arc, Weak, mpsc},
    thread,
    time::Duration,
};

use ostrakon_core::Time;

use crate::lease::{Acts, Lease};

/// How long the last words may take: nobody may be reading them.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// What to do with a process in which something acts beyond the end of its lease and the slack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// It is aborted: there are never two live copies.
    #[default]
    Strict,
    /// It is logged and counted: there may be two live copies for as long as it lasts.
    Lenient,
}

/// How a lease is watched.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) node: String,
    /// How long what runs at the end of the lease may run on.
    pub(crate) slack: Duration,
    /// By how much clocks may run too fast or too slow, in thousandths.
    pub(crate) drift_permille: u16,
    pub(crate) strictness: Strictness,
}

/// Starts the thread. It ends when the lease is dropped.
pub(crate) fn spawn(lease: &Arc<Lease>, watch: Watch) -> io::Result<()> {
    lease.set_slack(watch.slack);
    let lease = Arc::downgrade(lease);
    let named = thread::Builder::new().name("ostrakon-watchdog".to_owned());
    named.spawn(move || run(&lease, &watch)).map(drop)
}

fn run(lease: &Weak<Lease>, watch: &Watch) {
    let slack = watch.slack_shown();
    let mut known = Vec::new();
    while let Some(lease) = lease.upgrade() {
        let clock = lease.clock();
        let now = clock.now();
        let mut next = next_look(lease.until(), slack, now);
        if next <= now {
            let overruns = lease.acting();
            for overrun in overruns.iter().filter(|overrun| !known.contains(*overrun)) {
                watch.report(overrun, now);
            }
            known = overruns;
            next = now + slack;
        }
        drop(lease);
        clock.sleep_until(next);
    }
}

/// When to look whether something acts. A lease that lasts can be ended at any time, which is then noticed early enough.
fn next_look(until: Option<Time>, slack: Duration, now: Time) -> Time {
    until.map_or(now, |until| until.min(now)) + slack
}

impl Watch {
    /// The slack on a clock that may be slow.
    fn slack_shown(&self) -> Duration {
        let sure = 1000 - u32::from(self.drift_permille.min(999));
        self.slack.saturating_mul(sure) / 1000
    }

    fn report(&self, overrun: &Acts, now: Time) {
        let (node, who) = (self.node.clone(), overrun.who.to_string());
        let held = now.saturating_since(overrun.since);
        if self.strictness == Strictness::Lenient {
            metrics::counter!("ostrakon_lease_overruns_total", "node" => node.clone()).increment(1);
            tracing::error!(
                node,
                who,
                ?held,
                "the lease is over, but an entity still holds its thread; another copy may be running"
            );
            return;
        }
        // On a thread of its own: one that cannot write must not keep this one from acting.
        let (said, wait) = mpsc::channel();
        let speaker = thread::Builder::new().spawn(move || {
            eprintln!(
                "ostrakon: node `{node}` is aborted: its lease is over, and {who} has held its thread for {held:?}; \
                 another copy may start now. Let handlers wait instead of blocking, or allow a longer slack"
            );
            let _ = said.send(());
        });
        if speaker.is_ok() {
            let _ = wait.recv_timeout(LAST_WORDS);
        }
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLACK: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_slow_clock_does_not_make_the_slack_longer() {
        let watch = Watch {
            node: "node-1".to_owned(),
            slack: SLACK,
            drift_permille: 100,
            strictness: Strictness::Strict,
        };
        assert_eq!(watch.slack_shown(), Duration::from_millis(900));
    }

    #[test]
    fn it_looks_when_the_slack_after_the_deadline_is_over() {
        assert_eq!(next_look(Some(at(5000)), SLACK, at(5200)), at(6000));
        assert!(next_look(Some(at(5000)), SLACK, at(6000)) <= at(6000));
    }

    #[test]
    fn it_looks_in_time_at_a_lease_that_is_ended_while_it_sleeps() {
        let now = at(5000);
        for until in [None, Some(at(60_000)), Some(now)] {
            let next = next_look(until, SLACK, now);
            assert!(next <= now + SLACK, "{until:?}: {next}");
        }
    }
}
