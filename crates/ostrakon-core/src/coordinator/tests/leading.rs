//! Who leads, and what one that does not leaves alone.

use super::*;

#[test]
fn nothing_is_said_before_it_is_in_the_log() {
    let mut desk = Desk::leading();
    desk.join("a", 1);
    desk.said.clear();
    desk.fate = AppendOutcome::Unavailable;
    desk.hear(register("b", 2));
    desk.after(seconds(2));
    assert!(!desk.said.iter().any(|(to, _)| to == "b"));
    desk.fate = AppendOutcome::Done;
    desk.after(seconds(1));
    assert!(
        desk.said.iter().any(|(to, _)| to == "b"),
        "it was tried again"
    );
}

#[test]
fn one_that_follows_says_nothing() {
    let mut desk = Desk::following();
    desk.hear(register("a", 1));
    desk.renew(Incarnation::new(1), 1);
    assert!(desk.said.is_empty() && desk.log.is_empty() && desk.checks.is_empty());
}

#[test]
fn one_that_learns_that_it_is_deposed_answers_nobody() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.renew(a, 1);
    desk.confirm(ConfirmOutcome::Deposed);
    assert_eq!(desk.answered(a), 0);
    assert_eq!(desk.coordinator.leads(), None);
}

#[test]
fn an_append_of_which_nobody_knows_is_resolved_by_reading() {
    let mut desk = Desk::leading();
    desk.fate = AppendOutcome::Unknown;
    let entries = desk.log.len();
    desk.hear(register("a", 1));
    assert_eq!(
        desk.log.len(),
        entries,
        "it is not in the log, and is not tried again blindly"
    );
    desk.fate = AppendOutcome::Done;
    let a = desk.join("a", 1);
    assert_eq!(desk.has(a), 12);
}

#[test]
fn a_conflict_means_that_somebody_else_leads() {
    let mut desk = Desk::leading();
    let grantor = NodeName::new("other").unwrap();
    desk.log.push(Entry {
        term: desk.coordinator.state().term(),
        command: Command::Takeover { grantor, run: 1 },
    });
    desk.fate = AppendOutcome::Conflict;
    desk.hear(register("a", 1));
    assert_eq!(desk.coordinator.leads(), None);
}

#[test]
fn a_takeover_that_lost_the_race_leaves_it_following() {
    let mut desk = Desk::following();
    let grantor = NodeName::new("other").unwrap();
    desk.log.push(Entry {
        term: Term::default(),
        command: Command::Takeover { grantor, run: 1 },
    });
    desk.fate = AppendOutcome::Conflict;
    desk.step(CoordinatorInput::Lead);
    assert_eq!(desk.coordinator.leads(), None);
    desk.fate = AppendOutcome::Done;
    desk.step(CoordinatorInput::Lead);
    assert!(
        desk.coordinator.leads().is_some(),
        "the next attempt builds on what was read"
    );
}

#[test]
fn one_that_is_told_to_stand_down_says_and_writes_nothing_more() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.renew(a, 1);
    desk.step(CoordinatorInput::StandDown);
    assert_eq!(desk.coordinator.leads(), None);
    let (said, written) = (desk.said.len(), desk.log.len());
    desk.confirm(ConfirmOutcome::Confirmed);
    desk.renew(a, 2);
    desk.hear(register("b", 2));
    desk.after(wait() * 2);
    assert_eq!((desk.said.len(), desk.log.len()), (said, written));
    // It may be elected again, and everybody has a full wait then.
    let term = desk.coordinator.state().term();
    desk.step(CoordinatorInput::Lead);
    assert!(desk.coordinator.leads().is_some_and(|new| new > term));
    desk.after(wait() - seconds(1));
    assert!(desk.is_member(a));
}

#[test]
fn a_takeover_that_arrives_after_standing_down_does_not_make_it_lead() {
    let mut desk = Desk::following();
    desk.under_way = Some(Vec::new());
    desk.step(CoordinatorInput::Lead);
    desk.step(CoordinatorInput::StandDown);
    for (id, after, entries) in desk.under_way.take().expect("its takeover is on its way") {
        desk.append(id, after, entries);
    }
    assert_eq!(desk.coordinator.leads(), None);
    assert_eq!(desk.coordinator.state().term(), Term::new(1));
}
