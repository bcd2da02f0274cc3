//! The storage that managers share with nodes: the log is followed there, and leases are renewed there.
//!
//! Both go on without any manager. A renewal counts from when the region sent it, which is before it is written; the manager counts
//! from when it first sees it, which is after: the same inequality as if they spoke to each other.

use std::{sync::Arc, time::Duration};

use ostrakon_core::{Incarnation, Index, ToRegion};
use ostrakon_storage::{Read, Renewal, Renewed, Storage};
use tokio::sync::{mpsc, watch};

use super::Event;

/// How long to leave a storage alone that could not be read.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads the log from wherever the driver is in it, for as long as somebody listens.
pub(crate) async fn follow(
    storage: Arc<dyn Storage>,
    mut applied: watch::Receiver<Index>,
    events: mpsc::Sender<Event>,
) {
    loop {
        let behind = *applied.borrow_and_update();
        match storage.read(behind).await {
            Ok(read) if read == Read::default() => {
                if events.send(Event::UpToDate).await.is_err() {
                    return;
                }
                storage.changed(behind).await;
            }
            Ok(read) => {
                if events.send(Event::Read(read)).await.is_err() || applied.changed().await.is_err()
                {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the log cannot be read");
                tokio::time::sleep(PAUSE).await;
            }
        }
        if events.is_closed() {
            return;
        }
    }
}

/// Renews a lease, and hands on what came of it.
pub(crate) async fn renew(
    storage: Arc<dyn Storage>,
    incarnation: Incarnation,
    renewal: Renewal,
    events: mpsc::Sender<Event>,
) {
    let answer = match storage.renew(incarnation, renewal).await {
        Ok(Renewed::Counted) => ToRegion::RenewOk {
            incarnation,
            seq: renewal.seq,
        },
        Ok(Renewed::Ended) => ToRegion::Ended { incarnation },
        Err(error) => {
            tracing::warn!(%error, "the lease could not be renewed in the storage");
            return;
        }
    };
    // The node may be gone.
    let _ = events.send(Event::Answered(answer)).await;
}
