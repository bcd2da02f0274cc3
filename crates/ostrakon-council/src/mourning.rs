//! Mourning: whoever led has ended, and another one need not be waited for any longer.
//!
//! An election begins when nothing was heard of a leader for a while, because silence may have many reasons. That a process has ended is
//! known at once: its connections close, and its port refuses new ones.

use std::{io, sync::Arc, time::Duration};

use ostrakon_core::Address;
use ostrakon_raft::RaftLog;
use tokio::{
    io::AsyncReadExt,
    net::TcpStream,
    sync::broadcast::{self, error::RecvError},
};

/// How long to listen for somebody who hangs up.
const GLANCE: Duration = Duration::from_millis(200);
/// How often to look again at somebody who did.
const TRIES: usize = 4;

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
        if leader.address != address {
            continue;
        }
        if has_ended(&address).await {
            tracing::info!(%leader, "whoever led has ended: another one is elected");
            log.leader_has_ended(&leader).await;
        } else {
            tracing::info!(%leader, "a connection to whoever leads has ended, but its port is open");
        }
    }
}

/// Whether nobody listens there any more. A machine that does not answer says nothing about it.
///
/// A process that ends closes its connections one after the other, and its port may be the last: whoever dials it meanwhile is let in, and hung up
/// on in the next moment, or even in the same one. One that lives waits to be greeted.
async fn has_ended(address: &Address) -> bool {
    for _ in 0..TRIES {
        match TcpStream::connect(address.as_str()).await {
            Ok(caller) => {
                if !hangs_up(caller).await {
                    return false;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Err(error) => return error.kind() == io::ErrorKind::ConnectionRefused,
        }
    }
    false
}

async fn hangs_up(mut caller: TcpStream) -> bool {
    let heard = tokio::time::timeout(GLANCE, caller.read_u8()).await;
    matches!(heard, Ok(Err(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn port() -> (TcpListener, Address) {
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = port.local_addr().unwrap().to_string();
        (port, Address::new(address).unwrap())
    }

    #[tokio::test]
    async fn whoever_listens_lives() {
        let (_port, address) = port().await;
        assert!(!has_ended(&address).await);
    }

    #[tokio::test]
    async fn whoever_closes_its_port_has_ended() {
        let (port, address) = port().await;
        drop(port);
        assert!(has_ended(&address).await);
    }

    #[tokio::test]
    async fn whoever_lets_a_caller_in_and_ends_has_ended() {
        let (port, address) = port().await;
        tokio::spawn(async move { drop(port.accept().await) });
        assert!(has_ended(&address).await);
    }

    #[tokio::test]
    async fn whoever_hangs_up_on_everybody_has_not_ended() {
        let (port, address) = port().await;
        tokio::spawn(async move { while port.accept().await.is_ok() {} });
        assert!(!has_ended(&address).await);
    }
}
