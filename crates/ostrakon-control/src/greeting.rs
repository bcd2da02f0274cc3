//! The greeting: who dials, whom, and whether they fit together.
//!
//! The dialer says who it is, whoever answers lets it in or says why not. Under TLS both must be who their certificates say. A refusal
//! is in the logs of both sides. How peers greet each other is in `peer_greeting`; what is here serves both.

use std::{io, net::SocketAddr, time::Duration};

use ostrakon_core::{Address, InvalidId, NodeName};
use ostrakon_tls::{Identity, Role, Secured, Security, TlsError, Wire};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::frame::{self, FrameError, Framed, quoted};

/// What every greeting begins with, so that nobody takes something else for one.
const MAGIC: [u8; 8] = *b"OSTRKNM\x01";
/// The versions of this conversation that we speak.
const OLDEST: u16 = 1;
pub(crate) const NEWEST: u16 = 2;
/// The largest greeting.
const MOST: usize = 16 << 10;
/// How long a caller that is refused may take to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// Who dials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Which cluster it belongs to.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// What it wants.
    pub seat: Seat,
}

/// What a caller takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seat {
    /// It hosts entities.
    Node,
    /// It hosts nothing and wants to know who does.
    Client,
}

/// A caller that was let in.
pub struct Caller {
    /// Its name.
    pub name: NodeName,
    /// What it takes part in.
    pub seat: Seat,
    /// The connection.
    pub wire: Box<dyn Wire>,
}

/// Who dials, as it is written: a [`Hello`], or that of a peer.
#[derive(Serialize, Deserialize)]
pub(crate) struct Introduction {
    pub(crate) cluster: String,
    pub(crate) name: String,
    pub(crate) seat: IntroducedSeat,
    /// Where a peer is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<Address>,
    /// Which run of a peer it is: a random number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntroducedSeat {
    Node,
    Client,
    Peer,
}

#[derive(Serialize, Deserialize)]
enum Judgement {
    Welcome(Welcome),
    Refused { reason: String },
}

/// Who answers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// Its name; it was always a manager once.
    #[serde(rename = "manager")]
    pub(crate) name: String,
    /// Where it is reached and which run of it this is, if it is a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<Address>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<u64>,
    /// The newest version that it speaks. Who does not say so is of a time when there was one.
    #[serde(default = "first_version")]
    pub(crate) version: u16,
}

fn first_version() -> u16 {
    1
}

/// Somebody who was dialed and has let us in.
pub struct Dialed {
    /// The connection.
    pub wire: Box<dyn Wire>,
    /// What it calls itself.
    pub name: String,
    /// The newest version of the conversation that both speak.
    pub version: u16,
}

/// Why there is no conversation.
#[derive(Debug, Error)]
pub enum GreetingError {
    /// The connection could not be opened, or broke.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("it did not answer within {0:?}")]
    Late(Duration),
    /// What came was no greeting.
    #[error("it is no part of this conversation: {0}")]
    Stranger(&'static str),
    /// The greeting could not be read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// We do not want it.
    #[error("refused: {0}")]
    Refused(String),
    /// It does not want us.
    #[error("it refuses us: {0}")]
    RefusedByManager(String),
}

/// Opens a conversation with the manager at this address; returns what the manager calls itself.
pub async fn dial(
    address: SocketAddr,
    security: &Security,
    hello: &Hello,
    within: Duration,
) -> Result<(Box<dyn Wire>, String), GreetingError> {
    let dialed = dial_role(Role::Manager, address, security, hello, within).await?;
    Ok((dialed.wire, dialed.name))
}

/// The same, where whoever answers has a certificate of this role: among peers it is [`Role::Node`].
pub async fn dial_role(
    role: Role,
    address: SocketAddr,
    security: &Security,
    hello: &Hello,
    within: Duration,
) -> Result<Dialed, GreetingError> {
    let (wire, welcome) = introduce(role, address, security, hello, within).await?;
    Ok(Dialed {
        wire,
        name: welcome.name,
        version: welcome.version.min(NEWEST),
    })
}

/// Says who we are to whoever is at this address, and hears who that is.
pub(crate) async fn introduce(
    role: Role,
    address: SocketAddr,
    security: &Security,
    hello: &impl Serialize,
    within: Duration,
) -> Result<(Box<dyn Wire>, Welcome), GreetingError> {
    if !security.allows(address) {
        let reason = format!(
            "{address} is not a loopback address, and plain text is allowed to those only; use TLS"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason).into());
    }
    let dialing = async {
        let stream = TcpStream::connect(address).await?;
        let Secured { mut wire, identity } = security.connect(stream).await?;
        // Whoever refuses our certificate may have hung up before it has heard this; it has said why.
        let _ = wire.write_all(&opening(hello)?).await;
        let _ = wire.flush().await;
        let mut welcome = match frame::read(&mut wire, MOST).await.map_err(unanswered)? {
            Judgement::Welcome(welcome) => welcome,
            Judgement::Refused { reason } => {
                return Err(GreetingError::RefusedByManager(quoted(&reason)));
            }
        };
        welcome.name = quoted(&welcome.name);
        if let Some(identity) = identity
            && (identity.role() != role || identity.name() != welcome.name)
        {
            return Err(GreetingError::Refused(format!(
                "who answers has the certificate of {identity} and calls itself {role} `{}`",
                welcome.name
            )));
        }
        Ok((wire, welcome))
    };
    tokio::time::timeout(within, dialing)
        .await
        .unwrap_or(Err(GreetingError::Late(within)))
}

