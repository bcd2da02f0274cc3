//! What holds for all records and all orders in which they come.

use proptest::prelude::*;

use super::*;
use crate::Ordering4;
use crate::membership::segment::SEGMENTS;
use crate::membership::view::View;

proptest! {
    #[test]
    fn merging_records_is_commutative_associative_and_idempotent(a in any_record("x"), b in any_record("x"), c in any_record("x")) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &a), a.clone());
        prop_assert_eq!(merged(&merged(&a, &b), &b), merged(&a, &b));
    }

    /// An answer has a higher generation, so that whatever was said before it, and however late it comes, is outdone.
    #[test]
    fn a_refuted_suspicion_does_not_come_back(before in prop::collection::vec(any_record("x"), 1..6), after in 0..6_usize) {
        let mut accused = before[0].clone();
        for record in &before[1..] {
            accused.merge(record);
        }
        let mut answer = record("x", accused.generation.run, accused.generation.revision + 1, TopologyStatus::Up);
        answer.address = accused.address.clone();
        accused.merge(&answer);
        for late in before.iter().cycle().take(after) {
            accused.merge(late);
        }
        prop_assert_eq!(accused, answer);
    }

    #[test]
    fn views_that_learn_the_same_in_any_order_are_equal(
        (records, shuffled) in prop::collection::vec(any_record("[a-h]"), 1..40)
            .prop_flat_map(|records| (Just(records.clone()), Just(records).prop_shuffle()))
    ) {
        // That an unknown node is removed is ignored, so it must be known first.
        let introduced = |records: &[TopologyMember]| {
            let mut view = View::new();
            for name in 'a'..='h' {
                view.merge(&record(&name.to_string(), 0, 0, TopologyStatus::Joining));
            }
            for record in records {
                view.merge(record);
            }
            view
        };
        let (mut one, mut other) = (introduced(&records), introduced(&shuffled));
        prop_assert!(one.iter().eq(other.iter()));
        prop_assert_eq!(one.digests(), other.digests());
    }

    /// Where the clock says that one view has seen all the other has, merging the other into it teaches nothing.
    #[test]
    fn the_vector_clock_knows_which_view_is_newer(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut views = [View::new(), View::new(), View::new()];
        for step in steps {
            match step {
                Step::Write { at, member } => {
                    let author = crate::Author { name: node(&format!("author-{at}")), run: 1 };
                    views[at].write(&member, &author);
                }
                Step::Copy { from, to } => copy(&views[from].clone(), &mut views[to]),
            }
        }
        for (newer, older) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            for index in 0..SEGMENTS {
                let segment = views[older].segment(index).unwrap().clone();
                let order = views[newer].compare(index, &segment.clock);
                if matches!(order, Ordering4::After | Ordering4::Equal) {
                    let mut view = views[newer].clone();
                    for member in segment.members() {
                        prop_assert!(!view.merge(member), "{order:?} and yet {member:?} is news");
                    }
                }
            }
        }
    }

    #[test]
    fn different_records_have_different_digests(a in any_record("x"), b in any_record("x")) {
        let digest = |record: &TopologyMember| {
            let mut view = View::new();
            view.merge(record);
            view.digest()
        };
        let told_apart = |record: &TopologyMember| (record.generation, record.status, record.accusers.clone());
        if a.status < TopologyStatus::Removed && b.status < TopologyStatus::Removed {
            prop_assert_eq!(told_apart(&a) == told_apart(&b), digest(&a) == digest(&b));
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write { at: usize, member: TopologyMember },
    Copy { from: usize, to: usize },
}

fn copy(from: &View, to: &mut View) {
    for index in 0..SEGMENTS {
        let segment = from.segment(index).expect("the index is in range");
        for member in segment.members() {
            to.merge(member);
        }
        to.merge_clock(index, &segment.clock);
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    // Removed members are not learned by those who never knew them, which is no loss but is a difference.
    let member = any_record("[a-c]").prop_filter("not removed", |member| {
        member.status < TopologyStatus::Removed
    });
    prop_oneof![
        (0..3_usize, member).prop_map(|(at, member)| Step::Write { at, member }),
        (0..3_usize, 0..3_usize).prop_map(|(from, to)| Step::Copy { from, to }),
    ]
}

fn merged(a: &TopologyMember, b: &TopologyMember) -> TopologyMember {
    let mut both = a.clone();
    both.merge(b);
    both
}

fn any_record(name: &'static str) -> impl Strategy<Value = TopologyMember> {
    let status = prop_oneof![
        Just(TopologyStatus::Joining),
        Just(TopologyStatus::Up),
        Just(TopologyStatus::Leaving),
        Just(TopologyStatus::Down),
        Just(TopologyStatus::Removed),
    ];
    let accusers = prop::collection::btree_set("[a-i]", 0..=TopologyMember::MAX_ACCUSERS);
    (name, 1..3_u64, 0..3_u64, status, accusers, 0..3_u32).prop_map(
        |(name, run, revision, status, accusers, weight)| {
            let mut record = record(&name, run, revision, status);
            record.accusers = accusers.iter().map(|name| node(name)).collect();
            record.profile = Profile::default().with_weight(weight);
            record
        },
    )
}
