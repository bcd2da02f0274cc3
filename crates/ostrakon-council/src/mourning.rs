//! Mourning: whoever led has ended, and another one need not be waited for any longer.
//!
//! An election begins when nothing was heard of a leader for a while, because silence may have many reasons. That a process has ended is
//! known at once: its connections close, and its port refuses new ones.

use std::{io, sync::Arc};

use ostrakon_core::Address;
use ostrakon_raft::RaftLog;
use tokio::{
    net::TcpStream,
    sync::broadcast::{self, error::RecvError},
};

/// Goes on for as long as the peer runs.
pub(crate) async fn watch(log: Arc<RaftLog>, mut closed: broadcast::Receiver<Address>) {
    loop {
        let address = match closed.recv().await {
            Ok(address) => address,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Some(leader) = log.status().leader else {
            continue;
        };
        if leader.address == address && has_ended(&address).await {
            tracing::info!(%leader, "whoever led has ended: another one is elected");
            log.leader_has_ended(&leader).await;
        }
    }
}

/// Whether nobody listens there any more. A machine that does not answer says nothing about it.
async fn has_ended(address: &Address) -> bool {
    let tried = TcpStream::connect(address.as_str()).await;
    matches!(tried, Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}
