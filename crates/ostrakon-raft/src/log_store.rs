//! `LogStore`: the log of the consensus and the vote.
//!
//! All of it lies in memory, where it is read: snapshots keep it short. With a [`Disk`] everything is also written there in the same order,
//! and nothing counts as written before it is on it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader};

use crate::disk::{Disk, StoredLog};
use crate::type_config::{LogEntry, LogId, TypeConfig, Vote};
use crate::{MOST_REQUEST, codec};

/// A handle; all of them are the same log.
#[derive(Clone, Debug)]
pub(crate) struct LogStore {
    log: Arc<Mutex<Log>>,
    disk: Option<Disk>,
}

#[derive(Debug, Default)]
struct Log {
    entries: BTreeMap<u64, Stored>,
    vote: Option<Vote>,
    committed: Option<LogId>,
    purged: Option<LogId>,
}

#[derive(Clone, Debug)]
struct Stored {
    entry: LogEntry,
    bytes: usize,
}

impl LogStore {
    pub(crate) fn new(disk: Option<Disk>, stored: StoredLog) -> io::Result<Self> {
        let mut log = Log {
            vote: stored.vote,
            committed: stored.committed,
            purged: stored.purged,
            ..Log::default()
        };
        for bytes in stored.entries {
            let entry: LogEntry = codec::decode(&bytes)?;
            let bytes = bytes.len();
            log.entries
                .insert(entry.log_id.index, Stored { entry, bytes });
        }
        let log = Arc::new(Mutex::new(log));
        Ok(Self { log, disk })
    }

    /// Every change of it is a single step, so one that panicked has changed nothing.
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RaftLogReader<TypeConfig> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, io::Error> {
        let log = self.lock();
        let found = log
            .entries
            .range((range.start_bound().cloned(), upper(&range)));
        Ok(found.map(|(_, stored)| stored.entry.clone()).collect())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(self.lock().vote)
    }

    /// As much as one request may carry, but at least one entry.
    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<LogEntry>, io::Error> {
        let log = self.lock();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for (_, stored) in log.entries.range(start..end) {
            bytes += stored.bytes;
            if bytes > MOST_REQUEST && !entries.is_empty() {
                break;
            }
            entries.push(stored.entry.clone());
        }
        Ok(entries)
    }
}

/// A range that ends before it begins is empty here, and a panic there.
fn upper(range: &impl RangeBounds<u64>) -> Bound<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    match range.end_bound() {
        Bound::Included(end) if *end >= start => Bound::Included(*end),
        Bound::Excluded(end) if *end > start => Bound::Excluded(*end),
        Bound::Included(_) | Bound::Excluded(_) => Bound::Excluded(start),
        Bound::Unbounded => Bound::Unbounded,
    }
}

impl RaftLogStorage<TypeConfig> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, io::Error> {
        let log = self.lock();
        let last = log.entries.last_key_value();
        let last = last.map(|(_, stored)| stored.entry.log_id);
        Ok(LogState {
            last_purged_log_id: log.purged,
            last_log_id: last.or(log.purged),
        })
    }

    async fn get_log_reader(&mut self) -> Self::LogReader {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        if let Some(disk) = &self.disk {
            disk.save_vote(*vote).await?;
        }
        self.lock().vote = Some(*vote);
        Ok(())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), io::Error> {
        if let (Some(disk), Some(committed)) = (&self.disk, committed) {
            disk.save_committed(committed)?;
        }
        self.lock().committed = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, io::Error> {
        Ok(self.lock().committed)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: IOFlushed<TypeConfig>,
    ) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut written = Vec::new();
        {
            let mut log = self.lock();
            for entry in entries {
                let (index, encoded) = (entry.log_id.index, codec::encode(&entry)?);
                let bytes = encoded.len();
                log.entries.insert(index, Stored { entry, bytes });
                written.push((index, encoded));
            }
        }
        match &self.disk {
            Some(disk) => disk.append(written, callback),
            None => {
                callback.io_completed(Ok(()));
                Ok(())
            }
        }
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> Result<(), io::Error> {
        let from = last.map_or(0, |last| last.index + 1);
        self.lock().entries.split_off(&from);
        match &self.disk {
            Some(disk) => disk.truncate(from).await,
            None => Ok(()),
        }
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), io::Error> {
        {
            let mut log = self.lock();
            log.entries = log.entries.split_off(&(upto.index + 1));
            log.purged = Some(upto);
        }
        match &self.disk {
            Some(disk) => disk.purge(upto).await,
            None => Ok(()),
        }
    }
}
