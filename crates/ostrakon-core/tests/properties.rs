//! What holds for all ids, counts and times, not only for the examples in the unit tests.

use std::fmt::Debug;
use std::time::Duration;

use ostrakon_core::{
    CustomHash, EntityId, EntityKind, GroupName, NodeName, ShardCount, ShardHash, ShardId, Time,
    shard_of,
};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

proptest! {
    #[test]
    fn every_hash_stays_within_the_shards(id in entity_id(), count in shard_count(), hash in hash()) {
        let shard = shard_of(&id, count, &hash).unwrap();
        prop_assert!((1..=count.get()).contains(&shard.get()), "{shard} of {count}");
    }

    #[test]
    fn equal_ids_belong_to_the_same_shard(id in entity_id(), count in shard_count(), hash in hash()) {
        let same_text_elsewhere = EntityId::new(id.as_str()).unwrap();
        prop_assert_eq!(
            shard_of(&id, count, &hash),
            shard_of(&same_text_elsewhere, count, &hash.clone())
        );
    }

    #[test]
    fn a_custom_hash_is_believed_exactly_within_the_shards(count in shard_count(), answer in answer()) {
        let hash = ShardHash::Custom(CustomHash::new("constant", move |_, _| answer));
        let shard = shard_of(&EntityId::new("a").unwrap(), count, &hash);
        let expected = (1..=count.get()).contains(&answer).then_some(answer);
        prop_assert_eq!(shard.ok().map(ShardId::get), expected);
    }

    #[test]
    fn an_entity_id_is_any_text_of_1_to_1024_bytes(text in text_near(1024)) {
        prop_assert_eq!(EntityId::new(&text).is_ok(), (1..=1024).contains(&text.len()));
    }

    #[test]
    fn kinds_and_groups_are_lower_case_names(text in text_near(128)) {
        let first_is_letter = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        let rest = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
        let expected = first_is_letter && text.len() <= 128 && text.chars().all(|c| rest.contains(c));
        prop_assert_eq!(EntityKind::new(&text).is_ok(), expected);
        prop_assert_eq!(GroupName::new(&text).is_ok(), expected);
    }

    #[test]
    fn node_names_are_visible_ascii_without_slash(text in text_near(128)) {
        let visible = text.bytes().all(|b| (0x21..=0x7e).contains(&b) && b != b'/');
        let expected = visible && (1..=128).contains(&text.len());
        prop_assert_eq!(NodeName::new(&text).is_ok(), expected);
    }

    #[test]
    fn every_valid_name_survives_the_wire(
        id in entity_id(),
        name in "[a-z][a-z0-9_.-]{0,127}",
        node in "[!-.0-~]{1,128}",
    ) {
        assert_survives(&id);
        assert_survives(&EntityKind::new(&name).unwrap());
        assert_survives(&GroupName::new(&name).unwrap());
        assert_survives(&NodeName::new(&node).unwrap());
    }

    #[test]
    fn decoding_accepts_exactly_what_the_constructor_does(text in text_near(128)) {
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str(&json).ok(), EntityId::new(&text).ok());
        prop_assert_eq!(serde_json::from_str(&json).ok(), EntityKind::new(&text).ok());
        prop_assert_eq!(serde_json::from_str(&json).ok(), GroupName::new(&text).ok());
        prop_assert_eq!(serde_json::from_str(&json).ok(), NodeName::new(&text).ok());
    }

    #[test]
    fn adding_to_a_time_saturates(start in any::<u64>(), seconds in any::<u64>(), nanos in 0..1_000_000_000_u32) {
        let later = Duration::new(seconds, nanos);
        let exact = u128::from(start) + later.as_nanos();
        let sum = Time::from_nanos(start) + later;
        prop_assert_eq!(u128::from(sum.as_nanos()), exact.min(u128::from(u64::MAX)));
    }

    #[test]
    fn a_time_knows_how_long_ago_an_earlier_one_was(start in any::<u64>(), nanos in any::<u32>()) {
        let start = Time::from_nanos(start / 2);
        let later = Duration::from_nanos(nanos.into());
        prop_assert_eq!((start + later).saturating_since(start), later);
        prop_assert_eq!(start.saturating_since(start + later), Duration::ZERO);
    }
}

#[test]
fn the_stable_hash_spreads_sequential_ids_evenly() {
    let count = ShardCount::default();
    let mut load = vec![0_u32; count.iter().len()];
    for n in 1..=30_000 {
        let id = EntityId::new(format!("user-{n}")).unwrap();
        load[shard_of(&id, count, &ShardHash::Stable).unwrap().index()] += 1;
    }
    // Even an ideal hash is not flat: the mean is 100 and the standard deviation 10. Five of those
    // leave it less than one chance in a thousand to fail.
    assert!(
        load.iter().all(|entities| (50..=150).contains(entities)),
        "{load:?}"
    );
}

fn assert_survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let json = serde_json::to_string(value).expect("it can be encoded");
    let decoded: T = serde_json::from_str(&json).expect("it can be decoded");
    assert_eq!(&decoded, value);
}

/// Short ones of any characters, and long ones that leave the first bytes of the hashes behind.
fn entity_id() -> impl Strategy<Value = EntityId> {
    prop_oneof!["(?s).{1,40}", "[a-z0-9-]{1,1024}"]
        .prop_map(|text| EntityId::new(text).expect("the length is within bounds"))
}

fn shard_count() -> impl Strategy<Value = ShardCount> {
    prop_oneof![1..=10_u32, 1..=ShardCount::MAX, Just(ShardCount::MAX)]
        .prop_map(|count| ShardCount::new(count).expect("the count is within bounds"))
}

fn hash() -> impl Strategy<Value = ShardHash> {
    prop_oneof![
        Just(ShardHash::Stable),
        Just(ShardHash::Java),
        Just(ShardHash::Md5)
    ]
}

fn answer() -> impl Strategy<Value = u32> {
    prop_oneof![0..=12_u32, any::<u32>()]
}

/// Texts of which many are valid names, many are spoiled by one character, and many lie at the edge
/// of the allowed length.
fn text_near(max: usize) -> impl Strategy<Value = String> {
    let spoiled = ("[a-z]{0,9}", "(?s).", "[a-z]{0,9}");
    prop_oneof![
        "[a-z0-9_.-]{0,20}",
        "[ -~]{0,4}",
        spoiled.prop_map(|(before, spoiler, after)| before + &spoiler + &after),
        (max - 2..=max + 2).prop_map(|len| "x".repeat(len)),
        (max / 2 - 1..=max / 2 + 1).prop_map(|len| "é".repeat(len)),
    ]
}
