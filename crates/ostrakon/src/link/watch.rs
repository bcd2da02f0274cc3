//! The watch over a session: whether the other side is still there, and takes what it is sent.
//!
//! It looks as often as heartbeats come, beside the connection's task, which has messages to bring and no time for the clock. Heartbeats prove that
//! the other node runs, and go over a connection of their own. That the data connection still carries something is proven by what comes there;
//! if nothing has come for long, the other side is asked for a sign.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ostrakon_core::Time;

use super::{Link, NOT_STUCK, connection::End, frame};

/// A peer that takes nothing for so long does not read, and one that gives no sign for so long does not get what it is sent.
const LONGEST_STALL: Duration = Duration::from_secs(10);

/// Ends the session when nothing is heard from the other side any more, or when it does not read.
pub(super) async fn keep(link: Arc<Link>, session: u64) {
    let period = link.limits.heartbeat;
    let mut looks = link.clock.every(period);
    let mut looked = link.clock.now();
    let mut signs = Signs::new(link.reads(), looked);
    loop {
        looks.tick().await;
        let now = link.clock.now();
        let was_held_up = now.saturating_since(looked) > period * 2;
        looked = now;
        // What has arrived while this process was held up must be read before anybody is called silent.
        if was_held_up {
            signs = Signs::new(link.reads(), now);
            continue;
        }
        if let Some(end) = link.trouble(now) {
            return link.cut(session, end);
        }
        if link.is_stuck() {
            // A sign would wait behind what is being written, and whoever takes that is there.
            signs = Signs::new(link.reads(), now);
            continue;
        }
        match signs.look(link.reads(), now, link.limits.silence) {
            Signed::Lately => {}
            Signed::NotForLong => link.sign(|out| frame::put_ping(out, 0)),
            Signed::NotWhenAsked => {
                link.cut(session, End::Deaf);
                // Perhaps it was this side's task that had no time to read: then the session goes on.
                signs = Signs::new(link.reads(), now);
            }
        }
    }
}

/// What has come on the data connection.
struct Signs {
    /// How often something was read from it.
    reads: u64,
    /// When it was last seen that something had been, or when a sign was asked for.
    since: Time,
    was_asked: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Signed {
    Lately,
    /// A sign is to be asked for.
    NotForLong,
    NotWhenAsked,
}

impl Signs {
    fn new(reads: u64, now: Time) -> Self {
        Self {
            reads,
            since: now,
            was_asked: false,
        }
    }

    fn look(&mut self, reads: u64, now: Time, patience: Duration) -> Signed {
        if reads != self.reads {
            *self = Self::new(reads, now);
        }
        let silence = now.saturating_since(self.since);
        if self.was_asked {
            return if silence > LONGEST_STALL {
                Signed::NotWhenAsked
            } else {
                Signed::Lately
            };
        }
        if silence < patience {
            return Signed::Lately;
        }
        (self.was_asked, self.since) = (true, now);
        Signed::NotForLong
    }
}

impl Link {
    /// Something was heard from the other side.
    pub(super) fn heard_now(&self) {
        self.heard
            .store(self.clock.now().as_nanos(), Ordering::Relaxed);
    }

    /// Something was read from the data connection. Only its task says so.
    pub(super) fn note_read(&self) {
        let reads = self.reads.load(Ordering::Relaxed);
        self.reads.store(reads.wrapping_add(1), Ordering::Relaxed);
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) != NOT_STUCK
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

    fn is_well(link: &Link) {
        link.heard_now();
        link.note_read();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_heard_and_reads_is_left_alone() {
        let (link, end) = watched().await;
        pass(&link, LONGEST_STALL * 3, is_well).await;
        assert_eq!(end(), None);
        assert!(link.state.lock().outbox.is_empty(), "nothing was asked");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_nothing_for_long_is_asked_for_a_sign_and_cut_off_without_one() {
        let (link, end) = watched().await;
        let asked = || link.state.lock().outbox.frames;
        for times in 1..=2 {
            pass(&link, link.limits.silence * 3 / 2, Link::heard_now).await;
            assert_eq!((asked(), end()), (times, None));
            link.note_read();
        }
        pass(&link, link.limits.silence + LONGEST_STALL, Link::heard_now).await;
        assert_eq!((asked(), end()), (3, None));
        pass(&link, PERIOD * 4, Link::heard_now).await;
        assert_eq!(end(), Some("deaf"));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_still_being_written_to_is_not_asked_for_a_sign() {
        let (link, end) = watched().await;
        pass(&link, LONGEST_STALL * 3, |link| {
            link.heard_now();
            // It takes some now and then.
            link.stuck_since(Some(link.clock.now()));
        })
        .await;
        assert_eq!((end(), link.state.lock().outbox.frames), (None, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_there_to_be_read_all_the_time_takes_the_end_back() {
        let (link, end) = watched().await;
        let time = link.limits.silence + LONGEST_STALL + PERIOD * 3;
        pass(&link, time, Link::heard_now).await;
        assert_eq!(end(), Some("deaf"));
        link.note_read();
        link.state.lock().is_heard(SESSION);
        assert_eq!(end(), None);
        pass(&link, time, Link::heard_now).await;
        assert_eq!(end(), Some("deaf"), "it is watched as before");
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
