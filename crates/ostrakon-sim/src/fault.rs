//! `Fault`: something that goes wrong for a while.

/// Something that goes wrong for a while, and has to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Links that carry nothing, each from one site to another.
    Cut(Vec<(usize, usize)>),
    /// So many more of a thousand messages are lost.
    Loss(u64),
    StorageDown,
    StorageSlow,
    /// So many of a thousand answers of the storage are lost.
    StorageLoses(u64),
}
