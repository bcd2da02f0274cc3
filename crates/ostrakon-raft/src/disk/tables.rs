//! What lies in the file: who we are, vote and marks, the log, and the last snapshot.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use redb::{
    Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use super::Found;
use crate::type_config::{LogId, SnapshotMeta, Vote};
use crate::{StartError, codec};

/// The form in which everything is stored. A file with a later one is left alone.
const FORMAT: u64 = 1;

const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const MARKS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("marks");
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// The log as it was stored.
#[derive(Debug, Default)]
pub(crate) struct StoredLog {
    pub(crate) vote: Option<Vote>,
    pub(crate) committed: Option<LogId>,
    pub(crate) purged: Option<LogId>,
    /// In order.
    pub(crate) entries: Vec<Vec<u8>>,
}

/// The snapshot as it was stored.
#[derive(Debug)]
pub(crate) struct StoredSnapshot {
    pub(crate) meta: SnapshotMeta,
    pub(crate) data: Vec<u8>,
}

/// One thing to write.
pub(super) enum Write {
    Vote(Vec<u8>),
    Committed(Vec<u8>),
    Append(Vec<(u64, Vec<u8>)>),
    Truncate(u64),
    Purge { upto: u64, last: Vec<u8> },
    Snapshot { meta: Vec<u8>, data: Arc<Vec<u8>> },
}

/// The file as it is, or a new one with its directory.
pub(super) fn open(path: &Path) -> Result<Database, StartError> {
    let place = || path.display().to_string();
    let broken = |source: redb::Error| StartError::Disk {
        place: place(),
        source: source.into(),
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|error| broken(redb::Error::Io(error)))?;
    }
    match Database::create(path) {
        Ok(database) => Ok(database),
        Err(DatabaseError::DatabaseAlreadyOpen) => Err(StartError::InUse { place: place() }),
        Err(error) => Err(broken(error.into())),
    }
}

/// What is in it, if it is ours.
pub(super) fn find(
    database: &Database,
    place: &str,
    cluster: &str,
    id: u64,
) -> Result<Found, StartError> {
    let place = place.to_owned();
    let identified = identify(database, cluster, id);
    let (format, id, owner) = match identified {
        Ok(found) => found,
        Err(error) => {
            let source = error.into();
            return Err(StartError::Disk { place, source });
        }
    };
    if format != FORMAT {
        let (found, known) = (format, FORMAT);
        return Err(StartError::NewerFormat {
            place,
            found,
            known,
        });
    }
    if owner != cluster {
        let (found, wanted) = (owner, cluster.to_owned());
        return Err(StartError::OtherCluster {
            place,
            found,
            wanted,
        });
    }
    load(database, id).map_err(|error| {
        let source = error.into();
        StartError::Disk { place, source }
    })
}

/// Format, id and cluster of the file; a new one gets ours.
fn identify(
    database: &Database,
    cluster: &str,
    id: u64,
) -> Result<(u64, u64, String), redb::Error> {
    let transaction = database.begin_write()?;
    let found = {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let mut marks = transaction.open_table(MARKS)?;
        transaction.open_table(LOG)?;
        let format = numbers.get("format")?.map(|format| format.value());
        if format.is_none() {
            numbers.insert("format", FORMAT)?;
            numbers.insert("id", id)?;
            marks.insert("cluster", cluster.as_bytes())?;
        }
        let id = numbers.get("id")?.map_or(id, |id| id.value());
        let owner = marks.get("cluster")?;
        let owner = owner.map(|owner| String::from_utf8_lossy(owner.value()).into_owned());
        (format.unwrap_or(FORMAT), id, owner.unwrap_or_default())
    };
    transaction.commit()?;
    Ok(found)
}

fn load(database: &Database, id: u64) -> io::Result<Found> {
    let transaction = database.begin_read().map_err(io::Error::other)?;
    let marks = transaction.open_table(MARKS).map_err(io::Error::other)?;
    let mark = |name| -> io::Result<Option<Vec<u8>>> {
        let mark = marks.get(name).map_err(io::Error::other)?;
        Ok(mark.map(|mark| mark.value().to_owned()))
    };
    let decoded = |mark: Option<Vec<u8>>| mark.map(|mark| codec::decode(&mark)).transpose();
    let mut log = StoredLog {
        vote: mark("vote")?.map(|vote| codec::decode(&vote)).transpose()?,
        committed: decoded(mark("committed")?)?,
        purged: decoded(mark("purged")?)?,
        entries: Vec::new(),
    };
    let entries = transaction.open_table(LOG).map_err(io::Error::other)?;
    for entry in entries.iter().map_err(io::Error::other)? {
        let (_, entry) = entry.map_err(io::Error::other)?;
        log.entries.push(entry.value().to_owned());
    }
    let snapshot = match (mark("snapshot")?, mark("snapshot meta")?) {
        (Some(data), Some(meta)) => {
            let meta = codec::decode(&meta)?;
            Some(StoredSnapshot { meta, data })
        }
        _ => None,
    };
    Ok(Found { id, log, snapshot })
}

/// All of it or nothing. Only a mark that nothing depends on need not be on the disk afterwards.
pub(super) fn write(database: &Database, writes: &[Write]) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    let is_hint = |write: &Write| matches!(write, Write::Committed(_));
    if writes.iter().all(is_hint) {
        transaction.set_durability(Durability::None)?;
    }
    for write in writes {
        write.perform(&transaction)?;
    }
    Ok(transaction.commit()?)
}

impl Write {
    fn perform(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut marks = transaction.open_table(MARKS)?;
        let mut log = transaction.open_table(LOG)?;
        match self {
            Self::Vote(vote) => {
                marks.insert("vote", vote.as_slice())?;
            }
            Self::Committed(committed) => {
                marks.insert("committed", committed.as_slice())?;
            }
            Self::Append(entries) => {
                for (index, entry) in entries {
                    log.insert(index, entry.as_slice())?;
                }
            }
            Self::Truncate(from) => log.retain_in(*from.., |_, _| false)?,
            Self::Purge { upto, last } => {
                log.retain_in(..=*upto, |_, _| false)?;
                marks.insert("purged", last.as_slice())?;
            }
            Self::Snapshot { meta, data } => {
                marks.insert("snapshot meta", meta.as_slice())?;
                marks.insert("snapshot", data.as_slice())?;
            }
        }
        Ok(())
    }
}
