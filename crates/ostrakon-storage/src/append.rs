//! `Append`: what shall be written, and what must be true for it.

use ostrakon_core::{Entry, Incarnation, Index};

use crate::Renewal;

/// Entries that are to be in the log, all or none.
#[derive(Clone, Copy, Debug)]
pub struct Append<'a> {
    /// They are written only if this is the last entry, and get the indexes that follow it.
    pub after: Index,
    /// What is written.
    pub entries: &'a [Entry],
    /// They are written only if these leases are there, and are exactly so. A lease that cannot be found has ended: nobody can renew it,
    /// so it need not be named.
    pub unmoved: &'a [(Incarnation, Renewal)],
}

impl<'a> Append<'a> {
    /// Entries that depend on no lease.
    pub fn behind(after: Index, entries: &'a [Entry]) -> Self {
        Self {
            after,
            entries,
            unmoved: &[],
        }
    }
}
