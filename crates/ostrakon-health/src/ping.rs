//! `Ping`: opens a connection to a node.
//!
//! That somebody accepts it says that a process listens there, and so much only: perhaps a later run of the node. That nobody does says
//! nothing about the process: the network, a firewall or a full queue may be the reason. Invariant: never `Dead`, unless the user has said
//! that refused connections mean death.

mod refusals;
#[cfg(test)]
mod tests;

use std::{io, net::SocketAddr, num::NonZeroU32, time::Duration};

use ostrakon_core::{DeathProof, Liveness, Registration};
use refusals::Refusals;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use crate::{BoxFuture, Health, here::Here};

/// Alive if somebody accepts a connection at the node's address, otherwise unknown.
#[derive(Debug)]
pub struct Ping {
    deadline: Duration,
    fatal: Option<Fatal>,
}

/// What is needed to take refusals for death.
#[derive(Debug)]
struct Fatal {
    times: NonZeroU32,
    refusals: Refusals,
    here: Option<Here>,
}

impl Ping {
    /// Every probe ends by this deadline.
    pub fn new(deadline: Duration) -> Self {
        Self {
            deadline,
            fatal: None,
        }
    }

    /// From so many refused connections in a row on, the node counts as dead.
    ///
    /// **This is no proof.** A host refuses a connection when no process listens on that port, which is usually because the process is
    /// gone. But a firewall or a balancer in between can refuse as well, a host that got the address of another does, and so does a node
    /// that has closed its port and still works. Then the shards of a live node are given away. Use it where nothing is in between,
    /// addresses are not used again soon, and a node on another host must be replaced without anybody looking.
    ///
    /// Refusals by a loopback address are those of the manager's own host, and count only for nodes that run on it. A node that shares
    /// the host but not its network must not announce such an address.
    #[must_use]
    pub fn refused_is_death(self, times: NonZeroU32) -> Self {
        tracing::warn!(
            %times,
            "a node counts as dead when its address refuses that many connections in a row: if anything between here and there refuses \
             them in its place, two copies of its entities will run"
        );
        let fatal = Some(Fatal {
            times,
            refusals: Refusals::default(),
            here: Here::look(),
        });
        Self { fatal, ..self }
    }

    fn judge(&self, node: &Registration, answer: Answer) -> Liveness {
        let death = match &self.fatal {
            Some(fatal) => fatal.judge(node, answer),
            None => None,
        };
        match (answer, death) {
            (_, Some(proof)) => Liveness::Dead(proof),
            (Answer::Accepted, None) => Liveness::Alive,
            (Answer::Refused | Answer::RefusedByOwnHost | Answer::Silence, None) => {
                Liveness::Unknown
            }
        }
    }
}

/// 3 s for a probe; nothing is death.
impl Default for Ping {
    fn default() -> Self {
        Self::new(Duration::from_secs(3))
    }
}

impl Health for Ping {
    fn name(&self) -> &str {
        "ping"
    }

    fn probe<'a>(&'a self, node: &'a Registration) -> BoxFuture<'a, Liveness> {
        Box::pin(async move {
            let answer = timeout(self.deadline, call(&node.address)).await;
            self.judge(node, answer.unwrap_or(Answer::Silence))
        })
    }
}

impl Fatal {
    fn judge(&self, node: &Registration, answer: Answer) -> Option<DeathProof> {
        let is_refused = match answer {
            Answer::Refused => true,
            Answer::RefusedByOwnHost => {
                self.here.as_ref().is_some_and(|here| here.is_host_of(node))
            }
            Answer::Accepted | Answer::Silence => false,
        };
        if !is_refused {
            self.refusals.forget(node.nonce);
            return None;
        }
        let so_far = self.refusals.count(node.nonce);
        let address = &node.address;
        (so_far >= self.times.get()).then(|| {
            DeathProof::Platform(format!("{address} refused {so_far} connections in a row"))
        })
    }
}

/// What came of an attempt to connect.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accepted,
    /// By every address that the name stands for.
    Refused,
    /// The same, but at least one of them means this host, whoever uses it.
    RefusedByOwnHost,
    Silence,
}

async fn call(address: &str) -> Answer {
    let Ok(found) = lookup_host(address).await else {
        return Answer::Silence;
    };
    let found: Vec<_> = found.collect();
    let mut refusals = 0;
    for address in &found {
        match TcpStream::connect(address).await {
            Ok(_) => return Answer::Accepted,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => refusals += 1,
            Err(_) => {}
        }
    }
    if refusals == 0 || refusals < found.len() {
        Answer::Silence
    } else if found.iter().any(means_this_host) {
        Answer::RefusedByOwnHost
    } else {
        Answer::Refused
    }
}

fn means_this_host(address: &SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    ip.is_loopback() || ip.is_unspecified()
}
