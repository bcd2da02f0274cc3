//! `Audit`: reads the ledgers of a run and says what must never have happened.

use std::{collections::HashMap, fs, io, path::Path};

use super::ledger::{Act, Entry};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    /// How often something was written in a life after a later one of the same sensor had begun, or after the shard had a later owner.
    pub(crate) overlaps: u64,
    /// How often a shard got another owner, as far as its sensors noticed.
    pub(crate) moves: u64,
}

impl Audit {
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let mut audit = Self::default();
        for file in fs::read_dir(folder)? {
            audit.read(Entry::all(&fs::read(file?.path())?));
        }
        Ok(audit)
    }

    /// Reads the ledger of one shard.
    fn read(&mut self, entries: impl Iterator<Item = Entry>) {
        let mut latest: HashMap<u32, u64> = HashMap::new();
        let mut owner = 0;
        for entry in entries {
            if owner != 0 && entry.epoch > owner {
                self.moves += 1;
            }
            owner = owner.max(entry.epoch);
            if entry.act == Act::Begins {
                latest.insert(entry.sensor, entry.life);
            }
            let is_of_the_latest_life = latest.get(&entry.sensor) == Some(&entry.life);
            if entry.epoch < owner || !is_of_the_latest_life {
                self.overlaps += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is a sensor, an epoch, a life and what happened.
    fn audit(entries: &[(u32, u64, u64, Act)]) -> Audit {
        let mut audit = Audit::default();
        let entries = entries.iter();
        audit.read(entries.map(|&(sensor, epoch, life, act)| Entry {
            sensor,
            epoch,
            life,
            act,
        }));
        audit
    }

    const READS: Act = Act::Reads(1);

    #[test]
    fn lives_one_after_the_other_are_as_they_should_be() {
        let found = audit(&[
            (1, 4, 10, Act::Begins),
            (1, 4, 10, READS),
            (2, 4, 11, Act::Begins),
            (1, 9, 20, Act::Begins),
            (1, 9, 20, READS),
        ]);
        let (overlaps, moves) = (0, 1);
        assert_eq!(found, Audit { overlaps, moves });
    }

    #[test]
    fn a_reading_of_a_life_after_the_next_has_begun_is_an_overlap() {
        let found = audit(&[
            (1, 4, 10, Act::Begins),
            (1, 4, 11, Act::Begins),
            (1, 4, 10, READS),
        ]);
        assert_eq!(found.overlaps, 1);
    }

    #[test]
    fn a_reading_under_an_ownership_that_is_over_is_an_overlap() {
        let found = audit(&[
            (1, 4, 10, Act::Begins),
            (2, 9, 20, Act::Begins),
            (1, 4, 10, READS),
        ]);
        assert_eq!(found.overlaps, 1);
    }
}
