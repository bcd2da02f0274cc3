//! `Tables`: what lies in the file, and every way to read and change it but to [append](super::appending).
//!
//! Each function is one transaction. Tables are named after their cluster, so that a wrong name shows as an empty log and not as another's.

use std::sync::Arc;

use ostrakon_core::{Incarnation, Index, Term};
use redb::{
    Database, Error, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
};

use crate::backend::{Compaction, FORMAT, Found, MOST_BYTES_READ, MOST_READ};
use crate::{Head, Renewal, Renewed};

const FORMATS: TableDefinition<'_, &str, u32> = TableDefinition::new("ostrakon");

#[derive(Clone, Debug)]
pub(super) struct Tables(Arc<Names>);

#[derive(Debug)]
struct Names {
    head: String,
    log: String,
    snapshot: String,
    leases: String,
}

impl Tables {
    pub(super) fn of(cluster: &str) -> Self {
        let name = |what: &str| format!("{cluster}:{what}");
        Self(Arc::new(Names {
            head: name("head"),
            log: name("log"),
            snapshot: name("snapshot"),
            leases: name("leases"),
        }))
    }

    /// Last index, term and beat by name.
    pub(super) fn head_table(&self) -> TableDefinition<'_, &'static str, u64> {
        TableDefinition::new(&self.0.head)
    }

    pub(super) fn log_table(&self) -> TableDefinition<'_, u64, &'static str> {
        TableDefinition::new(&self.0.log)
    }

    /// At most one, by the index of its last entry.
    fn snapshot_table(&self) -> TableDefinition<'_, u64, &'static str> {
        TableDefinition::new(&self.0.snapshot)
    }

    /// By incarnation.
    pub(super) fn lease_table(&self) -> TableDefinition<'_, u64, (u64, u64)> {
        TableDefinition::new(&self.0.leases)
    }

    /// The tables as they are, or empty ones; and the format they have.
    pub(super) fn create(&self, database: &Database) -> Result<(u32, Head), Error> {
        let transaction = database.begin_write()?;
        let format = {
            let mut formats = transaction.open_table(FORMATS)?;
            let present = formats.get("format")?.map(|format| format.value());
            if present.is_none() {
                formats.insert("format", FORMAT)?;
            }
            present.unwrap_or(FORMAT)
        };
        if format != FORMAT {
            return Ok((format, Head::default()));
        }
        transaction.open_table(self.log_table())?;
        transaction.open_table(self.snapshot_table())?;
        transaction.open_table(self.lease_table())?;
        let head = head(&transaction.open_table(self.head_table())?)?;
        transaction.commit()?;
        Ok((format, head))
    }

    pub(super) fn read(&self, database: &Database, behind: Index) -> Result<Found, Error> {
        let transaction = database.begin_read()?;
        let last = head(&transaction.open_table(self.head_table())?)?.last;
        let snapshots = transaction.open_table(self.snapshot_table())?;
        let snapshot = snapshots.last()?;
        let snapshot = snapshot.filter(|(index, _)| index.value() > behind.get());
        let log = transaction.open_table(self.log_table())?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for entry in log.range(behind.get() + 1..)?.take(MOST_READ) {
            let (index, text) = entry?;
            bytes += text.value().len();
            entries.push((Index::new(index.value()), text.value().to_owned()));
            if bytes > MOST_BYTES_READ {
                break;
            }
        }
        Ok(Found {
            last,
            snapshot: snapshot.map(|(_, text)| text.value().to_owned()),
            entries,
        })
    }

    pub(super) fn head(&self, database: &Database) -> Result<Head, Error> {
        let transaction = database.begin_read()?;
        head(&transaction.open_table(self.head_table())?)
    }

    pub(super) fn beat(&self, database: &Database, term: Term, count: u64) -> Result<(), Error> {
        let transaction = database.begin_write()?;
        {
            let mut table = transaction.open_table(self.head_table())?;
            if head(&table)?.term == term {
                table.insert("beat", count)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Where the log ends: before the snapshot, nothing was done.
    pub(super) fn compact(
        &self,
        database: &Database,
        compaction: &Compaction,
    ) -> Result<Index, Error> {
        let last = self.head(database)?.last;
        let transaction = database.begin_write()?;
        {
            let mut snapshots = transaction.open_table(self.snapshot_table())?;
            let present = snapshots.last()?.map(|(index, _)| index.value());
            let index = compaction.index.get();
            if compaction.index > last || present.is_some_and(|present| present >= index) {
                return Ok(last);
            }
            snapshots.retain(|_, _| false)?;
            snapshots.insert(index, compaction.text.as_str())?;
            let mut log = transaction.open_table(self.log_table())?;
            log.retain_in(..=index, |_, _| false)?;
            let mut leases = transaction.open_table(self.lease_table())?;
            leases.retain(|run, _| compaction.keeps(Incarnation::new(run)))?;
        }
        transaction.commit()?;
        Ok(last)
    }

    pub(super) fn renew(
        &self,
        database: &Database,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> Result<Renewed, Error> {
        let transaction = database.begin_write()?;
        {
            let mut leases = transaction.open_table(self.lease_table())?;
            let lease = leases.get(incarnation.get())?.map(|lease| lease.value());
            let Some((seq, _)) = lease else {
                return Ok(Renewed::Ended);
            };
            if seq < renewal.seq {
                leases.insert(incarnation.get(), (renewal.seq, renewal.ok_seq))?;
            }
        }
        transaction.commit()?;
        Ok(Renewed::Counted)
    }

    pub(super) fn leases(&self, database: &Database) -> Result<Vec<(Incarnation, Renewal)>, Error> {
        let transaction = database.begin_read()?;
        let table = transaction.open_table(self.lease_table())?;
        let mut leases = Vec::with_capacity(usize::try_from(table.len()?).unwrap_or_default());
        for lease in table.iter()? {
            let (incarnation, lease) = lease?;
            let (seq, ok_seq) = lease.value();
            leases.push((
                Incarnation::new(incarnation.value()),
                Renewal { seq, ok_seq },
            ));
        }
        Ok(leases)
    }
}

pub(super) fn head(table: &impl ReadableTable<&'static str, u64>) -> Result<Head, Error> {
    let number =
        |name| -> Result<u64, Error> { Ok(table.get(name)?.map_or(0, |number| number.value())) };
    Ok(Head {
        last: Index::new(number("last")?),
        term: Term::new(number("term")?),
        beat: number("beat")?,
    })
}
