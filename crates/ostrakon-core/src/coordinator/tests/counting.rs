//! Leases that nodes count in a storage which their coordinator looks at.

use super::*;
use crate::DeathProof;

/// A moment before or after something is due.
const MOMENT: Duration = Duration::from_millis(10);

impl Desk {
    /// It is seen in the storage how far a run has counted.
    fn count(&mut self, incarnation: Incarnation, seq: u64, ok_seq: u64) {
        let counted = Counted { seq, ok_seq };
        self.step(CoordinatorInput::Counted {
            incarnation,
            counted,
        });
    }

    fn until(&mut self, end: Time) {
        self.after(end.saturating_since(self.now));
    }

    /// What was on its way arrives, and has this fate.
    fn arrives(&mut self, fate: AppendOutcome) {
        self.fate = fate;
        for (id, after, entries) in self.under_way.take().expect("something is under way") {
            self.append(id, after, entries);
        }
        self.fate = AppendOutcome::Done;
    }
}

fn counted(seq: u64, ok_seq: u64) -> Counted {
    Counted { seq, ok_seq }
}

#[test]
fn who_counts_is_not_expired_though_it_does_not_speak() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    for seq in 1..60 {
        desk.count(a, seq, seq - 1);
        desk.after(seconds(1));
    }
    assert!(desk.is_member(a));
}

#[test]
fn who_counts_no_more_is_expired_a_full_wait_after_its_last_count_was_seen() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.after(seconds(5));
    desk.count(a, 3, 2);
    let end = desk.now + wait();
    for _ in 0..10 {
        desk.after(seconds(1));
        desk.count(a, 3, 2);
    }
    desk.until(end);
    assert!(!desk.is_member(a));
    assert_eq!(desk.named, [counted(3, 2)]);
}

#[test]
fn and_not_before() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.after(seconds(5));
    desk.count(a, 3, 2);
    desk.after(wait() - MOMENT);
    assert!(desk.is_member(a));
    assert_eq!(desk.named, []);
}

#[test]
fn a_look_that_was_overtaken_by_a_later_one_says_nothing() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.count(a, 3, 2);
    let end = desk.now + wait();
    desk.after(seconds(5));
    desk.count(a, 2, 1);
    desk.until(end);
    assert!(!desk.is_member(a));
    assert_eq!(desk.named, [counted(3, 2)]);
}

/// Otherwise whoever counts is expired if nobody could look at it.
#[test]
fn one_that_nobody_has_looked_at_is_expired_as_one_that_has_not_counted() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.after(wait());
    assert!(!desk.is_member(a));
    assert_eq!(desk.named, [counted(0, 0)]);
}

#[test]
fn one_that_was_condemned_and_counts_again_is_absolved() {
    let mut desk = Desk::leading();
    let end = desk.now + wait();
    let a = desk.join("a", 1);
    desk.fate = AppendOutcome::Unavailable;
    desk.until(end + MOMENT);
    assert_eq!(desk.named.len(), 1);
    desk.count(a, 1, 0);
    desk.fate = AppendOutcome::Done;
    desk.after(wait() - MOMENT);
    assert!(desk.is_member(a));
    assert_eq!(desk.named.len(), 1, "what waited was withdrawn");
    desk.renew(a, 2);
    desk.confirm(ConfirmOutcome::Confirmed);
    assert_eq!(desk.answered(a), 1);
}

#[test]
fn what_was_to_expire_an_absolved_run_is_not_sent_again() {
    let mut desk = Desk::leading();
    let end = desk.now + wait();
    let a = desk.join("a", 1);
    desk.under_way = Some(Vec::new());
    desk.until(end + MOMENT);
    assert_eq!(desk.named.len(), 1);
    desk.count(a, 1, 0);
    desk.arrives(AppendOutcome::Unavailable);
    desk.named.clear();
    desk.after(wait() - MOMENT);
    assert!(desk.is_member(a));
    assert_eq!(desk.named, []);
}

