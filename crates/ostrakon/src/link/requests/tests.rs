//! The table of requests: every request has an id of its own, also after many others had its place.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;

/// What can happen to the table; numbers pick one of the ids that were ever given.
#[derive(Debug, Clone)]
enum Op {
    Insert,
    Remove(prop::sample::Index),
    Get(prop::sample::Index),
    /// Removes those whose mark is divisible by this.
    Sweep(u64),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_id_finds_its_own_request_until_that_is_gone(ops in vec(op(), 0..200)) {
        let mut requests = Requests::default();
        let mut given = Vec::new();
        let mut present = BTreeMap::new();
        for op in ops {
            match op {
                Op::Insert => {
                    let mark = given.len() as u64;
                    let id = requests.insert(marked(mark));
                    prop_assert!(id != 0 && !given.contains(&id), "{} again", id);
                    given.push(id);
                    present.insert(id, mark);
                }
                Op::Remove(_) | Op::Get(_) if given.is_empty() => {}
                Op::Remove(which) => {
                    let id = given[which.index(given.len())];
                    let removed = requests.remove(id).map(|request| mark(&request));
                    prop_assert_eq!(removed, present.remove(&id));
                }
                Op::Get(which) => {
                    let id = given[which.index(given.len())];
                    let found = requests.get_mut(id).map(|request| mark(request));
                    prop_assert_eq!(found, present.get(&id).copied());
                }
                Op::Sweep(of) => {
                    let swept = requests.sweep(|request| mark(request).is_multiple_of(of));
                    let swept: BTreeSet<u64> = swept.iter().map(mark).collect();
                    let expected = present.extract_if(.., |_, mark| mark.is_multiple_of(of));
                    prop_assert_eq!(swept, expected.map(|(_, mark)| mark).collect());
                }
            }
            prop_assert_eq!(requests.len(), present.len());
        }
    }

    #[test]
    fn an_id_that_was_never_given_finds_nothing(id in any::<u64>(), count in 0..20_u64) {
        let mut requests = Requests::default();
        let given: Vec<_> = (0..count).map(|mark| requests.insert(marked(mark))).collect();
        prop_assume!(!given.contains(&id));
        prop_assert!(requests.get_mut(id).is_none());
        prop_assert!(requests.remove(id).is_none());
        prop_assert_eq!(requests.len() as u64, count);
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => Just(Op::Insert),
        4 => any::<prop::sample::Index>().prop_map(Op::Remove),
        2 => any::<prop::sample::Index>().prop_map(Op::Get),
        1 => (1..5_u64).prop_map(Op::Sweep),
    ]
}

/// A request that can be told from others.
fn marked(mark: u64) -> Request {
    Request {
        owed: Owed::Opening(Arc::new(Silent(0))),
        asked: None,
        spot: Spot::Ordinary { start: mark },
        deadline: None,
    }
}

fn mark(request: &Request) -> u64 {
    match request.spot {
        Spot::Ordinary { start } => start,
        Spot::Large { token } => token,
    }
}

#[test]
fn an_id_of_the_next_use_of_a_place_is_not_believed_before_it_was_given() {
    let mut requests = Requests::default();
    let first = requests.insert(marked(1));
    requests.remove(first).unwrap();
    let next = first + (1 << 20);
    assert!(requests.remove(next).is_none());
    assert_eq!(requests.insert(marked(2)), next);
    assert!(requests.remove(first).is_none());
    assert_eq!(requests.remove(next).map(|request| mark(&request)), Some(2));
}

#[test]
fn a_place_can_be_used_again_also_after_its_last_number() {
    let mut requests = Requests::default();
    let first = requests.insert(marked(1));
    requests.remove(first).unwrap();
    requests.places[0].uses = u32::MAX;
    let last = requests.insert(marked(2));
    assert_eq!(last >> 20, u64::from(u32::MAX));
    assert_eq!(requests.remove(last).map(|request| mark(&request)), Some(2));
    assert_eq!(requests.insert(marked(3)), first);
    assert!(requests.remove(last).is_none());
}

#[test]
fn a_full_table_has_no_room_and_no_id_twice() {
    let mut requests = Requests::default();
    let mut ids = BTreeSet::new();
    while requests.have_room(1) {
        ids.insert(requests.insert(marked(requests.len() as u64)));
    }
    assert_eq!((ids.len(), requests.len()), (MOST, MOST));
    assert!(requests.have_room(0));
    let last = *ids.last().unwrap();
    assert_eq!(
        requests.get_mut(last).map(|request| mark(request)),
        Some(MOST as u64 - 1)
    );
    assert!(requests.get_mut(last + 1).is_none());
    requests.remove(last).unwrap();
    assert!(requests.have_room(1) && !requests.have_room(2));
    assert!(ids.insert(requests.insert(marked(0))));
}

/// `count` requests whose deadlines are a microsecond apart.
fn expiring(count: u64) -> Requests {
    let mut requests = Requests::default();
    for n in 1..=count {
        let deadline = Time::from_nanos(n * 1000);
        requests.note_deadline(deadline);
        let deadline = Some(deadline);
        requests.insert(Request {
            deadline,
            ..marked(n)
        });
    }
    requests
}

#[test]
fn a_deadline_is_looked_for_when_it_comes() {
    let mut requests = expiring(3);
    for n in 1..=3 {
        let now = requests.next_look().unwrap();
        assert_eq!(now, Time::from_nanos(n * 1000));
        assert_eq!(requests.due(now).len(), 1);
        requests.sweep(|request| mark(request) == n);
    }
    assert_eq!(requests.next_look(), None);
}

#[test]
fn a_large_table_is_not_looked_through_for_every_deadline() {
    const COUNT: u64 = 100_000;
    let mut requests = expiring(COUNT);
    let (mut looks, mut latest) = (0, Duration::ZERO);
    while let Some(now) = requests.next_look() {
        looks += 1;
        for id in requests.due(now) {
            let request = requests.remove(id).unwrap();
            latest = latest.max(now.saturating_since(request.deadline.unwrap()));
        }
    }
    assert_eq!(requests.len(), 0);
    // A tenth of a second in all.
    assert_eq!(looks, 11);
    assert!(latest < REST * COUNT as u32, "{latest:?}");
}

#[test]
fn a_request_is_found_by_who_asks() {
    let mut requests = Requests::default();
    let settles: Vec<Arc<dyn Settle>> = (0..3).map(|n| Arc::new(Silent(n)) as _).collect();
    let asks = settles.iter().map(|settle| Request {
        owed: Owed::Opening(Arc::clone(settle)),
        asked: Some(Asked {
            kind: "chat",
            id: EntityId::new("lobby").unwrap(),
        }),
        ..marked(7)
    });
    let ids: Vec<_> = asks.map(|ask| requests.insert(ask)).collect();
    requests.insert(marked(8));
    for (settle, id) in settles.iter().zip(ids) {
        let wanted = settle.id();
        assert_eq!(requests.find(wanted), Some(id));
        let found = requests.remove(id).unwrap();
        assert!(found.is(wanted));
        assert_eq!(requests.find(wanted), None);
    }
}

/// Someone who asks; each has a place of its own in memory.
struct Silent(#[expect(dead_code, reason = "only takes room")] u32);

impl Settle for Silent {
    fn id(&self) -> AskId {
        AskId::of(self)
    }
    fn set_out(&self) {}
    fn begin(&self) -> bool {
        true
    }
    fn handled(&self) {}
    fn fail(&self, _: AskError) {}
    fn let_go(&self) {}
    fn forget(&self) {}
    fn is_over(&self) -> bool {
        false
    }
}
