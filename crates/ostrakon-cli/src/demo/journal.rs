//! `Journal`: the database of a bank on several nodes: one file per shard, which all nodes can write to and one may.
//!
//! Whoever begins to own an account says so in the file of its shard, with the epoch of its ownership; from then on nobody with a lower
//! epoch can write there any more. The look and the write are one step, under a lock of the operating system. Every effect is written
//! before it is answered, so what was acknowledged is there whatever happens to the node. Each line also says when the kernel's clock,
//! which all processes share, has seen it happen: that is what the [audit](super::audit) goes by.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ostrakon::{EntityId, ShardGroup};
use rustix::time::{ClockId, clock_gettime};

use super::{account::Statement, oracle::Effect};

pub(crate) struct Journal {
    folder: PathBuf,
    group: ShardGroup,
    shards: Vec<Mutex<Option<ShardFile>>>,
    lives: AtomicU64,
}

/// The file of one shard, as far as this process has read it.
struct ShardFile {
    file: File,
    read: u64,
    /// The highest epoch that anybody has begun with.
    epoch: u64,
    accounts: HashMap<String, Statement>,
}

/// One life of one account.
pub(crate) struct Entry {
    account: String,
    shard: usize,
    epoch: u64,
    life: u64,
}

/// Somebody with a higher epoch has begun; or the file cannot be written, which comes to the same.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the shard has a later owner")]
    Superseded,
    #[error("the journal cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl Journal {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let group = ShardGroup::default();
        Self {
            folder: folder.to_owned(),
            shards: group.count.iter().map(|_| Mutex::default()).collect(),
            group,
            lives: AtomicU64::new(0),
        }
    }

    /// An account begins to live; returns what it held.
    pub(crate) fn begin(&self, id: &EntityId, epoch: u64) -> Result<(Entry, Statement), Refused> {
        let shard = self
            .group
            .shard_of(id)
            .expect("the default hash always finds one");
        let entry = Entry {
            account: id.to_string(),
            shard: shard.index(),
            epoch,
            life: self.lives.fetch_add(1, Relaxed),
        };
        let mut held = Statement::default();
        self.write(&entry, |file| {
            held = file
                .accounts
                .get(&entry.account)
                .copied()
                .unwrap_or_default();
            format!("B {} {epoch}", entry.heading())
        })?;
        Ok((entry, held))
    }

    /// Writes an effect down.
    pub(crate) fn record(&self, entry: &Entry, effect: Effect) -> Result<(), Refused> {
        let began = now();
        self.write(entry, |_| {
            let (letter, amount) = match effect {
                Effect::Deposit(amount) => ('D', amount),
                Effect::Withdrawal(amount) => ('W', amount),
                Effect::Visit => ('V', 0),
            };
            format!("{letter} {} {amount} {began}", entry.heading())
        })
    }

    /// Appends a line, if nobody with a higher epoch has begun.
    fn write(&self, entry: &Entry, line: impl FnOnce(&ShardFile) -> String) -> Result<(), Refused> {
        let mut slot = self.slot(entry.shard);
        let shard = match &mut *slot {
            Some(shard) => shard,
            empty => empty.insert(ShardFile::open(&self.folder, entry.shard)?),
        };
        shard.file.lock()?;
        let written = shard.append(entry.epoch, line);
        shard.file.unlock()?;
        written
    }

    fn slot(&self, shard: usize) -> MutexGuard<'_, Option<ShardFile>> {
        let slot = self.shards[shard].lock();
        slot.expect("nothing panics while it holds a shard")
    }
}

impl Entry {
    fn heading(&self) -> String {
        format!("{} {}.{}", self.account, std::process::id(), self.life)
    }
}

