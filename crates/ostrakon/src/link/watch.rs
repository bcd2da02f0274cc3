//! The watch over a session: whether the other side is still there, and takes what it is sent.
//!
//! It looks as often as heartbeats come, beside the connection's task, which has messages to bring and no time for the clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ostrakon_core::Time;

use super::{Link, NOT_STUCK, connection::End};

/// A peer that takes nothing for so long does not read.
const LONGEST_STALL: Duration = Duration::from_secs(10);

/// Ends the session when nothing is heard from the other side any more, or when it does not read.
pub(super) async fn keep(link: Arc<Link>, session: u64) {
    let period = link.limits.heartbeat;
    let mut looks = link.clock.every(period);
    let mut looked = link.clock.now();
    loop {
        looks.tick().await;
        let now = link.clock.now();
        let was_held_up = now.saturating_since(looked) > period * 2;
        looked = now;
        // What has arrived while this process was held up must be read before anybody is called silent.
        if let Some(end) = link.trouble(now).filter(|_| !was_held_up) {
            return link.cut(session, end);
        }
    }
}

impl Link {
    /// Something was heard from the other side.
    pub(super) fn heard_now(&self) {
        self.heard
            .store(self.clock.now().as_nanos(), Ordering::Relaxed);
    }

    /// Since when the other side takes nothing; `None` if it does.
    pub(super) fn stuck_since(&self, since: Option<Time>) {
        let since = since.map_or(NOT_STUCK, Time::as_nanos);
        self.stuck.store(since, Ordering::Relaxed);
    }

    /// Why the present session should end, if it should.
    fn trouble(&self, now: Time) -> Option<End> {
        let since = |nanos: &AtomicU64| {
            now.saturating_since(Time::from_nanos(nanos.load(Ordering::Relaxed)))
        };
        if since(&self.heard) > self.limits.silence {
            return Some(End::Silent);
        }
        (since(&self.stuck) > LONGEST_STALL).then_some(End::NotReading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::connection::tests::{SESSION, connected};

    const PERIOD: Duration = Duration::from_millis(500);

    /// A session that is watched, and what has become of it.
    async fn watched() -> (Arc<Link>, impl Fn() -> Option<&'static str>) {
        let (_, link) = connected().await;
        assert_eq!(link.limits.heartbeat, PERIOD);
        tokio::spawn(keep(Arc::clone(&link), SESSION));
        let session = Arc::clone(&link);
        let end = move || {
            let mut state = session.state.lock();
            let session = state.session(SESSION).expect("it has not been ended");
            session.cut.as_ref().map(End::label)
        };
        (link, end)
    }

    async fn pass(link: &Link, time: Duration, each: impl Fn(&Link)) {
        let until = link.clock.now() + time;
        while link.clock.now() < until {
            each(link);
            tokio::time::sleep(PERIOD / 5).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_heard_and_reads_is_left_alone() {
        let (link, end) = watched().await;
        pass(&link, LONGEST_STALL * 2, Link::heard_now).await;
        assert_eq!(end(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_not_heard_for_long_is_silent() {
        let (link, end) = watched().await;
        pass(&link, link.limits.silence, |_| {}).await;
        assert_eq!(end(), None);
        pass(&link, PERIOD * 2, |_| {}).await;
        assert_eq!(end(), Some("silent"));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_nothing_for_long_does_not_read() {
        let (link, end) = watched().await;
        link.stuck_since(Some(link.clock.now()));
        pass(&link, LONGEST_STALL, Link::heard_now).await;
        assert_eq!(end(), None);
        pass(&link, PERIOD * 2, Link::heard_now).await;
        assert_eq!(end(), Some("not_reading"));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_was_held_up_listens_before_it_calls_others_silent() {
        let (link, end) = watched().await;
        pass(&link, PERIOD, Link::heard_now).await;
        tokio::time::advance(link.limits.silence * 2).await;
        tokio::task::yield_now().await;
        assert_eq!(end(), None);
        pass(&link, PERIOD * 4, Link::heard_now).await;
        assert_eq!(end(), None);
    }
}
