//! `ShardHash` and [`shard_of`]: which shard an entity belongs to.
//!
//! The answer depends on nothing but the id, the number of shards and the hash, so every node finds
//! it alone. It must never change: a hash that answered differently after an upgrade would have two
//! nodes act for one entity. `tests/golden/shard_hash.txt` pins every built-in hash. This is not
//! about which node holds a shard.

use md5::{Digest, Md5};
use twox_hash::XxHash3_64;

use crate::{CustomHash, EntityId, ShardCount, ShardId};

/// How an id is turned into a shard. Chosen when a group is created, and fixed from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ShardHash {
    /// XXH3-64 of the UTF-8 bytes, mod n, plus 1: fast and evenly spread.
    #[default]
    Stable,
    /// `abs(hashCode % n) + 1` with the `String.hashCode` of Java, for systems that placed entities
    /// so before.
    Java,
    /// The first four bytes, big endian, of the MD5 of the UTF-8 bytes, mod n, plus 1, for systems
    /// that placed entities so before.
    Md5,
    /// A function of the user's.
    Custom(CustomHash),
}

impl ShardHash {
    /// The name by which nodes find out whether they use the same hash: `stable`, `java`, `md5`, or
    /// the name of the custom one.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Java => "java",
            Self::Md5 => "md5",
            Self::Custom(custom) => custom.name(),
        }
    }
}

/// The shard that `id` belongs to.
///
/// Fails only for a custom hash, when it answers a shard that does not exist.
///
/// ```
/// use ostrakon_core::{CustomHash, EntityId, ShardCount, ShardHash, shard_of};
///
/// let id = EntityId::new("guild1")?;
/// let count = ShardCount::default();
/// assert_eq!(shard_of(&id, count, &ShardHash::Java)?.get(), 95);
///
/// let zero_based = ShardHash::Custom(CustomHash::new("by-length", |id, n| id.len() as u32 % n.get()));
/// assert_eq!(shard_of(&id, count, &zero_based)?.get(), 6);
/// let one_shard = ShardCount::new(1)?;
/// assert!(shard_of(&id, one_shard, &zero_based).is_err(), "it answers 0, and shards count from 1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shard_of(
    id: &EntityId,
    count: ShardCount,
    hash: &ShardHash,
) -> Result<ShardId, ShardOutOfRange> {
    let text = id.as_str();
    let index = match hash {
        ShardHash::Stable => return Ok(shard_of_hash(stable_hash(text), count)),
        // Java's remainder has the sign of the hash code, so its magnitude is the remainder of the
        // magnitude, and the magnitude of the smallest i32 does fit a u32.
        ShardHash::Java => java_hash_code(text).unsigned_abs() % count.get(),
        ShardHash::Md5 => md5_prefix(text) % count.get(),
        ShardHash::Custom(custom) => return custom_shard(id, count, custom),
    };
    Ok(ShardId::from_index(index))
}

/// The shard of an id with this stable hash.
pub(crate) fn shard_of_hash(hashed: u64, count: ShardCount) -> ShardId {
    ShardId::from_index((hashed % u64::from(count.get())) as u32)
}

/// XXH3-64 with seed 0 of the UTF-8 bytes: what [`ShardHash::Stable`] is made of, and fit to be the
/// key of a table in memory. An adversary can find collisions.
pub fn stable_hash(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}

/// A custom hash answered a shard that does not exist, so the entity has no place. Trying again will
/// not help: the function must be corrected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the custom hash {hash:?} put the id {:?} into shard {answered}: it must answer 1 to {count}",
    id.as_str()
)]
pub struct ShardOutOfRange {
    /// The name of the custom hash.
    pub hash: &'static str,
    /// The id it was asked about.
    pub id: EntityId,
    /// What it answered.
    pub answered: u32,
    /// How many shards there are.
    pub count: ShardCount,
}

fn custom_shard(
    id: &EntityId,
    count: ShardCount,
    custom: &CustomHash,
) -> Result<ShardId, ShardOutOfRange> {
    let answered = custom.answer(id.as_str(), count);
    ShardId::new(answered)
        .filter(|shard| count.contains(*shard))
        .ok_or_else(|| ShardOutOfRange {
            hash: custom.name(),
            id: id.clone(),
            answered,
            count,
        })
}

/// Java strings are UTF-16, and its integers wrap.
fn java_hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0, |code: i32, unit| {
        code.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

fn md5_prefix(text: &str) -> u32 {
    let [a, b, c, d, ..]: [u8; 16] = Md5::digest(text).into();
    u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> EntityId {
        EntityId::new(text).unwrap()
    }

    #[test]
    fn the_stable_hash_is_xxh3_64() {
        assert_eq!(stable_hash(""), 0x2d06_8005_38d3_94c2);
        assert_eq!(stable_hash("guild1"), 0xd279_0b46_3aa1_55ce);
    }

    #[test]
    fn java_hash_codes_wrap_down_to_the_smallest_integer() {
        assert_eq!(java_hash_code("polygenelubricants"), i32::MIN);
        assert_eq!(java_hash_code("Aa"), java_hash_code("BB"));
    }

    #[test]
    fn a_custom_hash_may_answer_the_first_and_the_last_shard() {
        let count = ShardCount::new(10).unwrap();
        let first = ShardHash::Custom(CustomHash::new("first", |_, _| 1));
        let last = ShardHash::Custom(CustomHash::new("last", |_, n| n.get()));
        assert_eq!(
            shard_of(&id("a"), count, &first),
            Ok(ShardId::new(1).unwrap())
        );
        assert_eq!(
            shard_of(&id("a"), count, &last),
            Ok(ShardId::new(10).unwrap())
        );
    }

    #[test]
    fn a_custom_hash_that_leaves_the_range_is_named_in_the_error() {
        let count = ShardCount::new(10).unwrap();
        for answered in [0, 11, u32::MAX] {
            let hash = ShardHash::Custom(CustomHash::new("off", move |_, _| answered));
            let error = ShardOutOfRange {
                hash: "off",
                id: id("a\n"),
                answered,
                count,
            };
            assert_eq!(shard_of(&id("a\n"), count, &hash), Err(error));
        }
        let hash = ShardHash::Custom(CustomHash::new("off", |_, _| 0));
        assert_eq!(
            shard_of(&id("a\n"), count, &hash).unwrap_err().to_string(),
            r#"the custom hash "off" put the id "a\n" into shard 0: it must answer 1 to 10"#
        );
    }

    #[test]
    fn every_hash_has_its_own_name() {
        let custom = ShardHash::Custom(CustomHash::new("mine", |_, _| 1));
        let hashes = [
            ShardHash::default(),
            ShardHash::Java,
            ShardHash::Md5,
            custom,
        ];
        assert_eq!(
            hashes.map(|hash| hash.name()),
            ["stable", "java", "md5", "mine"]
        );
    }
}
