use proptest::prelude::*;

use super::*;

fn author(name: &str, run: u64) -> Author {
    let name = NodeName::new(name).expect("the name is valid");
    Author { name, run }
}

fn clock(counts: &[(&str, u64)]) -> VectorClock {
    let counts = counts.iter().map(|(name, n)| (author(name, 1), *n));
    VectorClock::from(counts.collect::<Vec<_>>())
}

#[test]
fn views_are_ordered_by_what_they_have_seen() {
    let rows = [
        (clock(&[]), clock(&[]), Ordering4::Equal),
        (clock(&[("a", 1)]), clock(&[("a", 1)]), Ordering4::Equal),
        (clock(&[]), clock(&[("a", 1)]), Ordering4::Before),
        (
            clock(&[("a", 1)]),
            clock(&[("a", 1), ("b", 2)]),
            Ordering4::Before,
        ),
        (clock(&[("a", 2)]), clock(&[("a", 1)]), Ordering4::After),
        (
            clock(&[("a", 2)]),
            clock(&[("b", 1)]),
            Ordering4::Concurrent,
        ),
        (
            clock(&[("a", 2), ("b", 1)]),
            clock(&[("a", 1), ("b", 2)]),
            Ordering4::Concurrent,
        ),
    ];
    for (left, right, expected) in rows {
        assert_eq!(left.compare(&right), expected, "{left:?} to {right:?}");
    }
}

#[test]
fn two_runs_of_one_node_count_apart() {
    let mut before = VectorClock::default();
    before.bump(&author("a", 1));
    let mut after = VectorClock::default();
    after.bump(&author("a", 2));
    assert_eq!(before.compare(&after), Ordering4::Concurrent);
}

#[test]
fn pruning_forgets_the_runs_that_are_over() {
    let mut pruned = VectorClock::from(vec![(author("a", 1), 5), (author("a", 2), 1)]);
    pruned.prune(|author| author.run == 2);
    assert_eq!(pruned, VectorClock::from(vec![(author("a", 2), 1)]));
}

#[test]
fn a_decoded_clock_is_in_order_and_has_each_author_once() {
    let json = r#"[[{"name":"b","run":1},2],[{"name":"a","run":1},3],[{"name":"b","run":1},1],[{"name":"c","run":1},0]]"#;
    let decoded: VectorClock = serde_json::from_str(json).unwrap();
    assert_eq!(decoded, clock(&[("a", 3), ("b", 2)]));
    let again = serde_json::to_string(&decoded).unwrap();
    assert_eq!(
        again,
        r#"[[{"name":"a","run":1},3],[{"name":"b","run":1},2]]"#
    );
}

proptest! {
    #[test]
    fn merging_is_commutative_associative_and_idempotent(a in any_clock(), b in any_clock(), c in any_clock()) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        prop_assert_eq!(merged(&a, &a), a);
    }

    #[test]
    fn a_merge_has_seen_what_both_have(a in any_clock(), b in any_clock()) {
        let both = merged(&a, &b);
        for one in [&a, &b] {
            prop_assert!(matches!(one.compare(&both), Ordering4::Equal | Ordering4::Before));
        }
    }

    #[test]
    fn the_order_is_the_reverse_from_the_other_side(a in any_clock(), b in any_clock()) {
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        prop_assert_eq!(a.compare(&b) == Ordering4::Equal, a == b);
    }

    #[test]
    fn what_was_before_stays_before(a in any_clock(), b in any_clock(), c in any_clock()) {
        let (ab, abc) = (merged(&a, &b), merged(&merged(&a, &b), &c));
        if a.compare(&ab) == Ordering4::Before && ab.compare(&abc) == Ordering4::Before {
            prop_assert_eq!(a.compare(&abc), Ordering4::Before);
        }
    }

    #[test]
    fn a_bump_makes_a_clock_newer(a in any_clock(), by in any_author()) {
        let mut newer = a.clone();
        newer.bump(&by);
        prop_assert_eq!(newer.compare(&a), Ordering4::After);
    }
}

fn merged(a: &VectorClock, b: &VectorClock) -> VectorClock {
    let mut both = a.clone();
    both.merge(b);
    both
}

fn any_author() -> impl Strategy<Value = Author> {
    ("[a-d]", 1..3_u64).prop_map(|(name, run)| author(&name, run))
}

fn any_clock() -> impl Strategy<Value = VectorClock> {
    prop::collection::vec((any_author(), 0..4_u64), 0..8).prop_map(VectorClock::from)
}
