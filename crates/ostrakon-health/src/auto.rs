//! `Auto`: proof where there is one, else a ping.

use ostrakon_core::{Liveness, Registration};

use crate::{BoxFuture, Health, Ping, Process};

/// Asks the kernel about nodes on the same host, and pings the others. What a manager uses unless it is told otherwise.
///
/// Of a node on another host it never says that it is dead: there, a platform's word, a lease or an operator's is needed.
#[derive(Debug, Default)]
pub struct Auto {
    process: Process,
    ping: Ping,
}

impl Auto {
    /// Pings so those that the kernel does not know.
    pub fn new(ping: Ping) -> Self {
        let process = Process::new();
        Self { process, ping }
    }
}

impl Health for Auto {
    fn name(&self) -> &str {
        "auto"
    }

    fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness> {
        Box::pin(async move {
            match self.process.probe(node).await {
                Liveness::Unknown => self.ping.probe(node).await,
                known @ (Liveness::Alive | Liveness::Dead(_)) => known,
            }
        })
    }
}
