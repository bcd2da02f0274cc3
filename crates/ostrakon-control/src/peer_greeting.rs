//! How peers greet each other: as in `greeting`, and each says where it is reached and which run of it this is.
//!
//! The run tells a peer that has dialed itself, under whatever address. Nodes and clients call at the same door.

use std::{net::SocketAddr, time::Duration};

use ostrakon_core::{Address, NodeName};
use ostrakon_tls::{Role, Security, Wire};
use tokio::net::TcpStream;

use crate::greeting::{
    Answerer, Caller, GreetingError, IntroducedSeat, Introduction, NEWEST, Seat, Welcome, introduce,
};

/// Who a peer says it is, whether it dials or answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerHello {
    /// Which cluster it belongs to.
    pub cluster: String,
    /// Its name.
    pub name: NodeName,
    /// Where it is reached.
    pub address: Address,
    /// A random number of this run.
    pub session: u64,
}

/// Another peer, and the connection to it.
pub struct Peer {
    /// Its name.
    pub name: NodeName,
    /// Where it says it is reached.
    pub address: Address,
    /// The random number of its run.
    pub session: u64,
    /// The connection.
    pub wire: Box<dyn Wire>,
}

/// Somebody who has called at a peer's door and was let in.
pub enum Guest {
    /// Another peer.
    Peer(Peer),
    /// A node or a client that wants to hear who owns what.
    Caller(Caller),
}

impl PeerHello {
    /// Opens a conversation with the peer at this address.
    pub async fn dial(
        &self,
        address: SocketAddr,
        security: &Security,
        within: Duration,
    ) -> Result<Peer, GreetingError> {
        let introduction = Introduction {
            cluster: self.cluster.clone(),
            name: self.name.as_str().to_owned(),
            seat: IntroducedSeat::Peer,
            address: Some(self.address.clone()),
            session: Some(self.session),
        };
        let (wire, welcome) =
            introduce(Role::Node, address, security, &introduction, within).await?;
        let (Some(address), Some(session)) = (welcome.address, welcome.session) else {
            return Err(GreetingError::Stranger("a manager answers, and no peer"));
        };
        let name = NodeName::new(&welcome.name)
            .map_err(|_| GreetingError::Stranger("its name is no name"))?;
        Ok(Peer {
            name,
            address,
            session,
            wire,
        })
    }

    /// Answers whoever has connected: lets it in, or says why not.
    pub async fn greet(
        &self,
        stream: TcpStream,
        security: &Security,
        within: Duration,
    ) -> Result<Guest, GreetingError> {
        let answerer = Answerer {
            cluster: &self.cluster,
            role: Role::Node,
            welcome: Welcome {
                name: self.name.as_str().to_owned(),
                address: Some(self.address.clone()),
                session: Some(self.session),
                version: NEWEST,
            },
        };
        let seated = answerer.receive(stream, security, within).await?;
        let (name, introduction, wire) = (seated.name, seated.introduction, seated.wire);
        let caller = |seat, name, wire| Ok(Guest::Caller(Caller { name, seat, wire }));
        match introduction.seat {
            IntroducedSeat::Node => caller(Seat::Node, name, wire),
            IntroducedSeat::Client => caller(Seat::Client, name, wire),
            IntroducedSeat::Peer => match (introduction.address, introduction.session) {
                (Some(address), Some(session)) => Ok(Guest::Peer(Peer {
                    name,
                    address,
                    session,
                    wire,
                })),
                _ => Err(GreetingError::Stranger("a peer does not say where it is")),
            },
        }
    }
}
