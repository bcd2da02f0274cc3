//! What can go wrong: one enum for each of appending, the other calls, and opening.

use std::error::Error;

use ostrakon_core::{Incarnation, Index};
use thiserror::Error;

/// What a server or a file system said.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why an append did not succeed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// Nothing was written, because the log does not end where it was expected to. Read it and decide anew.
    #[error("the log does not end at {after}: somebody else has written, read it again")]
    Conflict {
        /// Where it was expected to end.
        after: Index,
    },
    /// Nothing was written, because a lease has moved or is gone. Its node is alive, or its end is in the log.
    #[error("the lease of {incarnation} is not as it was seen last")]
    Renewed {
        /// Whose lease.
        incarnation: Incarnation,
    },
    /// Nothing was written. Append less at once.
    #[error(
        "{entries} entries with {bytes} bytes are too much for one append to {place}: {most_entries} and {most_bytes} are the most"
    )]
    TooLarge {
        /// Where to.
        place: String,
        /// How many entries it would have been.
        entries: usize,
        /// How many bytes it would have been.
        bytes: usize,
        /// The most entries.
        most_entries: usize,
        /// The most bytes.
        most_bytes: usize,
    },
    /// Nothing was written, and nothing will be. The same append may be tried again.
    #[error(
        "cannot append to {place}, and nothing was written: check that it runs, has room, and may be written"
    )]
    Unavailable {
        /// Where to.
        place: String,
        /// What was said.
        source: Cause,
    },
    /// Nobody knows whether it was, or still will be, written. Only the log can tell: read it before anything else is appended.
    #[error("no answer to an append to {place}: it may or may not have been written, read the log")]
    Unknown {
        /// Where to.
        place: String,
        /// What was said.
        source: Cause,
    },
}

/// Why something else did not succeed. Nothing that was asked for may be taken as done, nor as not done; all of it may be asked again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// There was no answer. It is connected to again by itself: try later.
    #[error("cannot {tried} {place}: check that it runs and can be reached")]
    Unavailable {
        /// Where.
        place: String,
        /// What was tried, as words that a place can follow.
        tried: &'static str,
        /// What was said.
        source: Cause,
    },
    /// Something lies there that this version does not understand. Trying again does not help.
    #[error("{what} in {place} cannot be read: it is damaged, or a later version wrote it")]
    Unreadable {
        /// Where.
        place: String,
        /// What it was taken for.
        what: String,
        /// What is wrong with it.
        source: Cause,
    },
    /// The log is shorter than it has been. Entries that were acknowledged are lost; do not go on with it.
    #[error(
        "the log in {place} ends at {last}, but {seen} has been in it: it has lost entries or was restored from a backup"
    )]
    Shorter {
        /// Where.
        place: String,
        /// Where it ends.
        last: Index,
        /// What was seen in it.
        seen: Index,
    },
}

/// Why a storage could not be opened. Nothing was written to it, except perhaps its empty tables.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is none.
    #[error("`{url}` is not the address of a storage: {reason}")]
    InvalidUrl {
        /// The address, without its password.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The name cannot be part of a key or a table.
    #[error(
        "`{cluster}` cannot be the name of a cluster: use 1 to 63 of a-z, A-Z, 0-9, `-`, `_` and `.`"
    )]
    InvalidCluster {
        /// The name.
        cluster: String,
    },
    /// This program was built without that kind of storage.
    #[error(
        "this program was built without storage in {scheme}: build it with the feature `{feature}` of ostrakon-storage"
    )]
    MissingFeature {
        /// How the address begins.
        scheme: &'static str,
        /// What to build with.
        feature: &'static str,
    },
    /// Another process has the file.
    #[error(
        "{place} is open already: stop the other manager that uses it, or keep the log in a server if there shall be several"
    )]
    InUse {
        /// Which file.
        place: String,
    },
    /// A later version has been here.
    #[error(
        "{place} has format {found}, and this version knows up to {known}: use a later version"
    )]
    NewerFormat {
        /// Where.
        place: String,
        /// The format that lies there.
        found: u32,
        /// The latest that this version knows.
        known: u32,
    },
    /// It does not let us in.
    #[error("{place} refuses us: check user, password, database and rights")]
    Denied {
        /// Where.
        place: String,
        /// What was said.
        source: Cause,
    },
    /// It could lose what it acknowledges.
    #[error(
        "{place} may lose acknowledged entries, because {reason}; accept_loss takes it nevertheless, and two owners of a shard with it"
    )]
    NotDurable {
        /// Where.
        place: String,
        /// Which setting, why, and what it should be.
        reason: String,
    },
    /// There is no answer, or not one that can be used.
    #[error("cannot open {place}: check that the address is right and that it can be reached")]
    Unavailable {
        /// Where.
        place: String,
        /// What was said.
        source: Cause,
    },
}
