//! The control log kept by the nodes themselves: a [`Storage`](ostrakon_storage::Storage) over Raft.
//!
//! [`RaftLog`] is one voice. What it decides is the order of the calls that change the log, and nothing else: the state is the same as that of
//! any other storage, and so are its guarantees. How voices reach each other is a [`Calls`] that the user of this crate brings along; what
//! arrives goes to [`RaftLog::answer`].
//!
//! What to keep to:
//!
//! - An id belongs to one log. Without a data directory every start needs a [`fresh_id`].
//! - One voice [forms](RaftLog::form) the cluster, once; all others are let in by the leader with [`RaftLog::set_members`].
//! - [`RaftLog::leads`] is not a permission.

mod answering;
mod calls;
mod change;
mod codec;
mod disk;
mod error;
mod log_store;
mod members;
mod network;
mod not_leading;
mod part;
mod raft_log;
mod settings;
mod state_machine;
mod storage;
mod type_config;
mod voice;
mod voting;
mod watching;

pub use calls::{CallError, Calls, RaftRequest, RaftResponse, Refusal};
pub(crate) use change::{Change, Outcome};
pub use error::{FormError, StartError, VotersError};
pub use members::Members;
pub use not_leading::NotLeading;
pub use raft_log::{RaftLog, RaftStatus};
pub use settings::RaftSettings;
pub use voice::{Voice, fresh_id};

/// The largest append that is accepted, in bytes of JSON as everywhere.
pub const MOST_APPEND: usize = 8 << 20;
/// A request with several entries has not more bytes than this; one with a single entry may have [`MOST_APPEND`].
pub const MOST_REQUEST: usize = 1 << 20;
/// Snapshots travel in parts of this size.
pub const MOST_PART: usize = 512 << 10;
/// The largest snapshot that travels.
pub const MOST_SNAPSHOT: usize = 64 << 20;
/// No request is larger than this when it is encoded.
pub const MOST_MESSAGE: usize = MOST_APPEND + (64 << 10);
