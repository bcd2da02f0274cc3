//! `Audit`: looks through the journals of a run for two lives of one account at once.
//!
//! It asks nobody. The lines of a file are in the order in which they were written, and each has the time of the kernel's clock: a
//! life that does something after the next one has begun is an overlap, by either measure.

use std::{collections::HashMap, fs, io, path::Path};

use super::journal::{Line, What};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Audit {
    /// How often something was done in a life after the next one of the same account had begun.
    pub(crate) overlaps: u64,
    /// How often a shard got another owner, as far as its accounts noticed.
    pub(crate) moves: u64,
    /// How many lives have begun.
    pub(crate) lives: u64,
    /// The shortest time between the last act of an account in one process and its beginning in another.
    pub(crate) smallest_gap_ns: Option<u64>,
}

impl Audit {
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let mut audit = Self::default();
        for file in fs::read_dir(folder)? {
            audit.read(&fs::read_to_string(file?.path())?);
        }
        Ok(audit)
    }

    /// Reads the journal of one shard.
    fn read(&mut self, text: &str) {
        let mut latest: HashMap<&str, Life<'_>> = HashMap::new();
        let mut owner = 0;
        for line in text.lines().filter_map(Line::read) {
            match line.what {
                What::Begins { epoch } => {
                    self.lives += 1;
                    if owner != 0 && epoch > owner {
                        self.moves += 1;
                    }
                    owner = owner.max(epoch);
                    let life = Life {
                        name: line.life,
                        began: line.written,
                        acted: line.written,
                    };
                    if let Some(before) = latest.insert(line.account, life) {
                        self.succeeds(&before, &line);
                    }
                }
                What::Does(_) => match latest.get_mut(line.account) {
                    Some(life) if life.name == line.life && life.began <= line.began => {
                        life.acted = life.acted.max(line.written);
                    }
                    Some(_) | None => self.overlaps += 1,
                },
            }
        }
    }

    /// A life begins after another.
    fn succeeds(&mut self, before: &Life<'_>, line: &Line<'_>) {
        let Some(gap) = line.began.checked_sub(before.acted) else {
            self.overlaps += 1;
            return;
        };
        if process(before.name) != process(line.life) {
            self.smallest_gap_ns = Some(self.smallest_gap_ns.map_or(gap, |least| least.min(gap)));
        }
    }
}

struct Life<'l> {
    name: &'l str,
    began: u64,
    acted: u64,
}

fn process(life: &str) -> &str {
    life.split('.').next().unwrap_or(life)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(lines: &[&str]) -> Audit {
        let mut audit = Audit::default();
        audit.read(&lines.join("\n"));
        audit
    }

    #[test]
    fn lives_one_after_the_other_are_as_they_should_be() {
        let audit = audit(&[
            "B alice 1.0 4 100",
            "D alice 1.0 5 110 120",
            "B bob 1.1 4 125",
            "B alice 2.0 9 150",
            "W alice 2.0 5 160 170",
        ]);
        assert_eq!(audit.overlaps, 0);
        assert_eq!((audit.lives, audit.moves), (3, 1));
        assert_eq!(audit.smallest_gap_ns, Some(30));
    }

    #[test]
    fn an_act_after_the_next_life_has_begun_is_an_overlap() {
        let found = audit(&[
            "B alice 1.0 4 100",
            "B alice 2.0 9 150",
            "D alice 1.0 5 110 160",
        ]);
        assert_eq!(found.overlaps, 1);
    }

    #[test]
    fn an_act_that_began_before_its_life_belongs_to_another() {
        let found = audit(&["B alice 1.0 4 100", "D alice 1.0 5 90 110"]);
        assert_eq!(found.overlaps, 1);
    }
}
