//! The control log of Ostrakon in etcd, version 3.4 or later.
//!
//! [`open`] takes `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]`, with user and password as they are, and gives a
//! [`Storage`]. An append is one transaction, a change comes by a watch. Connections are not encrypted. It is a crate of its own because
//! building the client of etcd needs `protoc` (Debian: `protobuf-compiler` and `libprotobuf-dev`).
//!
//! etcd keeps all earlier values of a key until it is told to compact its history, and every renewal of a lease writes one. Start it with
//! `--auto-compaction-mode=periodic --auto-compaction-retention=10m`, or it stops taking writes when its quota is used up.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use ostrakon_storage::StorageSettings;
//!
//! let storage = ostrakon_etcd::open("etcd://a,b,c", "shop", StorageSettings::default()).await?;
//! println!("the log ends at {}", storage.head().await?.last);
//! # Ok(())
//! # }
//! ```

mod address;
mod counted;
mod etcd;
mod failure;
mod keys;
mod servers;
mod store;
mod trouble;

use std::sync::Arc;

use address::Address;
use etcd::Etcd;
use ostrakon_storage::{OpenError, Storage, StorageSettings};

/// Opens the log of a cluster, and begins it if there is none. Any member of the etcd cluster will do; name several to survive one.
pub async fn open(
    url: &str,
    cluster: &str,
    settings: StorageSettings,
) -> Result<Arc<dyn Storage>, OpenError> {
    // Names follow the rule of all other storages.
    ostrakon_storage::open("memory:", cluster, settings).await?;
    let storage = Etcd::open(Address::parse(url)?, cluster, settings).await?;
    Ok(Arc::new(storage))
}
