//! What is too much for one append.

use super::*;

/// A node that can hold very many shards.
fn register_large(nonce: u64, count: u32) -> ToCoordinator {
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = register("large", nonce)
    else {
        unreachable!()
    };
    registration.groups[0].count = ShardCount::new(count).unwrap();
    ToCoordinator::Register {
        registration,
        slack,
    }
}

#[test]
fn very_many_shards_are_granted_in_several_appends_and_told_once() {
    let mut desk = Desk::leading();
    desk.hear(register_large(1, 20_000));
    desk.said.clear();
    let written = desk.log.len();
    desk.after(Duration::from_millis(400));
    let a = desk.coordinator.state().registered(1).expect("registered");
    assert_eq!(desk.has(a), 20_000);
    assert!(desk.log.len() >= written + 4, "{}", desk.log.len());
    let told: Vec<_> = desk.said.iter().filter_map(held).collect();
    assert_eq!(told, [20_000]);
}

fn held((_, said): &(String, ToRegion)) -> Option<usize> {
    match said {
        ToRegion::Holdings(holdings) => Some(holdings.shards.len()),
        ToRegion::Registered { .. }
        | ToRegion::Refused { .. }
        | ToRegion::Spent { .. }
        | ToRegion::RenewOk { .. }
        | ToRegion::Ended { .. } => None,
    }
}

#[test]
fn what_is_in_the_log_is_told_while_the_rest_of_it_cannot_be_written() {
    let mut desk = Desk::leading();
    desk.hear(register_large(1, 20_000));
    desk.under_way = Some(Vec::new());
    desk.after(Duration::from_millis(400));
    let (id, after, entries) = desk.under_way.take().unwrap().remove(0);
    desk.said.clear();
    desk.under_way = Some(Vec::new());
    desk.log.extend(entries);
    assert_eq!(after.next().get(), desk.log.len() as u64);
    desk.report();
    let outcome = AppendOutcome::Done;
    desk.step(CoordinatorInput::AppendEnded { id, outcome });
    assert_eq!(desk.said, []);
    let (id, _, _) = desk.under_way.take().unwrap().remove(0);
    desk.under_way = Some(Vec::new());
    let outcome = AppendOutcome::Unavailable;
    desk.step(CoordinatorInput::AppendEnded { id, outcome });
    let told: Vec<_> = desk.said.iter().filter_map(held).collect();
    assert!(
        matches!(told[..], [some] if some > 1000 && some < 20_000),
        "{told:?}"
    );
}

#[test]
fn a_storage_that_takes_little_gets_little_at_once() {
    let mut desk = Desk::leading();
    desk.takes = 3;
    desk.hear(register_large(1, 20));
    desk.after(seconds(10));
    let a = desk.coordinator.state().registered(1).expect("registered");
    assert_eq!(desk.has(a), 20);
}

#[test]
fn what_is_too_large_alone_is_left_out_and_everything_else_goes_on() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.takes = 0;
    desk.hear(ToCoordinator::Leave { incarnation: a });
    desk.after(seconds(1));
    desk.takes = usize::MAX;
    desk.after(seconds(1));
    let member = desk.coordinator.state().member(a).expect("a member");
    assert_eq!(
        member.state,
        crate::MemberState::Active,
        "it has to ask again"
    );
    desk.hear(ToCoordinator::Leave { incarnation: a });
    desk.after(seconds(1));
    let member = desk.coordinator.state().member(a).expect("a member");
    assert_eq!(member.state, crate::MemberState::Leaving);
}
