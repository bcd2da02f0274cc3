//! Which shard an id belongs to: data placed by either original must be found where it was.
//!
//! Shards count from one here and in Shardcake, and from zero in Casty: its numbers are one less than those below.

use ostrakon::{
    AskError, CustomHash, GroupName, Node, ShardCount, ShardGroup, ShardHash, StartError, TellError,
};

use crate::{
    Setup,
    counter::{Counter, counters},
};

twice! {
    an_id_without_a_shard_is_an_error_and_not_a_timeout,
}

fn group(hash: ShardHash, shards: u32) -> ShardGroup {
    ShardGroup {
        name: GroupName::default(),
        count: ShardCount::new(shards).unwrap(),
        hash,
    }
}

async fn shard_of(id: &str, shards: u32, hash: ShardHash) -> u32 {
    let builder = Node::builder("solo").host::<Counter>();
    let node = builder.group(group(hash, shards)).start().await.unwrap();
    let location = node.locate("counter", id).unwrap();
    assert_eq!(location.node, *node.name());
    node.leave().await.unwrap();
    location.shard.get()
}

// Casty, sharding: the documented vectors of the MD5 prefix, among them the id whose doc-string is wrong.
#[tokio::test]
async fn md5_groups_place_ids_where_casty_placed_them() {
    let vectors = [
        ("alice", 100, 70),
        ("bob", 100, 20),
        ("user-42", 100, 87),
        ("sensor-1", 256, 119),
        ("é", 1_000, 119),
    ];
    for (id, shards, theirs) in vectors {
        assert_eq!(
            shard_of(id, shards, ShardHash::Md5).await,
            theirs + 1,
            "{id}"
        );
    }
}

// Shardcake, sharding: the string's hash code, its magnitude modulo the number of shards, plus one.
#[tokio::test]
async fn java_groups_place_ids_where_shardcake_placed_them() {
    let vectors = [
        ("a", 300, 98),
        ("c1", 300, 119),
        ("c2", 300, 120),
        ("guild1", 300, 95),
        ("c3", 10, 1),
        // The one hash code that has no magnitude in 32 bits.
        ("polygenelubricants", 300, 249),
    ];
    for (id, shards, shard) in vectors {
        assert_eq!(shard_of(id, shards, ShardHash::Java).await, shard, "{id}");
    }
}

// Casty places the empty id too; here it is no id.
#[tokio::test]
async fn an_empty_id_has_no_place() {
    let node = counters(|builder| builder, ostrakon::Hosting::default()).await;
    let refused = node.locate("counter", "").unwrap_err();
    assert!(matches!(refused, TellError::InvalidId(_)), "{refused}");
    node.leave().await.unwrap();
}

/// Answers a shard below the first, the last one, or one behind it.
fn unsound_group() -> ShardGroup {
    let unsound = CustomHash::new("unsound", |id, count| match id {
        "below" => 0,
        "last" => count.get(),
        _ => count.get() + 1,
    });
    group(ShardHash::Custom(unsound), 10)
}

// Shardcake, later: a custom shard function that leaves 1..=n gives `InvalidShardId` instead of a timeout.
async fn an_id_without_a_shard_is_an_error_and_not_a_timeout(setup: Setup) {
    let builder = Node::builder("solo").host::<Counter>();
    let node = setup(builder.group(unsound_group())).start().await.unwrap();
    for id in ["below", "above"] {
        let counter = node.entity::<Counter>(id);
        let asked = counter.get().await.unwrap_err();
        assert!(
            matches!(asked, AskError::NotSent(TellError::NoShard(_))),
            "{asked}"
        );
        let told = counter.tell().add(1).await.unwrap_err();
        assert!(matches!(told, TellError::NoShard(_)), "{told}");
        assert_eq!(node.locate("counter", id), Err(told));
    }
    assert_eq!(node.entity::<Counter>("last").add(1).await, Ok(1));
    node.leave().await.unwrap();
}

// The same for a singleton, which nobody would otherwise notice to be missing.
#[tokio::test]
async fn a_singleton_without_a_shard_does_not_let_the_node_start() {
    let builder = Node::builder("solo").host::<Counter>();
    let builder = builder.group(unsound_group()).singleton::<Counter>("above");
    let refused = builder.start().await.unwrap_err();
    assert!(
        matches!(refused, StartError::Singleton(TellError::NoShard(_))),
        "{refused}"
    );
}
