//! `FoundSeeds`: the seeds as they were last found, each under the address by which it calls itself, where that is known.
//!
//! Which peer forms a cluster is decided by comparing addresses, so all must go by the same: a seed that was dialed under another address
//! than its own is known by its own from then on.

use std::collections::BTreeMap;

use ostrakon_core::Address;

pub(crate) struct FoundSeeds {
    found: Vec<Address>,
    aliases: BTreeMap<Address, Address>,
    told: Vec<Address>,
}

impl FoundSeeds {
    pub(crate) fn new(found: Vec<Address>) -> Self {
        Self {
            told: found.clone(),
            found,
            aliases: BTreeMap::new(),
        }
    }

    pub(crate) fn found(&mut self, found: Vec<Address>) {
        // Nobody at all is what a look-up says that failed.
        if !found.is_empty() {
            self.found = found;
            self.aliases.retain(|dialed, _| self.found.contains(dialed));
        }
    }

    pub(crate) fn alias(&mut self, dialed: &Address, advertised: Address) {
        if self.found.contains(dialed) {
            self.aliases.insert(dialed.clone(), advertised);
        }
    }

    /// The seeds, if they are not what they were.
    pub(crate) fn changed(&mut self) -> Option<Vec<Address>> {
        let each = self.found.iter();
        let mut seeds: Vec<_> = each
            .map(|seed| self.aliases.get(seed).unwrap_or(seed).clone())
            .collect();
        seeds.sort();
        seeds.dedup();
        if seeds == self.told {
            return None;
        }
        self.told.clone_from(&seeds);
        Some(seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(texts: &[&str]) -> Vec<Address> {
        let each = texts.iter().map(Address::new);
        each.collect::<Result<_, _>>().expect("they are addresses")
    }

    #[test]
    fn seeds_are_told_when_they_are_others_than_before() {
        let mut seeds = FoundSeeds::new(at(&["a", "b"]));
        assert_eq!(seeds.changed(), None);
        seeds.found(at(&["b", "c"]));
        assert_eq!(seeds.changed(), Some(at(&["b", "c"])));
        assert_eq!(seeds.changed(), None);
        seeds.found(Vec::new());
        assert_eq!(seeds.changed(), None, "a look-up that failed says nothing");
    }

    #[test]
    fn a_seed_goes_by_its_own_address_once_that_is_known() {
        let mut seeds = FoundSeeds::new(at(&["a", "b"]));
        let own = at(&["own"]).remove(0);
        seeds.alias(&at(&["stranger"])[0], own.clone());
        assert_eq!(seeds.changed(), None);
        seeds.alias(&at(&["b"])[0], own);
        assert_eq!(seeds.changed(), Some(at(&["a", "own"])));
        seeds.found(at(&["a", "b", "c"]));
        assert_eq!(seeds.changed(), Some(at(&["a", "c", "own"])));
    }
}
