//! How nodes come and go, and what they are told.

use super::*;

#[test]
fn a_node_that_leaves_is_emptied_and_goes() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    let b = desk.join("b", 2);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    for _ in 0..4 {
        let shards = moving(&desk, a);
        assert!(shards.len() <= 8, "no more at once than the policy allows");
        let incarnation = a;
        desk.hear(ToCoordinator::Gone { incarnation });
        assert!(
            desk.is_member(a) || shards.is_empty(),
            "it still owns something"
        );
        desk.hear(ToCoordinator::Released {
            incarnation,
            shards,
        });
    }
    assert_eq!((desk.has(a), desk.has(b)), (0, 12));
    desk.hear(ToCoordinator::Gone { incarnation: a });
    assert!(!desk.is_member(a));
}

#[test]
fn the_last_node_can_leave_too() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.hear(ToCoordinator::Leave { incarnation: a });
    for _ in 0..4 {
        let shards = moving(&desk, a);
        desk.hear(ToCoordinator::Released {
            incarnation: a,
            shards,
        });
    }
    assert_eq!(desk.has(a), 0);
    desk.hear(ToCoordinator::Gone { incarnation: a });
    assert!(!desk.is_member(a));
}

#[test]
fn a_node_whose_code_may_run_on_for_too_long_is_refused_in_words() {
    let mut desk = Desk::leading();
    let ToCoordinator::Register { registration, .. } = register("a", 1) else {
        unreachable!()
    };
    let slack = seconds(3);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let Some((_, ToRegion::Refused { reason, .. })) = desk.said.last() else {
        panic!("{:?}", desk.said);
    };
    assert_eq!(
        reason,
        "its code may run on for 3s after its lease has ended, and others wait for 1s only: lower its slack"
    );
}

#[test]
fn a_node_that_knows_less_is_told_again() {
    let mut desk = Desk::leading();
    let a = desk.join("a", 1);
    desk.said.clear();
    desk.hear(ToCoordinator::Renew {
        incarnation: a,
        seq: 1,
        ok_seq: 0,
        seen: Index::default(),
    });
    assert!(
        desk.said
            .iter()
            .any(|(_, said)| matches!(said, ToRegion::Holdings(_)))
    );
    desk.said.clear();
    desk.renew(a, 2);
    assert!(
        !desk
            .said
            .iter()
            .any(|(_, said)| matches!(said, ToRegion::Holdings(_)))
    );
}

#[test]
fn a_node_that_says_too_much_about_itself_is_refused_in_words() {
    let mut desk = Desk::leading();
    let ToCoordinator::Register {
        mut registration,
        slack,
    } = register("a", 1)
    else {
        unreachable!()
    };
    let place = ("poem".to_owned(), "la".repeat(100_000));
    registration.place.extend([place]);
    desk.hear(ToCoordinator::Register {
        registration,
        slack,
    });
    let Some((_, ToRegion::Refused { reason, .. })) = desk.said.last() else {
        panic!("{:?}", desk.said);
    };
    assert!(reason.contains("more than 256 KiB"), "{reason}");
}