impl ShardFile {
    fn open(folder: &Path, shard: usize) -> io::Result<Self> {
        let path = folder.join(format!("shard-{shard}"));
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)?;
        Ok(Self {
            file,
            read: 0,
            epoch: 0,
            accounts: HashMap::new(),
        })
    }

    fn append(&mut self, epoch: u64, line: impl FnOnce(&Self) -> String) -> Result<(), Refused> {
        self.catch_up()?;
        if self.epoch > epoch {
            return Err(Refused::Superseded);
        }
        let line = format!("{} {}\n", line(self), now());
        self.file.write_all(line.as_bytes())?;
        self.take(line.trim_end());
        self.read += line.len() as u64;
        Ok(())
    }

    /// Reads what others have written since the last time.
    fn catch_up(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() == self.read {
            return Ok(());
        }
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(self.read))?;
        self.file.read_to_string(&mut text)?;
        self.read += text.len() as u64;
        for line in text.lines() {
            self.take(line);
        }
        Ok(())
    }

    fn take(&mut self, line: &str) {
        let Some(line) = Line::read(line) else {
            return;
        };
        let held = self.accounts.entry(line.account.to_owned()).or_default();
        match line.what {
            What::Begins { epoch } => self.epoch = self.epoch.max(epoch),
            What::Does(Effect::Deposit(amount)) => {
                held.balance += amount;
                held.deposits += 1;
            }
            What::Does(Effect::Withdrawal(amount)) => {
                held.balance -= amount;
                held.withdrawals += 1;
            }
            What::Does(Effect::Visit) => held.visits += 1,
        }
    }
}

/// A line of a journal.
pub(crate) struct Line<'l> {
    pub(crate) account: &'l str,
    /// Which process and which life in it.
    pub(crate) life: &'l str,
    pub(crate) what: What,
    /// When it began and when it was written, in nanoseconds of the kernel's clock.
    pub(crate) began: u64,
    pub(crate) written: u64,
}

pub(crate) enum What {
    Begins { epoch: u64 },
    Does(Effect),
}

impl<'l> Line<'l> {
    pub(crate) fn read(text: &'l str) -> Option<Self> {
        let mut words = text.split(' ');
        let letter = words.next()?;
        let (account, life) = (words.next()?, words.next()?);
        let number = words.next()?;
        let (what, began) = match letter {
            "B" => {
                let epoch = number.parse().ok()?;
                (What::Begins { epoch }, None)
            }
            "D" => (
                What::Does(Effect::Deposit(number.parse().ok()?)),
                words.next(),
            ),
            "W" => (
                What::Does(Effect::Withdrawal(number.parse().ok()?)),
                words.next(),
            ),
            "V" => (What::Does(Effect::Visit), words.next()),
            _ => return None,
        };
        let written = words.next()?.parse().ok()?;
        let began = began.map_or(Some(written), |began| began.parse().ok())?;
        Some(Self {
            account,
            life,
            what,
            began,
            written,
        })
    }
}

/// The kernel's clock in nanoseconds: the same in all processes of a machine.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> EntityId {
        EntityId::new("alice").unwrap()
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ostrakon-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_one_node_wrote_the_next_one_finds() {
        let folder = folder("found");
        let (one, two) = (Journal::in_folder(&folder), Journal::in_folder(&folder));
        let (first, held) = one.begin(&alice(), 4).unwrap();
        assert_eq!(held, Statement::default());
        one.record(&first, Effect::Deposit(70)).unwrap();
        one.record(&first, Effect::Withdrawal(20)).unwrap();
        let (_, held) = two.begin(&alice(), 9).unwrap();
        assert_eq!(held.balance, Statement::default().balance + 50);
        assert_eq!((held.deposits, held.withdrawals, held.visits), (1, 1, 0));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn after_a_later_owner_has_begun_an_earlier_one_writes_nothing() {
        let folder = folder("fenced");
        let (one, two) = (Journal::in_folder(&folder), Journal::in_folder(&folder));
        let (old, _) = one.begin(&alice(), 4).unwrap();
        let (new, _) = two.begin(&alice(), 9).unwrap();
        let refused = one.record(&old, Effect::Deposit(1));
        assert!(matches!(refused, Err(Refused::Superseded)));
        assert!(matches!(one.begin(&alice(), 8), Err(Refused::Superseded)));
        two.record(&new, Effect::Deposit(2)).unwrap();
        let (_, held) = two.begin(&alice(), 9).unwrap();
        assert_eq!(held.deposits, 1);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
