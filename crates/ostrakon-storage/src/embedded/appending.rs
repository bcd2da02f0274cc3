//! An append to the file: prepared in a transaction, of which nothing counts before its commit.

use ostrakon_core::{Incarnation, Index};
use redb::{Database, Error, ReadableTable, WriteTransaction};

use super::tables::{Tables, head};
use crate::Renewal;
use crate::backend::Batch;

/// What came of an append.
pub(super) enum Written {
    Done,
    Conflict,
    Renewed(Incarnation),
    /// Something failed before the end of the transaction, so nothing of it counts.
    NotAtAll(Error),
}

/// Why a transaction is left without a trace.
enum Refused {
    Conflict,
    Renewed(Incarnation),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Tables {
    pub(super) fn append(
        &self,
        database: &Database,
        after: Index,
        batch: &Batch,
        unmoved: &[(Incarnation, Renewal)],
    ) -> Result<Written, Error> {
        match self.prepare(database, after, batch, unmoved) {
            Ok(transaction) => {
                transaction.commit()?;
                Ok(Written::Done)
            }
            Err(Refused::Conflict) => Ok(Written::Conflict),
            Err(Refused::Renewed(incarnation)) => Ok(Written::Renewed(incarnation)),
            Err(Refused::Failed(error)) => Ok(Written::NotAtAll(error)),
        }
    }

    fn prepare(
        &self,
        database: &Database,
        after: Index,
        batch: &Batch,
        unmoved: &[(Incarnation, Renewal)],
    ) -> Result<WriteTransaction, Refused> {
        let transaction = database.begin_write()?;
        {
            let mut table = transaction.open_table(self.head_table())?;
            if head(&table)?.last != after {
                return Err(Refused::Conflict);
            }
            table.insert("last", batch.last.get())?;
            if let Some(term) = batch.term {
                table.insert("term", term.get())?;
                table.insert("beat", 0)?;
            }
            let mut log = transaction.open_table(self.log_table())?;
            for (index, text) in &batch.entries {
                log.insert(index.get(), text.as_str())?;
            }
        }
        self.move_leases(&transaction, batch, unmoved)?;
        Ok(transaction)
    }

    fn move_leases(
        &self,
        transaction: &WriteTransaction,
        batch: &Batch,
        unmoved: &[(Incarnation, Renewal)],
    ) -> Result<(), Refused> {
        let mut leases = transaction.open_table(self.lease_table())?;
        for (incarnation, seen) in unmoved {
            let present = leases.get(incarnation.get())?.map(|lease| lease.value());
            if present != Some((seen.seq, seen.ok_seq)) {
                return Err(Refused::Renewed(*incarnation));
            }
        }
        for incarnation in &batch.begun {
            leases.insert(incarnation.get(), (0, 0))?;
        }
        for incarnation in &batch.ended {
            leases.remove(incarnation.get())?;
        }
        Ok(())
    }
}
