//! Where managers keep the control log, and nodes their leases.
//!
//! [`Storage`] is the log with unique indexes that every guarantee of the managed plane rests on: two managers that both believe to lead
//! cannot both write the same index. [`open`] gives one by its address: `memory:`, `file:PATH`, `postgres://…` or `redis://…`. The last
//! two are there with the features of the same name.
//!
//! What is stored is JSON, so that an operator can look at it with the tools of the server. It is nobody's interface: write to it through
//! a [`Storage`] only.
//!
//! ```
//! use ostrakon_core::{Index, Term, Command, Entry};
//! use ostrakon_storage::{Append, StorageSettings, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let storage = open("memory:", "shop", StorageSettings::default()).await?;
//! let command = Command::Takeover { grantor: "a".parse()?, run: 1 };
//! let entry = Entry { term: Term::default(), command };
//! storage.append(Append::behind(Index::default(), std::slice::from_ref(&entry))).await?;
//! assert_eq!(storage.head().await?.term, Term::new(1));
//! assert_eq!(storage.read(Index::default()).await?.entries, [(Index::new(1), entry)]);
//! # Ok(())
//! # }
//! ```

mod append;
pub mod backend;
#[cfg(feature = "conformance")]
pub mod conformance;
mod embedded;
mod error;
mod lease;
mod memory;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod read;
#[cfg(feature = "redis")]
mod redis;
mod settings;
mod storage;

pub use append::Append;
pub use embedded::Embedded;
pub use error::{AppendError, Cause, OpenError, StorageError};
pub use lease::{Renewal, Renewed};
pub use memory::Memory;
pub use open::open;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use read::{Head, Read};
#[cfg(feature = "redis")]
pub use redis::Redis;
pub use settings::StorageSettings;
pub use storage::{BoxFuture, Storage};
