//! Every built-in hash still puts every id of the golden file where it always did.
//!
//! The file is read at compile time, so the test does no I/O. A row that fails means that entities
//! would move on upgrade: correct the hash, not the row.

use std::collections::BTreeSet;

use ostrakon_core::{EntityId, ShardCount, ShardHash, shard_of};

#[test]
fn every_hash_places_ids_where_the_golden_file_says() {
    for row in rows() {
        let shard = shard_of(&row.id, row.count, &row.hash).unwrap();
        assert_eq!(shard.get(), row.shard, "{}", row.line);
    }
}

#[test]
fn the_golden_file_covers_every_length_branch_of_the_stable_hash() {
    let pinned: BTreeSet<usize> = rows()
        .filter(|row| row.hash == ShardHash::Stable)
        .map(|row| row.id.as_str().len())
        .collect();
    for len in [1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1000] {
        assert!(pinned.contains(&len), "no id of {len} bytes");
    }
}

struct Row {
    line: &'static str,
    hash: ShardHash,
    count: ShardCount,
    shard: u32,
    id: EntityId,
}

fn rows() -> impl Iterator<Item = Row> {
    include_str!("golden/shard_hash.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(parse)
}

fn parse(line: &'static str) -> Row {
    let (columns, id) = line.split_at(line.find('"').expect("an id in quotes"));
    let mut columns = columns.split_whitespace();
    let mut column = || columns.next().expect("three columns before the id");
    Row {
        line,
        hash: hash_named(column()),
        count: ShardCount::new(column().parse().expect("n is a number")).expect("n is a count"),
        shard: column().parse().expect("the shard is a number"),
        id: serde_json::from_str(id).expect("the id is a JSON string"),
    }
}

fn hash_named(name: &str) -> ShardHash {
    [ShardHash::Stable, ShardHash::Java, ShardHash::Md5]
        .into_iter()
        .find(|hash| hash.name() == name)
        .expect("the name of a built-in hash")
}
