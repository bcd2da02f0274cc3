//! `CustomHash`: a placement function of the user's, with a name.
//!
//! Functions cannot be compared, names can: nodes recognise the same function by its name, which
//! must therefore change whenever the function's answers do. The function must be pure; one that
//! answers differently on two nodes splits an entity in two.

use std::fmt;
use std::sync::Arc;

use crate::{ShardCount, ShardHash};

/// A placement function of the user's. Two are equal if their names are.
#[derive(Clone)]
pub struct CustomHash {
    name: &'static str,
    shard: Arc<Placement>,
}

impl CustomHash {
    /// A function from an id and the number of shards `n` to a shard in `1..=n`.
    ///
    /// # Panics
    ///
    /// If `name` is empty or that of a built-in hash (`stable`, `java`, `md5`): nodes that compare
    /// names would take the two for the same function.
    pub fn new(
        name: &'static str,
        shard: impl Fn(&str, ShardCount) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let built_in = [ShardHash::Stable, ShardHash::Java, ShardHash::Md5];
        assert!(!name.is_empty(), "a custom hash needs a name");
        assert!(
            built_in.iter().all(|hash| hash.name() != name),
            "{name:?} is the name of a built-in hash"
        );
        Self {
            name,
            shard: Arc::new(shard),
        }
    }

    /// The name by which nodes recognise the function.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The function's answer, unchecked.
    pub(crate) fn answer(&self, id: &str, count: ShardCount) -> u32 {
        (self.shard)(id, count)
    }
}

impl PartialEq for CustomHash {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CustomHash {}

impl fmt::Debug for CustomHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomHash").field(&self.name).finish()
    }
}

type Placement = dyn Fn(&str, ShardCount) -> u32 + Send + Sync;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_alone_decides_equality() {
        let first = CustomHash::new("first", |_, _| 1);
        assert_eq!(first, CustomHash::new("first", |_, _| 2));
        assert_ne!(first, CustomHash::new("second", |_, _| 1));
        assert_eq!(format!("{first:?}"), r#"CustomHash("first")"#);
    }

    #[test]
    #[should_panic(expected = "\"java\" is the name of a built-in hash")]
    fn the_name_of_a_built_in_hash_is_refused() {
        CustomHash::new("java", |_, _| 1);
    }

    #[test]
    #[should_panic(expected = "needs a name")]
    fn an_empty_name_is_refused() {
        CustomHash::new("", |_, _| 1);
    }
}