fn opening(hello: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut opening = MAGIC.to_vec();
    opening.extend_from_slice(&OLDEST.to_be_bytes());
    opening.extend_from_slice(&NEWEST.to_be_bytes());
    opening.extend_from_slice(Framed::new(hello)?.bytes());
    Ok(opening)
}

/// Why whoever was dialed has not answered as it should.
fn unanswered(error: FrameError) -> GreetingError {
    match error {
        // In TLS the other side's refusal of our certificate arrives with the first read.
        FrameError::Broken(error) => {
            let named = TlsError::from(error);
            GreetingError::Io(if let TlsError::Handshake(error) = named {
                error
            } else {
                io::Error::other(named)
            })
        }
        FrameError::TooLarge { .. } | FrameError::Unreadable(_) => {
            GreetingError::Stranger("it does not answer the greeting")
        }
    }
}

/// Answers a caller as a manager: lets it in, or says why not.
pub async fn greet(
    stream: TcpStream,
    security: &Security,
    cluster: &str,
    manager: &str,
    within: Duration,
) -> Result<Caller, GreetingError> {
    let answerer = Answerer {
        cluster,
        role: Role::Manager,
        welcome: Welcome {
            name: manager.to_owned(),
            address: None,
            session: None,
            version: NEWEST,
        },
    };
    let seated = answerer.receive(stream, security, within).await?;
    let seat = match seated.introduction.seat {
        IntroducedSeat::Node => Seat::Node,
        IntroducedSeat::Client => Seat::Client,
        IntroducedSeat::Peer => {
            return Err(GreetingError::Stranger("a manager has no peers"));
        }
    };
    Ok(Caller {
        name: seated.name,
        seat,
        wire: seated.wire,
    })
}

/// Whoever answers.
pub(crate) struct Answerer<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) role: Role,
    pub(crate) welcome: Welcome,
}

/// A caller that was let in, and what it said.
pub(crate) struct Introduced {
    pub(crate) name: NodeName,
    pub(crate) introduction: Introduction,
    pub(crate) wire: Box<dyn Wire>,
}

impl Answerer<'_> {
    /// Lets a caller in, or says why not.
    pub(crate) async fn receive(
        &self,
        stream: TcpStream,
        security: &Security,
        within: Duration,
    ) -> Result<Introduced, GreetingError> {
        let greeting = async {
            let Secured { mut wire, identity } = security.accept(stream).await?;
            let judged = match self.read_introduction(&mut wire).await? {
                Ok(introduction) => self
                    .judge(&introduction, identity.as_ref())
                    .map(|name| (name, introduction)),
                Err(reason) => Err(reason),
            };
            match judged {
                Ok((name, introduction)) => {
                    let welcome = self.welcome.clone();
                    frame::write(&mut wire, &Judgement::Welcome(welcome)).await?;
                    Ok(Introduced {
                        name,
                        introduction,
                        wire,
                    })
                }
                Err(reason) => {
                    refuse(wire, reason.clone()).await;
                    Err(GreetingError::Refused(reason))
                }
            }
        };
        tokio::time::timeout(within, greeting)
            .await
            .unwrap_or(Err(GreetingError::Late(within)))
    }

    async fn read_introduction(
        &self,
        wire: &mut Box<dyn Wire>,
    ) -> Result<Result<Introduction, String>, GreetingError> {
        let mut opening = [0; 12];
        wire.read_exact(&mut opening).await?;
        if opening[..8] != MAGIC {
            return Err(GreetingError::Stranger("it does not begin as one"));
        }
        let oldest = u16::from_be_bytes([opening[8], opening[9]]);
        let newest = u16::from_be_bytes([opening[10], opening[11]]);
        if newest < OLDEST || oldest > NEWEST {
            let role = self.role;
            return Ok(Err(format!(
                "it speaks versions {oldest} to {newest} of the control conversation, and this {role} {OLDEST} to {NEWEST}: upgrade the older side"
            )));
        }
        Ok(Ok(frame::read(wire, MOST).await?))
    }

    /// Whether it is let in; else why not.
    fn judge(
        &self,
        introduction: &Introduction,
        identity: Option<&Identity>,
    ) -> Result<NodeName, String> {
        let (role, cluster, seat) = (self.role, self.cluster, introduction.seat);
        if introduction.cluster != cluster {
            let theirs = quoted(&introduction.cluster);
            return Err(format!(
                "it belongs to cluster `{theirs}`, and this is a {role} of `{cluster}`"
            ));
        }
        let name =
            NodeName::new(&introduction.name).map_err(|error: InvalidId| error.to_string())?;
        if seat == IntroducedSeat::Peer && self.role == Role::Manager {
            return Err(
                "it wants to be a peer, and managers have none: give it the address of a peer"
                    .to_owned(),
            );
        }
        if let Some(identity) = identity {
            let fits = match seat {
                IntroducedSeat::Node | IntroducedSeat::Peer => identity.role() == Role::Node,
                IntroducedSeat::Client => matches!(identity.role(), Role::Node | Role::Client),
            };
            if !fits || identity.name() != name.as_str() {
                return Err(format!(
                    "its certificate is for {identity}, but it says it is {seat:?} `{name}`"
                ));
            }
        }
        Ok(name)
    }
}

/// Says why not. The dialer may have gone already; the log says it in any case.
async fn refuse(mut wire: Box<dyn Wire>, reason: String) {
    let farewell = async {
        frame::write(&mut wire, &Judgement::Refused { reason }).await?;
        wire.shutdown().await?;
        // A connection that is closed with something unread in it is reset, and takes the reason with it.
        let mut rest = (&mut wire).take(MOST as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
        Ok::<_, FrameError>(())
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

#[cfg(test)]
mod tests;
