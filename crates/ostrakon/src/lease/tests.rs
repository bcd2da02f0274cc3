//! A lease by itself: its deadline, those who wait for it, and the list of what acts under it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Wake,
    time::Duration,
};

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use ostrakon_core::EntityId;

use super::*;

const LONG: Duration = Duration::from_secs(600);

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn rung(bell: &Arc<Bell>) -> usize {
    bell.0.load(Ordering::SeqCst)
}

fn who() -> Who {
    Who::Entity("room", EntityId::new("lobby").expect("a valid id"))
}

fn extend_by(lease: &Lease, time: Duration) {
    lease.extend(Some(lease.clock().now() + time));
}

#[test]
fn it_lasts_for_ever_unless_told_otherwise() {
    let lease = Lease::for_ever();
    assert!(!lease.is_over());
    assert_eq!(lease.until(), None);
    assert!(matches!(lease.acts(who), Some(Acting::Unwatched)));
    assert!(!is_acting_here());
}

#[test]
fn it_is_over_when_it_is_ended_and_lasts_again_when_it_is_extended() {
    let lease = Lease::for_ever();
    lease.end();
    assert!(lease.is_over());
    assert!(lease.acts(who).is_none());
    extend_by(&lease, LONG);
    assert!(!lease.is_over());
    assert!(lease.acts(who).is_some());
    lease.end();
    lease.extend(None);
    assert_eq!(lease.until(), None);
}

#[test]
fn it_is_over_when_its_time_has_come() {
    let lease = Lease::for_ever();
    lease.end();
    let until = lease.clock().now() + Duration::from_millis(20);
    lease.extend(Some(until));
    assert!(!lease.is_over());
    lease.clock().sleep_until(until);
    assert!(lease.is_over());
}

#[test]
fn an_earlier_deadline_than_the_present_one_changes_nothing() {
    let lease = Lease::for_ever();
    lease.end();
    extend_by(&lease, LONG);
    let until = lease.until();
    extend_by(&lease, Duration::from_secs(1));
    assert_eq!(lease.until(), until);
}

#[test]
fn those_who_wait_are_woken_once_when_it_lasts_again() {
    let lease = Lease::for_ever();
    lease.end();
    let (bell, mut wait) = (Arc::new(Bell::default()), Wait::default());
    let waker = Waker::from(Arc::clone(&bell));
    for _ in 0..10 {
        assert!(lease.poll_lasts(&mut wait, &waker).is_pending());
    }
    let over = lease.clock().now();
    lease.extend(Some(over));
    assert_eq!(rung(&bell), 0, "that is over already");
    extend_by(&lease, LONG);
    assert_eq!(rung(&bell), 1);
    assert!(lease.poll_lasts(&mut wait, &waker).is_ready());
    lease.end();
    assert!(lease.poll_lasts(&mut wait, &waker).is_pending());
    lease.extend(None);
    assert_eq!(rung(&bell), 2);
}

#[test]
fn who_moves_to_another_task_is_woken_there() {
    let lease = Lease::for_ever();
    lease.end();
    let (old, new) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut wait = Wait::default();
    for bell in [&old, &new] {
        let waker = Waker::from(Arc::clone(bell));
        assert!(lease.poll_lasts(&mut wait, &waker).is_pending());
    }
    extend_by(&lease, LONG);
    assert_eq!((rung(&old), rung(&new)), (0, 1));
}

#[test]
fn what_acts_is_in_the_list_until_it_is_done() {
    let (lease, other) = (Lease::for_ever(), Lease::for_ever());
    for lease in [&lease, &other] {
        lease.end();
        extend_by(lease, LONG);
    }
    let outer = lease.acts(who);
    let work = Who::Work(None);
    let inner = lease.goes_on(|| work.clone());
    assert!(is_acting_here());
    let named: Vec<_> = lease.acting().into_iter().map(|acts| acts.who).collect();
    assert_eq!(named, [work], "the innermost holds the thread");
    assert_eq!(other.acting(), []);
    drop(inner);
    assert_eq!(lease.acting()[0].who, who());
    drop(outer);
    assert_eq!(lease.acting(), []);
    assert!(!is_acting_here());
}

#[test]
fn what_begins_after_the_end_is_not_in_the_list() {
    let lease = Lease::for_ever();
    lease.end();
    assert!(lease.acts(who).is_none());
    assert_eq!(lease.acting(), []);
    assert!(!is_acting_here());
}

/// How many slow steps of which kind have been counted while `work` was done.
fn slow_polls(work: impl FnOnce()) -> Vec<(String, u64)> {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, work);
    let counted = recorder.snapshotter().snapshot().into_vec().into_iter();
    let slow = counted.filter_map(|(key, _, _, value)| {
        let DebugValue::Counter(count) = value else {
            return None;
        };
        assert_eq!(key.key().name(), "ostrakon_slow_polls_total");
        let kind = key.key().labels().next().map(|label| label.value());
        Some((kind.unwrap_or("none").to_owned(), count))
    });
    slow.collect()
}

fn act_for(lease: &Lease, who: Who, time: Duration) {
    let acting = lease.acts(|| who);
    let began = lease.clock().now();
    lease.clock().sleep_until(began + time);
    drop(acting);
}

#[test]
fn steps_that_take_more_than_half_of_the_slack_are_counted_by_kind() {
    let lease = Lease::for_ever();
    lease.end();
    extend_by(&lease, LONG);
    let (quick, slow) = (Duration::ZERO, Duration::from_millis(30));
    let counted = slow_polls(|| act_for(&lease, who(), slow));
    assert_eq!(counted, [], "nobody has said what is slow");
    lease.set_slack(Duration::from_millis(50));
    let counted = slow_polls(|| {
        act_for(&lease, who(), quick);
        act_for(&lease, who(), slow);
        act_for(&lease, who(), slow);
        act_for(&lease, Who::Work(None), slow);
    });
    let kind = |kind: &str, count| (kind.to_owned(), count);
    assert_eq!(counted, [kind("room", 2), kind("unknown", 1)]);
    lease.extend(None);
    assert_eq!(slow_polls(|| act_for(&lease, who(), slow)), []);
}

#[test]
fn what_is_done_for_an_entity_counts_as_its_own_act() {
    assert!(for_entity(is_acting_here));
    assert!(!is_acting_here());
}