/// The storage answers it, whatever its coordinator thinks, and the last answer may just have got through.
#[test]
fn one_that_counts_is_not_given_up_for_missing_its_answers() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    for seq in 1..60 {
        desk.count(a, seq, 0);
        desk.after(seconds(1));
    }
    assert!(desk.is_member(a));
    assert_eq!(desk.named, []);
}

/// If it is heard and does not count, only its coordinator answers it.
#[test]
fn one_that_has_counted_and_misses_the_answers_of_its_coordinator_is_given_up() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.count(a, 1, 0);
    for seq in 2..40 {
        desk.renew_unheard(a, seq);
    }
    assert!(!desk.is_member(a));
    assert_eq!(desk.named, [counted(1, 0)]);
}

#[test]
fn counts_seen_before_a_takeover_do_not_shorten_the_grace() {
    let mut old = Desk::leading();
    let a = old.join("a", 1);
    let mut desk = Desk::following();
    desk.coordinator = Coordinator::new(NodeName::new("other").unwrap(), 1);
    desk.log = old.log;
    desk.report();
    desk.count(a, 7, 6);
    desk.now = desk.now + seconds(1000);
    desk.step(CoordinatorInput::Lead);
    assert!(desk.coordinator.leads().is_some());
    desk.after(wait() - MOMENT);
    assert!(desk.is_member(a));
    desk.count(a, 7, 6);
    desk.after(wait() - MOMENT);
    assert!(desk.is_member(a), "this one has seen it for the first time");
    desk.after(MOMENT);
    assert!(!desk.is_member(a));
    assert_eq!(desk.named, [counted(7, 6)]);
}

#[test]
fn one_that_counts_and_does_not_speak_keeps_its_shards_and_gets_no_others() {
    let mut desk = Desk::leading();
    desk.hear(register("a", 1));
    desk.hear(register("b", 2));
    desk.after(seconds(1));
    let run = |nonce| desk.coordinator.state().registered(nonce);
    let (a, b) = (run(1).expect("registered"), run(2).expect("registered"));
    for seq in 1..20 {
        desk.count(a, seq, seq - 1);
        desk.renew(b, seq);
        desk.confirm(ConfirmOutcome::Confirmed);
        desk.after(seconds(1));
    }
    let incarnation = b;
    let answer = Liveness::Dead(DeathProof::ProcessGone);
    desk.step(CoordinatorInput::Health {
        incarnation,
        answer,
    });
    desk.after(seconds(2));
    assert_eq!((desk.has(a), desk.has(b)), (6, 0));
    desk.renew(a, 21);
    desk.after(seconds(2));
    assert_eq!(desk.has(a), 12);
}

/// An end that the log does not take would still take the lease in the storage.
#[test]
fn a_goodbye_is_not_written_while_a_shard_may_be_on_its_way() {
    let mut desk = Desk::leading();
    desk.hear(register("a", 1));
    let a = desk.coordinator.state().registered(1).expect("registered");
    desk.under_way = Some(Vec::new());
    desk.after(seconds(1));
    desk.hear(ToCoordinator::Gone { incarnation: a });
    desk.arrives(AppendOutcome::Done);
    desk.after(seconds(1));
    assert_eq!(desk.has(a), 12);
    let ends = |entry: &&Entry| matches!(entry.command, Command::ConfirmDead { .. });
    assert_eq!(desk.log.iter().filter(ends).count(), 0);
}

/// Otherwise the storage is asked as fast as it answers, for as long as nobody can look at its leases.
#[test]
fn one_that_has_counted_without_being_seen_is_not_tried_again_without_a_pause() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.fate = AppendOutcome::Renewed;
    desk.after(wait());
    assert_eq!(desk.named.len(), 1);
    let tries = desk.named.len();
    desk.after(seconds(10));
    let more = desk.named.len() - tries;
    assert!((5..=10).contains(&more), "{more}");
    desk.fate = AppendOutcome::Done;
    desk.count(a, 9, 8);
    desk.after(wait() - seconds(1));
    assert!(desk.is_member(a));
}
