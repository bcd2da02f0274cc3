//! `Ledger`: the database of sensors on several nodes: one file per shard, to which whoever owns the shard appends.
//!
//! Unlike the [journal](crate::demo::journal) of the bank it stops nobody: a node that is no owner any more could write as well. But the
//! kernel puts appended entries in one order, and each says in which life of its sensor and under which ownership of the shard it was
//! made. So whatever happened that must not is there to be seen, and an entry costs one call of the system. Nothing is forced to the disk:
//! an entry survives the end of its process, not that of the machine.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use super::sensor::{Aggregate, SHARDS};

pub(crate) struct Ledger {
    folder: PathBuf,
    shards: Vec<Mutex<Option<Page>>>,
    lives: AtomicU32,
}

/// The file of one shard, in one ownership.
struct Page {
    file: File,
    epoch: u64,
    sensors: HashMap<u32, Aggregate>,
}

/// One life of one sensor.
pub(crate) struct Life {
    sensor: u32,
    shard: usize,
    epoch: u64,
    /// Which process and which life in it.
    name: u64,
}

impl Ledger {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            lives: AtomicU32::new(0),
        }
    }

    /// A sensor begins to live; returns what its readings came to so far.
    pub(crate) fn begin(
        &self,
        sensor: u32,
        shard: usize,
        epoch: u64,
    ) -> io::Result<(Life, Aggregate)> {
        let counter = u64::from(self.lives.fetch_add(1, Relaxed));
        let life = Life {
            sensor,
            shard,
            epoch,
            name: u64::from(std::process::id()) << 32 | counter,
        };
        let found = self.write(&life, Act::Begins)?;
        Ok((life, found))
    }

    /// Writes a reading down.
    pub(crate) fn record(&self, life: &Life, reading: i32) -> io::Result<()> {
        self.write(life, Act::Reads(reading)).map(drop)
    }

    fn write(&self, life: &Life, act: Act) -> io::Result<Aggregate> {
        let slot = self.shards[life.shard].lock();
        let mut slot = slot.expect("nothing panics while it holds a shard");
        let page = match &mut *slot {
            Some(page) if page.epoch >= life.epoch => page,
            // Others may have written before this ownership, but nobody does during it.
            older => older.insert(Page::read(&self.folder, life.shard, life.epoch)?),
        };
        let entry = Entry {
            sensor: life.sensor,
            epoch: life.epoch,
            life: life.name,
            act,
        };
        page.file.write_all(&entry.encode())?;
        let aggregate = page.sensors.entry(life.sensor).or_default();
        if let Act::Reads(reading) = act {
            aggregate.add(reading);
        }
        Ok(*aggregate)
    }
}

impl Page {
    fn read(folder: &Path, shard: usize, epoch: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(folder.join(format!("sensors-{shard}")))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut sensors: HashMap<u32, Aggregate> = HashMap::new();
        for Entry { sensor, act, .. } in Entry::all(&bytes) {
            if let Act::Reads(reading) = act {
                sensors.entry(sensor).or_default().add(reading);
            }
        }
        Ok(Self {
            file,
            epoch,
            sensors,
        })
    }
}

/// An entry of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) sensor: u32,
    pub(crate) epoch: u64,
    pub(crate) life: u64,
    pub(crate) act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Begins,
    Reads(i32),
}

impl Entry {
    const BYTES: usize = 24;
    /// In the place of a reading.
    const BEGINS: i32 = i32::MIN;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let reading = match self.act {
            Act::Begins => Self::BEGINS,
            Act::Reads(reading) => reading,
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.sensor.to_le_bytes());
        bytes[4..8].copy_from_slice(&reading.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..].copy_from_slice(&self.life.to_le_bytes());
        bytes
    }

    /// All entries of a file, in the order in which they were written.
    pub(crate) fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (entries, _) = bytes.as_chunks::<{ Self::BYTES }>();
        entries.iter().map(Self::decode)
    }

    fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |from: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[from + n]));
        let half = |from: usize| u32::from_le_bytes(std::array::from_fn(|n| bytes[from + n]));
        let reading = half(4).cast_signed();
        Self {
            sensor: half(0),
            epoch: word(8),
            life: word(16),
            act: match reading {
                Self::BEGINS => Act::Begins,
                reading => Act::Reads(reading),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_node_wrote_the_next_one_finds() {
        let folder = std::env::temp_dir().join(format!("ostrakon-ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (one, two) = (Ledger::in_folder(&folder), Ledger::in_folder(&folder));
        let (first, found) = one.begin(7, 3, 4).unwrap();
        assert_eq!(found, Aggregate::default());
        one.record(&first, 20).unwrap();
        one.record(&first, -5).unwrap();
        let (second, found) = two.begin(7, 3, 9).unwrap();
        let (count, sum, min, max) = (2, 15, -5, 20);
        let both = Aggregate {
            count,
            sum,
            min,
            max,
        };
        assert_eq!(found, both);
        two.record(&second, 1).unwrap();
        let (_, found) = one.begin(7, 3, 11).unwrap();
        assert_eq!((found.count, found.sum), (3, 16), "back at the first node");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let acts = [Act::Begins, Act::Reads(-40_00), Act::Reads(0)];
        let entries = acts.map(|act| Entry {
            sensor: 99_999,
            epoch: 1 << 40,
            life: 5 << 32 | 7,
            act,
        });
        let bytes = entries.map(|entry| entry.encode()).concat();
        assert_eq!(Entry::all(&bytes).collect::<Vec<_>>(), entries);
    }
}
