//! `Storage`: a log with unique indexes, and a counter per node.
//!
//! It decides nothing. Whoever appends says behind which entry, and is refused if that is not the last: this is what keeps a manager that
//! has been deposed, and does not know it, from writing. Every call ends by the deadline of the [settings](crate::StorageSettings); none
//! of them tries twice.

use std::pin::Pin;

use ostrakon_core::{Incarnation, Index, Snapshot, Term};

use crate::{Append, AppendError, Head, Read, Renewal, Renewed, StorageError};

/// What a call of a [`Storage`] returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where the log lies. Handles to the same place see the same log.
pub trait Storage: Send + Sync + 'static {
    /// Appends right behind an index, all or none.
    ///
    /// A run of a node gets its lease with the entry that [registers](ostrakon_core::Command::Register) it, and loses it with the one
    /// that ends it.
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<(), AppendError>>;

    /// What lies behind an index, in order; a snapshot first if that part of the log is no longer there. Not all of it at once: whoever
    /// wants everything reads on behind the last entry until there is none.
    fn read(&self, behind: Index) -> BoxFuture<'_, Result<Read, StorageError>>;

    /// How far the log goes, and who leads. Linearizable: it is as it was at some moment since the call began.
    fn head(&self) -> BoxFuture<'_, Result<Head, StorageError>>;

    /// The leader of this term is still there, and has counted so far. Ignored if a later term has begun.
    fn beat(&self, term: Term, count: u64) -> BoxFuture<'_, Result<(), StorageError>>;

    /// Puts a snapshot in the place of the entries that it contains, and forgets the leases of runs that were over by then. Ignored if
    /// there is a later one.
    fn compact<'a>(&'a self, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<(), StorageError>>;

    /// Resolves when something may lie behind this index. May be early; is never later than the poll interval of the
    /// [settings](crate::StorageSettings), whatever became of the news.
    fn changed(&self, behind: Index) -> BoxFuture<'_, ()>;

    /// A node counts its lease up. One that arrives after a later one changes nothing.
    fn renew(
        &self,
        incarnation: Incarnation,
        renewal: Renewal,
    ) -> BoxFuture<'_, Result<Renewed, StorageError>>;

    /// All leases, in the order of their runs.
    fn leases(&self) -> BoxFuture<'_, Result<Vec<(Incarnation, Renewal)>, StorageError>>;
}
